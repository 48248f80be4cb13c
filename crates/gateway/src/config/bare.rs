//! A configuration as the file that a bare machine takes ([`isthmus_image`]), and what such a machine cannot do.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use ipnet::IpNet;
use isthmus_core::config::Alg;
use isthmus_core::mechanism::AnyMechanism;
use isthmus_core::nat::UnsolicitedSyn;
use isthmus_engine::memory::bytes_of;
use isthmus_image::{Address, Binding, CARDS, HEAD, Head, Hop, MAGIC, Network, SOURCES, sum};

use super::Loaded;
use super::card::Card;
use super::compile::{CompileError, Compiled, Secrets};
use super::diagnose::{Diagnostic, Report};
use super::document::{Document, Instance, Mechanism};
use super::source::Span;

/// Why there is no file for a bare machine.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The configuration has what such a machine cannot do.
    #[error("{0}")]
    Beyond(Report),
    /// The tables are too large.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The system refused memory.
    #[error("cannot make the file: {0}")]
    Memory(#[from] io::Error),
}

/// Where the chance of a machine comes from.
#[derive(Clone, Copy, Debug)]
pub enum Chance {
    /// The key of its random numbers, of which each start makes other ones.
    Key([u64; 4]),
    /// Every start repeats what this number gives, and the console tells the time: for tests.
    Repeated(u64),
}

impl Loaded {
    /// Returns the file for a bare machine.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn pack(self, secrets: &Secrets, chance: Chance) -> Result<Vec<u8>, PackError> {
        let beyond = beyond(&self.document);
        if !beyond.is_empty() {
            return Err(PackError::Beyond(self.warnings.with(beyond)));
        }
        let mut document = self.document;
        let addresses = document.cards.iter().flat_map(|card| &card.addresses);
        // Errors come from the machine's own addresses, which are those of its cards.
        document.tun.addresses = addresses.cloned().collect();
        let compiled = document.compile(secrets)?;
        Ok(image(&document, &compiled, chance)?)
    }
}

/// Everything that a bare machine cannot do, and that it needs and has not.
fn beyond(document: &Document) -> Vec<Diagnostic> {
    let mut beyond = Vec::new();
    let mut refuse = |span, message: &str, label: &str| {
        beyond.push(Diagnostic::error(span, message, label));
    };
    if let Some(dns64) = &document.dns64 {
        let label = "run the DNS64 on another machine";
        refuse(dns64.heading, "a bare machine has no DNS64", label);
    }
    if let Some(proxy) = &document.proxy {
        let label = "run the proxy on another machine";
        refuse(proxy.heading, "a bare machine has no proxy", label);
    }
    for announce in &document.announcements {
        let message = "a bare machine announces no prefixes";
        let label = "let a router of the link announce them";
        refuse(announce.interface.span, message, label);
    }
    if let Some(heading) = document.records.heading {
        refuse(heading, "a bare machine writes no records", "leave it out");
    }
    beyond.extend(document.instances.iter().flat_map(instance));
    beyond.extend(cards(document));
    beyond
}

/// What it cannot do of an instance.
fn instance(instance: &Instance) -> Vec<Diagnostic> {
    let place = instance.name.span;
    // The hosts of ISATAP look for routers, and NAT-PT needs its gateway for DNS.
    if let Mechanism::Composed(composed) = &instance.mechanism
        && (matches!(composed.core, AnyMechanism::NatPt(_)) || composed.name.starts_with("isatap"))
    {
        let message = format!("a bare machine has no `{}`", composed.name);
        let label = "expected any mechanism but `isatap` and `nat-pt`";
        return vec![Diagnostic::error(place, &message, label)];
    }
    let Some(nat) = instance.mechanism.nat() else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    let mut refuse = |place, message: &str, label: &str| {
        wrong.push(Diagnostic::error(place, message, label));
    };
    if let Some(first) = nat.subscriber_limits.first() {
        let message = "a bare machine has one limit for all subscribers";
        refuse(first.span, message, "leave it out");
    }
    if instance.mechanism.alg() != Alg::default() {
        let message = "a bare machine has no application level gateways";
        refuse(place, message, "leave `alg` out");
    }
    if nat.pcp.is_some() {
        refuse(place, "a bare machine has no PCP server", "leave `pcp` out");
    }
    if nat.unsolicited_syn == UnsolicitedSyn::Answer {
        let message = "a bare machine answers no unsolicited connections";
        refuse(place, message, "expected `unsolicited-syn = \"drop\"`");
    }
    wrong
}

