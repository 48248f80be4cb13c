//! A dual-stack proxy: clients of either family reach servers of either family.
//!
//! [`Server::start`] runs it. It knows nothing of the gateway that it is a part of.
//!
//! Reading order: [`config`] has its settings; `server` listens, and `engine` says who may have a connection;
//! `http` speaks with clients, with [`head`] for what a request says; `dial` opens connections to servers, with
//! `reach` for what may be reached and `eyeballs` for RFC 8305; `upstream` is a server's connection, and `tunnel`
//! carries octets that are nobody's business. [`failure`] is everything that a client may be told.

pub mod config;
pub mod counter;
mod dial;
mod engine;
mod eyeballs;
pub mod failure;
pub mod head;
mod http;
mod meter;
mod reach;
mod server;
pub mod target;
mod tunnel;
mod upstream;

pub use config::{Config, ConfigError};
pub use counter::{Counter, Counters, Kind};
pub use failure::Failure;
pub use server::{Handle, Server, StartError};
