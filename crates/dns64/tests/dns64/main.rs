//! DNS64: its rules on messages alone, and the server on loopback.

mod common;
mod dig;
mod forgeries;
mod hostile;
mod messages;
mod rfc6147;
mod rfc6147_dnssec;
mod rfc6147_records;
mod service;
mod table;
mod upstream;
mod victims;
