//! Counters and table sizes for monitoring: OpenMetrics text over HTTP.
//!
//! The counters of the data plane are four families, by what they count, with the counter's name
//! as a label; `isthmus_counter_info` explains each name.

mod collector;
mod server;

pub(crate) use collector::kind_name;
pub use collector::{Sample, Source, encode};
pub use server::{CONTENT_TYPE, Endpoint};
