//! `isthmus addr`: addresses of every kind.

mod ce;
mod dhcpv6;
mod embed;
mod explain;
mod extract;
mod map;
mod prefix;
mod sixrd;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Embed, extract and explain addresses
#[derive(Args, Debug)]
pub(crate) struct Addr {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Embed(embed::Embed),
    Extract(extract::Extract),
    Explain(explain::Explain),
    Map(map::Map),
    Dhcpv6(dhcpv6::Dhcpv6),
    #[command(name = "6rd")]
    Sixrd(sixrd::Sixrd),
}

impl Addr {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Embed(embed) => embed.run(),
            Action::Extract(extract) => extract.run(),
            Action::Explain(explain) => explain.run(),
            Action::Map(map) => map.run(),
            Action::Dhcpv6(dhcpv6) => dhcpv6.run(),
            Action::Sixrd(sixrd) => sixrd.run(),
        }
    }
}
