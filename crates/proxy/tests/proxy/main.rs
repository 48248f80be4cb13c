//! The proxy over sockets of this machine: what it forwards, and what attackers cannot make it do.

mod attacks;
mod common;
mod conformance;
mod floods;
mod limits;
mod listeners;
mod sites;
mod socks;
mod tunnels;
mod users;