fn cards(document: &Document) -> Vec<Diagnostic> {
    let number = document.cards.len();
    let mut wrong = Vec::new();
    if number != CARDS {
        let more = document.cards.get(CARDS).map(|card| card.heading);
        let message = format!("there are {number} `[[card]]`, and a bare machine has two");
        let label = "needs `[[card]]` twice, in the order of the machine's cards";
        let place = more.unwrap_or(Span::new(0, 0..0));
        wrong.push(Diagnostic::error(place, message, label));
    }
    let translated = document.routes();
    for own in document.cards.iter().flat_map(|card| &card.addresses) {
        let address = own.addr();
        if translated.iter().any(|network| network.contains(&address)) {
            let message = format!("an instance translates what is sent to {address}");
            let label = "expected an address that the machine has for itself";
            wrong.push(Diagnostic::error(own.span, message, label));
        }
    }
    for card in &document.cards {
        for route in &card.routes {
            let via = route.via.value;
            let is_near = card.addresses.iter().any(|own| own.contains(&via));
            let is_link_local = matches!(via, IpAddr::V6(via) if via.is_unicast_link_local());
            // IPv4 may go over a router with an IPv6 address (RFC 9229), and not the other way round.
            if route.to.addr().is_ipv6() && via.is_ipv4() {
                let message = format!("{via} cannot be on the way to {}", route.to.value);
                let label = "expected a router with an IPv6 address";
                wrong.push(Diagnostic::error(route.via.span, message, label));
            } else if !is_near && !is_link_local {
                let message = format!("{via} is in no network of this card");
                let label = "expected a router in the network of one of its `addresses`";
                wrong.push(Diagnostic::error(route.via.span, message, label));
            }
        }
    }
    wrong
}

/// The words of the file, as bytes.
fn image(document: &Document, compiled: &Compiled, chance: Chance) -> io::Result<Vec<u8>> {
    let tables = Tables::new(document);
    let mut words: Vec<u64> = vec![0; HEAD];
    words.extend(
        bytes_of(&compiled.instances)?
            .as_chunks::<8>()
            .0
            .iter()
            .copied()
            .map(u64::from_le_bytes),
    );
    words.extend_from_slice(bytemuck::cast_slice(&tables.addresses));
    words.extend_from_slice(bytemuck::cast_slice(&tables.answered));
    words.extend_from_slice(bytemuck::cast_slice(&tables.hops));
    let bindings = compiled.fixed.iter();
    let bindings: Vec<_> = bindings
        .map(|(instance, binding)| Binding::new(*instance as u32, binding))
        .collect();
    words.extend_from_slice(bytemuck::cast_slice(&bindings));
    words.extend(
        compiled
            .rules
            .as_flattened()
            .iter()
            .map(|word| word.load(Relaxed)),
    );
    let (seed, told) = match chance {
        Chance::Key(key) => (key, 0),
        Chance::Repeated(number) => ([number; 4], 1),
    };
    let head = Head {
        magic: MAGIC,
        sources: SOURCES,
        words: words.len() as u64,
        sum: sum(&words[HEAD..]),
        instances: compiled.instances.len() as u32,
        addresses: tables.addresses.len() as u32,
        answered: tables.answered.len() as u32,
        hops: tables.hops.len() as u32,
        bindings: bindings.len() as u32,
        rules: compiled.rules.len() as u32,
        state: compiled.state_lines,
        seed,
        told,
    };
    words[..HEAD].copy_from_slice(bytemuck::cast_slice(&[head]));
    Ok(words.into_iter().flat_map(u64::to_le_bytes).collect())
}

/// What the cards are for.
struct Tables {
    addresses: Vec<Network>,
    answered: Vec<Network>,
    hops: Vec<Hop>,
}

impl Tables {
    fn new(document: &Document) -> Self {
        let translated = document.routes();
        let mut tables = Self {
            addresses: Vec::new(),
            answered: Vec::new(),
            hops: Vec::new(),
        };
        for (number, card) in (0..).zip(&document.cards) {
            let network = |net: IpNet| Network {
                address: net.addr().into(),
                length: u32::from(net.prefix_len()) + if net.addr().is_ipv4() { 96 } else { 0 },
                card: number,
                mtu: u64::from(mtu(document, card, net)),
            };
            for own in &card.addresses {
                tables.addresses.push(network(own.value));
                tables.hops.push(Hop {
                    to: network(own.trunc()),
                    via: Address::NONE,
                });
                // As the gateway does on Linux: what is a part of the link's network, and not more.
                let within = translated.iter().filter(|net| {
                    own.trunc().contains(*net) && own.prefix_len() < net.prefix_len()
                });
                tables.answered.extend(within.copied().map(network));
            }
            tables.hops.extend(card.routes.iter().map(|route| Hop {
                to: network(route.to.value),
                via: route.via.value.into(),
            }));
        }
        tables
            .hops
            .sort_by_key(|hop| std::cmp::Reverse(hop.to.length));
        tables
    }
}

/// Bytes of a packet of a family that a card takes.
fn mtu(document: &Document, card: &Card, net: IpNet) -> u16 {
    let of_family = match net {
        IpNet::V4(_) => document.link.ipv4_mtu,
        IpNet::V6(_) => document.link.ipv6_mtu,
    };
    card.mtu.min(of_family)
}
