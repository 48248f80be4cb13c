//! A dual-stack proxy: clients of either family reach servers of either family.
//!
//! [`Server::start`] runs it. It knows nothing of the gateway that it is a part of.
//!
//! Reading order: [`config`] has its settings; `server` listens, with the threads of `workers`, and `engine` says who may have a connection;
//! `http` speaks with clients, with [`head`] for what a request says and [`opening`] for tunnels, the common case; `dial` opens connections to servers, with
//! `reach` for what may be reached and `eyeballs` for RFC 8305; `upstream` is a server's connection, `interim`
//! its responses before the last, `upgrade` a change of protocol, and `tunnel` carries octets that are nobody's business, in `turn`s. `sites` serves clients without a setting, with [`hello`] for the server
//! name of TLS; `socks_server` and `associate` serve those of [`socks`]. `users` has passwords, `journal` the access
//! log. [`failure`] is everything that a client may be told.

mod associate;
pub mod config;
pub mod counter;
mod crypt;
mod dial;
mod engine;
mod eyeballs;
pub mod failure;
pub mod head;
pub mod hello;
mod http;
mod interim;
mod journal;
mod logged;
mod meter;
pub mod opening;
mod proxy_header;
mod reach;
mod server;
mod sites;
pub mod socks;
mod socks_server;
pub mod target;
mod tunnel;
mod turn;
mod upgrade;
mod upstream;
mod users;
mod workers;

pub use config::{Config, ConfigError};
pub use counter::{Counter, Counters, Kind};
pub use failure::Failure;
pub use users::{User, UserError, Users};

pub use server::{Handle, Server, StartError};
