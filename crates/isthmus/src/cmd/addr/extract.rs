//! `isthmus addr extract`

use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use ipnet::Ipv6Net;
use isthmus_core::address::V6;
use isthmus_core::address::ivi::Share;

use super::prefix::{self, Format, Prefix};

/// Print the IPv4 address that an IPv6 address represents
///
/// Example: `isthmus addr extract 2001:db8:122::/48 2001:db8:122:c000:2:2100::` prints 192.0.2.33
#[derive(Args, Debug)]
pub(super) struct Extract {
    /// The translation prefix, such as 64:ff9b::/96
    #[arg(value_parser = prefix::network)]
    prefix: Ipv6Net,
    /// The IPv6 address
    address: Ipv6Addr,
    /// The format of the address under the prefix
    #[arg(long, value_enum, default_value_t = Format::Rfc6052)]
    format: Format,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Extract {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let prefix = Prefix::new(self.prefix, self.format).map_err(anyhow::Error::msg)?;
        let address = V6::from(self.address);
        let Some(found) = prefix.extract(address) else {
            bail!("{} is not under {prefix}", self.address);
        };
        let v4 = Ipv4Addr::from(found);
        let share = match prefix {
            Prefix::Ivi(_) => Share::of(address).filter(|share| share.ratio() > 1),
            Prefix::Rfc6052(_) => None,
        };
        let mut notes = Vec::new();
        if let Some(share) = share {
            notes.push(format!(
                "{} hosts share {v4}; this one has the ports that leave {} when divided by {}",
                share.ratio(),
                share.index(),
                share.ratio()
            ));
        } else if prefix.embed(found) != address {
            notes.push(
                "bits after the address are set; translators take no notice of them \
                 (RFC 6052 section 2.2)"
                    .to_owned(),
            );
        }
        notes.extend(
            prefix
                .objection(found)
                .map(|objection| objection.to_string()),
        );
        if self.json {
            let answer = serde_json::json!({
                "prefix": prefix.to_string(),
                "v6": self.address,
                "v4": v4,
                "notes": notes,
            });
            println!("{answer:#}");
        } else {
            println!("{v4}");
            for note in notes {
                eprintln!("note: {note}");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
