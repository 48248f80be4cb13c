//! The laboratory without a network: bounds, searches, reports and claims.

mod bound;
mod report;
mod search;
mod security_page;
