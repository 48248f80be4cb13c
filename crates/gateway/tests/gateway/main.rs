//! The gateway's configuration, metrics and records, and mechanisms as operators configure them.

mod configuration;
mod counters_page;
mod lwaftr;
mod openmetrics;
mod records_decoded;
