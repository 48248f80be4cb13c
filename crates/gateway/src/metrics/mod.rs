//! Counters and table sizes for monitoring: OpenMetrics text over HTTP.
//!
//! The counters of the data plane are four families, by what they count, with the counter's name
//! as a label; `isthmus_counter_info` explains each name.

mod collector;
mod openmetrics;
mod server;

pub use collector::{DNS64_FAMILY, Sample, Source, encode, family};
pub use server::{CONTENT_TYPE, Endpoint};
