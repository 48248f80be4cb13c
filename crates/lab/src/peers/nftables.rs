//! NAT44 by nftables: masquerading with connection tracking.

use std::fs;

use crate::{
    LabError, Result, process,
    subject::{Started, Subject},
    topology::{FOUR, Network},
};

const LIMIT: &str = "/proc/sys/net/netfilter/nf_conntrack_max";

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

/// Raises the machine's bound on tracked connections, which namespaces share; dropping it sets the
/// old one again.
#[derive(Debug)]
pub struct ConntrackLimit {
    before: String,
}

impl ConntrackLimit {
    /// Lets at least `entries` connections be tracked. A lower bound that exists stays as it is.
    pub fn raise(entries: u64) -> Result<Self> {
        let file = |source| LabError::File {
            path: LIMIT.into(),
            source,
        };
        let before = fs::read_to_string(LIMIT).map_err(file)?;
        if before.trim().parse().unwrap_or(0) < entries {
            fs::write(LIMIT, entries.to_string()).map_err(file)?;
        }
        Ok(Self { before })
    }
}

impl Drop for ConntrackLimit {
    fn drop(&mut self) {
        // The file was writable a moment ago; there is nobody to tell if it no longer is.
        let _ = fs::write(LIMIT, self.before.trim());
    }
}
