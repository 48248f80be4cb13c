//! The proxy over sockets of this machine: what it forwards, and what attackers cannot make it do.

mod attacks;
mod common;
mod conformance;
mod limits;
mod sites;
mod socks;
mod tunnels;
mod users;
