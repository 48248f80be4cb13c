//! The gateway's configuration, metrics and records, and mechanisms as operators configure them.

mod configuration;
mod counters_page;
mod doctor_page;
mod explained;
mod lwaftr;
mod one_address;
mod openmetrics;
mod pages;
mod prometheus;
mod records_decoded;
mod schema;
