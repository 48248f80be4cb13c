//! `isthmus addr explain`

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_core::address::explain::{self, Block, Meaning, Reach};
use isthmus_core::address::{V4, V6, rfc6052, special};
use serde::Serialize;

use super::prefix::Prefix;
use crate::cmd::configuration;

/// Explain an address
///
/// Prints the address block and how far it reaches, the transition mechanism that made the address, and the IPv4
/// address in it. With a configuration also prints what the address means to its instances.
#[derive(Args, Debug)]
pub(super) struct Explain {
    /// An IPv4 or IPv6 address
    address: IpAddr,
    /// A configuration, for the prefixes and pools in it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A port of the IPv4 address, to find its CE or its subscriber
    #[arg(long, requires = "config")]
    port: Option<u16>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The explanation of an address.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Answer {
    address: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<BlockAnswer>,
    meanings: Vec<MeaningAnswer>,
    /// The meaning of the address to the instances of a configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    configured: Vec<String>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct BlockAnswer {
    network: String,
    purpose: &'static str,
    source: &'static str,
    reach: &'static str,
}

#[derive(Serialize)]
struct MeaningAnswer {
    mechanism: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    v4: Option<Ipv4Addr>,
}

impl Explain {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let mut answer = match self.address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        };
        if let Some(path) = &self.config {
            match configuration::read(path)? {
                Ok(document) => {
                    answer.configured =
                        isthmus_gateway::explain::explain(self.address, self.port, &document)
                }
                Err(code) => return Ok(code),
            }
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&answer)?);
        } else {
            print(&answer);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print(answer: &Answer) {
    println!("{}", answer.address);
    if let Some(block) = &answer.block {
        println!(
            "  in {}: {} ({}); {}",
            block.network, block.purpose, block.source, block.reach
        );
    }
    for meaning in &answer.meanings {
        println!("  {}: {}", meaning.mechanism, meaning.text);
    }
    for line in answer.configured.iter().chain(&answer.notes) {
        println!("  {line}");
    }
}

fn of_v4(address: Ipv4Addr) -> Answer {
    let number = V4::from(address);
    let mut notes = Vec::new();
    if special::is_illegal_source_v4(number) {
        notes.push("translators drop packets from and to it (RFC 7915 section 4.1)".to_owned());
    } else {
        let well_known = Prefix::Rfc6052(rfc6052::Prefix::WELL_KNOWN);
        let embedded = Ipv6Addr::from(well_known.embed(number));
        notes.push(match well_known.objection(number) {
            None => format!("IPv6 hosts reach it at {embedded} through a NAT64 (RFC 6052)"),
            Some(_) => format!(
                "it must not appear under 64:ff9b::/96, as {embedded}; under a prefix of your own \
                 it may (RFC 6052 section 3.1)"
            ),
        });
    }
    Answer {
        address: address.into(),
        block: explain::block_v4(number).map(|block| describe(block, Ipv4Addr::from)),
        meanings: Vec::new(),
        configured: Vec::new(),
        notes,
    }
}

fn of_v6(address: Ipv6Addr) -> Answer {
    let halves = V6::from(address);
    let block = explain::block_v6(halves);
    let meanings: Vec<_> = explain::meanings(halves).collect();
    let mut notes = Vec::new();
    if special::is_illegal_source_v6(halves) {
        notes.push("translators drop packets from and to it (RFC 7915 section 5.1)".to_owned());
    }
    for meaning in &meanings {
        notes.extend(note(meaning));
    }
    if meanings.is_empty() && block.is_some_and(|block| block.purpose == "global unicast") {
        notes.push(
            "the address alone shows no transition mechanism; under a prefix that a \
             network translates (RFC 6052) or delegates by 6rd (RFC 5969) it may hold an IPv4 \
             address"
                .to_owned(),
        );
    }
    Answer {
        address: address.into(),
        block: block.map(|block| describe(block, Ipv6Addr::from)),
        meanings: meanings.iter().map(of_meaning).collect(),
        configured: Vec::new(),
        notes,
    }
}

fn of_meaning(meaning: &Meaning) -> MeaningAnswer {
    MeaningAnswer {
        mechanism: meaning.mechanism(),
        text: meaning.to_string(),
        v4: meaning.v4().map(Ipv4Addr::from),
    }
}

/// Explains the embedded IPv4 address.
fn note(meaning: &Meaning) -> Option<String> {
    let v4 = meaning.v4()?;
    if let Meaning::Rfc6052 { prefix, .. } = meaning
        && let Some(objection) = Prefix::Rfc6052(*prefix).objection(v4)
    {
        return Some(objection.to_string());
    }
    let block = explain::block_v4(v4)?;
    Some(format!(
        "{v4} is in {}/{}: {} ({}); {}",
        block.network,
        block.length,
        block.purpose,
        block.source,
        reach(block.reach)
    ))
}

fn describe<A: Copy, B: std::fmt::Display>(block: &Block<A>, address: fn(A) -> B) -> BlockAnswer {
    BlockAnswer {
        network: format!("{}/{}", address(block.network), block.length),
        purpose: block.purpose,
        source: block.source,
        reach: reach(block.reach),
    }
}

const fn reach(reach: Reach) -> &'static str {
    match reach {
        Reach::Global => "reaches the whole internet",
        Reach::Local => "stays within a network",
        Reach::None => "never crosses the internet",
    }
}
