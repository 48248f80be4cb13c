//! `isthmus addr 6rd`

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::sixrd::Domain;

use super::prefix;

/// Explain a 6rd domain and its CEs; 6to4 is 2002::/16
///
/// A domain alone is explained as a whole. With a CE's IPv4 address, prints its delegated prefix. With an IPv6
/// address, prints the CE that it is behind.
///
/// Example: `isthmus addr 6rd 2001:db8::/32 10.0.0.0/8 10.100.100.1` prints 2001:db8:6464:100::/56
#[derive(Args, Debug)]
pub(super) struct Sixrd {
    /// The 6rd prefix
    #[arg(value_parser = prefix::network)]
    v6: Ipv6Net,
    /// The common prefix of the IPv4 addresses of all CEs (its length is IPv4MaskLen); 0.0.0.0/0 if there is
    /// none
    #[arg(value_parser = prefix::network_v4)]
    v4: Ipv4Net,
    /// The IPv4 address of a CE, or an IPv6 address
    address: Option<IpAddr>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Sixrd {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let v6 = (self.v6.addr().into(), self.v6.prefix_len());
        let v4 = (self.v4.addr().into(), self.v4.prefix_len());
        let domain = Domain::new(v6, v4)?;
        let length = domain.delegated_length();
        let ce = match self.address {
            None => None,
            Some(IpAddr::V4(ce)) => Some(ce),
            Some(IpAddr::V6(address)) => {
                let ce = domain.ce_of(address.into());
                let ce = ce.with_context(|| {
                    format!(
                        "{address} is not under {}: it is reached by the BR",
                        self.v6
                    )
                })?;
                Some(Ipv4Addr::from(ce))
            }
        };
        let delegated = match ce {
            None => None,
            Some(ce) => {
                let prefix = domain.delegated(ce.into());
                let prefix = prefix.with_context(|| format!("{ce} is not under {}", self.v4))?;
                Some(format!("{}/{length}", Ipv6Addr::from(prefix)))
            }
        };
        if self.json {
            let answer = serde_json::json!({
                "v6": self.v6,
                "v4": self.v4,
                "delegated-length": length,
                "ce": ce,
                "delegated": delegated,
            });
            println!("{answer:#}");
            return Ok(ExitCode::SUCCESS);
        }
        match (self.address, ce, delegated) {
            (Some(IpAddr::V6(_)), Some(ce), _) => println!("{ce}"),
            (_, _, Some(delegated)) => println!("{delegated}"),
            _ => println!("each CE has an IPv6 prefix of {length} bits"),
        }
        if length > 64 {
            eprintln!(
                "note: hosts cannot configure themselves with a prefix of more than 64 bits (RFC 5969 \
                 section 4)"
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
