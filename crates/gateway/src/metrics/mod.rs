//! Counters, table sizes and health for monitoring, over HTTP: OpenMetrics, or the text format of Prometheus.
//!
//! The counters of the data plane are four families, by what they count, with the counter's name
//! as a label; `isthmus_explanation_info` explains each name. No label is called `instance`: Prometheus has one of this
//! name for where it scraped.

mod collector;
mod exposition;
mod process;
mod server;

pub use collector::{DNS64_FAMILY, PROXY_FAMILY, Sample, Source, encode, family};
pub use exposition::Format;
pub use server::Endpoint;
