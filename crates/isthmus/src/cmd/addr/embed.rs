//! `isthmus addr embed`

use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use ipnet::Ipv6Net;
use isthmus_core::address::ivi::Share;

use super::prefix::{self, Format, Prefix};

/// Print the IPv6 address that represents an IPv4 address
///
/// Example: `isthmus addr embed 2001:db8:122::/48 192.0.2.33` prints 2001:db8:122:c000:2:2100::
#[derive(Args, Debug)]
pub(super) struct Embed {
    /// The translation prefix, such as 64:ff9b::/96
    #[arg(value_parser = prefix::network)]
    prefix: Ipv6Net,
    /// The IPv4 address
    address: Ipv4Addr,
    /// The format of the address under the prefix
    #[arg(long, value_enum, default_value_t = Format::Rfc6052)]
    format: Format,
    /// IVI: number of hosts that share the address, a power of two up to 4096
    #[arg(long, value_name = "N", requires = "index")]
    ratio: Option<u32>,
    /// IVI: index of the host, from 0
    #[arg(long, value_name = "N", requires = "ratio")]
    index: Option<u16>,
    /// Embed non-global addresses under 64:ff9b::/96, too
    #[arg(long)]
    allow_non_global: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Embed {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let prefix = Prefix::new(self.prefix, self.format).map_err(anyhow::Error::msg)?;
        let note = prefix.objection(self.address.into());
        if let Some(objection) = &note
            && !self.allow_non_global
            && !objection.is_for_examples()
        {
            bail!(
                "{objection}. Take a prefix of your own, such as a part of 64:ff9b:1::/48 \
                 (RFC 8215), or add --allow-non-global if no packet leaves your network"
            );
        }
        let v4 = self.address.into();
        let address = match (&prefix, self.ratio, self.index) {
            (_, None, _) | (_, _, None) => prefix.embed(v4),
            (Prefix::Ivi(prefix), Some(ratio), Some(index)) => {
                prefix.embed_shared(v4, Share::new(ratio, index)?)
            }
            (Prefix::Rfc6052(_), Some(_), Some(_)) => {
                bail!(
                    "--ratio and --index are for `--format ivi`: RFC 6052 has no shared addresses"
                )
            }
        };
        let address = Ipv6Addr::from(address);
        let note = note.map(|objection| objection.to_string());
        if self.json {
            let answer = serde_json::json!({
                "prefix": prefix.to_string(),
                "v4": self.address,
                "v6": address,
                "note": note,
            });
            println!("{answer:#}");
        } else {
            println!("{address}");
            if let Some(note) = note {
                eprintln!("note: {note}");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
