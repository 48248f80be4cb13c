//! The report, the claims and the comparison of runs, on made-up runs whose figures follow from formulas.

mod applications;
mod browser;
mod claims;
mod claims_on_translation;
mod devtools;
mod differences;
mod figures;
mod headlines;
mod laboratory;
mod large;
mod made_up;
mod markup;
mod plots;
mod rendering;
