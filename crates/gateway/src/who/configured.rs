//! Who has a port by calculation: everything that follows from the configuration alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};
use isthmus_core::address::V4;
use isthmus_core::address::map::MapRules;
use isthmus_core::address::softwire::Softwire;
use isthmus_core::config::{AnyMechanism, LwAftr};
use isthmus_core::nat::Protocol;

use super::Question;
use crate::config::{Document, Instance, Mechanism, Nat, Siit};

/// A subscriber by calculation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Computed {
    pub(super) instance: String,
    /// The rule by which it has the port.
    pub(super) by: &'static str,
    pub(super) subscriber: IpNet,
    /// The host and its port, if they follow too.
    pub(super) host: Option<(IpAddr, u16)>,
    /// Of which protocol; `None` if of all.
    pub(super) protocol: Option<Protocol>,
}

/// All subscribers that a configuration gives the port to.
pub(super) fn computed(document: &Document, question: &Question) -> Vec<Computed> {
    let instances = document.instances.iter();
    instances
        .flat_map(|instance| of(instance, question))
        .collect()
}

/// The bits of an inside address that are a subscriber of an instance.
pub(super) fn subscriber(document: &Document, instance: &str, inside: IpAddr) -> IpNet {
    let mut instances = document.instances.iter();
    let found = instances.find(|one| one.name.value == instance);
    let bits = found.and_then(|one| match &one.mechanism {
        Mechanism::Nat64(nat64) => Some(nat64.nat.subscriber_prefix),
        _ => None,
    });
    let net = bits.filter(|_| inside.is_ipv6());
    let net = net.and_then(|bits| IpNet::new(inside, bits).ok());
    net.map_or(IpNet::from(inside), |net| net.trunc())
}

fn of(instance: &Instance, question: &Question) -> Vec<Computed> {
    let Question { address, port, .. } = *question;
    let name = &instance.name.value;
    let one = |by, subscriber: Option<IpNet>| {
        let computed = subscriber.map(|subscriber| Computed {
            instance: name.clone(),
            by,
            subscriber,
            host: None,
            protocol: None,
        });
        computed.into_iter().collect()
    };
    match &instance.mechanism {
        Mechanism::Nat64(nat64) => by_nat(name, &nat64.nat, question),
        Mechanism::Nat44(nat44) => by_nat(name, &nat44.nat, question),
        Mechanism::Siit(siit) => one("eam", mapped(siit, address)),
        Mechanism::Composed(composed) => match &composed.core {
            AnyMechanism::MapTBr(br) => one("map-t", ce(&br.rules, address, port)),
            AnyMechanism::MapEBr(br) => one("map-e", ce(&br.rules, address, port)),
            AnyMechanism::LwAftr(aftr) => {
                one("lw4o6", lw_b4(aftr, &composed.softwires, address, port))
            }
            _ => match &composed.nat {
                Some((nat, _)) => by_nat(name, nat, question),
                None => Vec::new(),
            },
        },
    }
}

/// A static binding, or a deterministic block.
fn by_nat(name: &str, nat: &Nat, question: &Question) -> Vec<Computed> {
    let block = nat.subscriber_of(question.address, question.port);
    let fixed = |protocol: Protocol| {
        let mut bindings = nat.static_bindings.iter().map(|at| at.value);
        bindings.find(|binding| {
            binding.protocol == protocol
                && Ipv4Addr::from(binding.outside.address) == question.address
                && binding.outside.port == question.port
        })
    };
    let of = |protocol| match fixed(protocol) {
        Some(binding) => Some(Computed {
            instance: name.into(),
            by: "static",
            subscriber: binding.inside.host().into(),
            host: Some((binding.inside.host(), binding.inside.port)),
            protocol: Some(protocol),
        }),
        None => block.map(|subscriber| Computed {
            instance: name.into(),
            by: "deterministic",
            subscriber,
            host: None,
            protocol: None,
        }),
    };
    let mut found: Vec<_> = question.protocols().into_iter().filter_map(of).collect();
    found.dedup();
    found
}

/// The host of the longest explicit mapping.
fn mapped(siit: &Siit, address: Ipv4Addr) -> Option<IpNet> {
    let address = V4::from(address);
    let known = siit.eam.iter().filter_map(|mapping| {
        let host = mapping.value.counterpart_of_v4(address)?;
        Some((mapping.value.v4().1, host))
    });
    let (_, host) = known.max_by_key(|(length, _)| *length)?;
    Some(IpNet::from(IpAddr::from(Ipv6Addr::from(host))))
}

/// The end-user prefix of the CE that has a port (RFC 7597 section 5.2).
fn ce(rules: &MapRules, address: Ipv4Addr, port: u16) -> Option<IpNet> {
    let rule = rules.find_v4(address.into(), port)?;
    let ce = rule.address_of(address.into(), port)?;
    let length = rule.v6().1 + rule.ea_bits();
    let prefix = Ipv6Net::new(ce.into(), length).ok()?;
    Some(prefix.trunc().into())
}

/// The lwB4 that has a port.
fn lw_b4(aftr: &LwAftr, softwires: &[Softwire], address: Ipv4Addr, port: u16) -> Option<IpNet> {
    let psid = aftr.shared.find(address.into())?.psid_of(port)?;
    let mut softwires = softwires.iter();
    let its = softwires.find(|one| one.v4 == V4::from(address) && one.psid == psid)?;
    Some(IpNet::from(IpAddr::from(Ipv6Addr::from(its.b4))))
}
