//! NAT44 by nftables: masquerading with connection tracking.

use std::time::{Duration, Instant};

use super::conntrack;
use crate::{
    Result,
    network::{
        device::{Device, Started},
        plan, process,
        topology::{FOUR, Network},
    },
};

/// The timeout of a UDP flow that was not answered yet, in seconds: that of RFC 4787 REQ-5, as in NAT64. The default
/// is 30.
const REMEMBERED: &str = "300";

/// nftables NAT44 on the gateway's second link.
#[derive(Debug, Clone, Copy)]
pub enum Nftables {
    /// To the link's own address: 64,000 flows to one destination at most.
    Masquerade,
    /// To the addresses of the pool, as NAT64 does.
    Pool,
}

impl Device for Nftables {
    fn name(&self) -> String {
        match self {
            Self::Masquerade => "nftables masquerade",
            Self::Pool => "nftables snat to a pool",
        }
        .into()
    }

    fn start(&self, network: &Network, _: usize) -> Result<Started> {
        process::require("nft", "nftables")?;
        let action = match self {
            Self::Masquerade => "masquerade".to_owned(),
            Self::Pool => format!("snat to {}", plan::POOL),
        };
        let rules = format!(
            "table ip lab {{\nchain out {{\ntype nat hook postrouting priority srcnat\n\
             oifname {FOUR} {action}\n}}\n}}\n"
        );
        let gateway = network.gateway()?;
        let mut command = gateway.command("nft");
        process::run(command.arg(rules))?;
        gateway.sysctl(&[("net.netfilter.nf_conntrack_udp_timeout", REMEMBERED)])?;
        Ok(Started::default())
    }

    fn tear_down(&self, network: &Network, _: usize, _: &mut Started) -> Result<Duration> {
        let begun = Instant::now();
        conntrack::flush(network.gateway()?)?;
        Ok(begun.elapsed())
    }
}
