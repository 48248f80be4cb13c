//! NAT44 by nftables: masquerading with connection tracking.

use crate::{
    Result, process,
    subject::{Started, Subject},
    topology::{FOUR, Network},
};

/// nftables masquerade on the gateway's second link.
#[derive(Debug, Clone, Copy, Default)]
pub struct Masquerade;

impl Subject for Masquerade {
    fn name(&self) -> String {
        "nftables masquerade".into()
    }

    fn start(&self, network: &Network, _: usize) -> Result<Started> {
        process::require("nft", "nftables")?;
        let rules = format!(
            "table ip lab {{\nchain out {{\ntype nat hook postrouting priority srcnat\n\
             oifname {FOUR} masquerade\n}}\n}}\n"
        );
        let mut command = network.gateway()?.command("nft");
        process::run(command.arg(rules))?;
        Ok(Started::default())
    }
}
