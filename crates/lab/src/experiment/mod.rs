//! Experiments: the papers' questions, asked of every implementation that runs here.
//!
//! * [`candidate`]: what can be measured, ours and others', and in which network it stands
//! * [`scene`]: such a network, built and running
//! * [`question`]: what is measured, over what, of whom
//! * [`papers`]: the questions of the five papers
//! * [`mod@measure`]: how it is measured
//! * [`profile`]: how thoroughly
//! * [`mod@run`]: the plan of a run, and its execution

pub mod candidate;
mod hosts;
pub mod measure;
pub mod papers;
pub mod profile;
pub mod question;
pub mod run;
pub mod scene;

pub use candidate::{Candidate, candidates};
pub use profile::Profile;
pub use question::Question;
pub use run::{Event, Options, PlanError, RunError, run};
