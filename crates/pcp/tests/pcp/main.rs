//! The server of PCP and NAT-PMP, and the proxy: by their messages, and with a client that others wrote.

mod clients;
mod messages;
mod proxy;
mod support;
