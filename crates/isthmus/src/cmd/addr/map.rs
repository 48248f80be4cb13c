//! `isthmus addr map`

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use ipnet::{Ipv4Net, Ipv6Net};
use isthmus_core::address::V6;
use isthmus_core::address::map::{Assignment, Ce, MapRule, Ports};
use isthmus_core::address::port_set::{PortSet, Sharing};

use super::ce::{self, Answer};
use super::prefix;

/// Explain a MAP domain and its CEs (MAP-E, MAP-T)
///
/// A rule alone is explained as a whole. With a CE's IPv6 prefix or address, or an IPv4 address and port, prints
/// the addresses and ports of this CE.
///
/// Example: `isthmus addr map 2001:db8::/40 192.0.2.0/24 16 2001:db8:12:3400::/56`
#[derive(Args, Debug)]
pub(super) struct Map {
    /// The Rule IPv6 prefix
    #[arg(value_parser = prefix::network)]
    v6: Ipv6Net,
    /// The Rule IPv4 prefix
    #[arg(value_parser = prefix::network_v4)]
    v4: Ipv4Net,
    /// The number of EA bits
    ea_bits: u8,
    /// IPv6 prefix or address, or IPv4 address (with `:PORT` if it is shared)
    ce: Option<Whom>,
    /// Bits of the PSID offset
    #[arg(long, value_name = "BITS", default_value_t = Sharing::DEFAULT_OFFSET)]
    offset: u8,
    /// Bits of a PSID that is not in the EA bits
    #[arg(long, value_name = "BITS", requires = "psid")]
    psid_length: Option<u8>,
    /// The PSID itself
    #[arg(long, value_name = "N", requires = "psid_length", value_parser = number)]
    psid: Option<u16>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The CE that is asked for.
#[derive(Clone, Copy, Debug)]
enum Whom {
    Prefix(Ipv6Net),
    Address(Ipv6Addr),
    V4(Ipv4Addr),
    Port(SocketAddrV4),
}

impl FromStr for Whom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return prefix::network(text).map(Self::Prefix);
        }
        text.parse()
            .map(Self::Address)
            .or_else(|_| text.parse().map(Self::V4))
            .or_else(|_| text.parse().map(Self::Port))
            .map_err(|_| {
                "expected 2001:db8:12:3400::/56, an IPv6 address, 192.0.2.18 or 192.0.2.18:1232"
                    .to_owned()
            })
    }
}

/// Parses a number, in hexadecimal with 0x.
fn number(text: &str) -> Result<u16, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "expected a number from 0 to 65535, or 0x0 to 0xffff".to_owned())
}

impl Map {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let ports = match (self.psid_length, self.psid) {
            (Some(length), Some(psid)) => Ports::Given(PortSet::new(self.offset, length, psid)?),
            _ => Ports::Embedded {
                offset: self.offset,
            },
        };
        let v6 = (self.v6.addr().into(), self.v6.prefix_len());
        let v4 = (self.v4.addr().into(), self.v4.prefix_len());
        let rule = MapRule::new(v6, v4, self.ea_bits, ports)?;
        let Some(whom) = self.ce else {
            self.print_rule(&rule);
            return Ok(ExitCode::SUCCESS);
        };
        let (ce, notes) = find(&rule, whom)?;
        let answer = Answer::new(&rule, &ce);
        if self.json {
            let mut answer = serde_json::to_value(&answer)?;
            answer["notes"] = notes.into();
            println!("{answer:#}");
        } else {
            for line in answer.lines() {
                println!("{line}");
            }
            for note in notes {
                eprintln!("note: {note}");
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print_rule(&self, rule: &MapRule) {
        let least = self.v6.prefix_len() + self.ea_bits;
        let ces = 1u64 << self.ea_bits;
        let each = ce::assigned(rule);
        if self.json {
            let answer = serde_json::json!({
                "v6": self.v6,
                "v4": self.v4,
                "ea-bits": self.ea_bits,
                "customers": ces,
                "end-user-prefix-length": least,
                "each": each,
                "shared-by": rule.sharing().ratio(),
            });
            println!("{answer:#}");
        } else {
            let plural = if ces == 1 { "CE has" } else { "CEs each have" };
            println!("{ces} {plural} {each}");
            println!("end-user IPv6 prefixes: of {least} bits, or longer with zeros behind these");
        }
    }
}

/// Returns the CE, and notes about the address or port that was asked for.
fn find(rule: &MapRule, whom: Whom) -> Result<(Ce, Vec<String>)> {
    let mut notes = Vec::new();
    let ce = match whom {
        Whom::Prefix(net) => rule.ce((net.addr().into(), net.prefix_len()))?,
        Whom::Address(address) => {
            let v6 = V6::from(address);
            if !rule.covers_v6(v6) {
                let (prefix, length) = rule.v6();
                bail!("{address} is not under the Rule IPv6 prefix {prefix}/{length}");
            }
            let ce = rule.ce_at(v6);
            if ce.address != v6 {
                notes.push(format!("{address} is not the CE's MAP IPv6 address"));
            }
            ce
        }
        Whom::V4(address) => {
            if let Assignment::Shared(ratio) = rule.assignment() {
                bail!("{ratio} CEs share {address}: ask for one of its ports, {address}:PORT");
            }
            of_port(rule, address, u16::MAX)?
        }
        Whom::Port(endpoint) => of_port(rule, *endpoint.ip(), endpoint.port())?,
    };
    Ok((ce, notes))
}

fn of_port(rule: &MapRule, address: Ipv4Addr, port: u16) -> Result<Ce> {
    let (prefix, length) = rule.v4();
    if Ipv4Net::new(prefix.into(), length).is_ok_and(|net| !net.contains(&address)) {
        bail!("{address} is not under the Rule IPv4 prefix {prefix}/{length}");
    }
    if let Some(v6) = rule.address_of(address.into(), port) {
        return Ok(rule.ce_at(v6));
    }
    match rule.ports() {
        Ports::Given(set) if port >= set.sharing().first() => {
            bail!(
                "port {port} is not the CE's: it has the PSID {:#x}, not {:#x}",
                set.sharing().psid_of(port).unwrap_or(0),
                set.psid()
            )
        }
        Ports::Given(_) | Ports::Embedded { .. } => {
            let sharing = rule.sharing();
            bail!(
                "port {port} belongs to no CE: with a PSID offset of {} ports begin at {} (RFC 7597 section 5.1)",
                sharing.offset(),
                sharing.first()
            )
        }
    }
}
