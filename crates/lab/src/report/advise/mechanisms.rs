//! The requirements of each mechanism, its merits and its drawbacks.

use super::needs::{BrState, CeRouters, Core, Hosts, Inbound, Needs, Peers};

/// A mechanism as the advice sees it.
#[derive(Debug)]
pub struct Mechanism {
    /// Its name, as in results.
    pub name: &'static str,
    /// Its requirements, and the text if one is not met.
    requires: &'static [Requirement],
    /// Its merits and drawbacks, the weightiest first.
    pub(super) merits: &'static [Merit],
}

/// A requirement.
#[derive(Debug)]
struct Requirement {
    holds: fn(&Needs) -> bool,
    otherwise: &'static str,
}

/// A merit of a mechanism, or a drawback.
#[derive(Debug)]
pub(super) struct Merit {
    pub(super) applies: fn(&Needs) -> bool,
    /// The weight: above zero for a merit, below zero for a drawback.
    pub(super) weight: i32,
    pub(super) says: &'static str,
}

impl Mechanism {
    /// Returns the requirements that are not met.
    pub(super) fn against(&self, needs: &Needs) -> Vec<&'static str> {
        let missing = self.requires.iter().filter(|it| !(it.holds)(needs));
        missing.map(|it| it.otherwise).collect()
    }
}

const fn requires(holds: fn(&Needs) -> bool, otherwise: &'static str) -> Requirement {
    Requirement { holds, otherwise }
}

const fn merit(weight: i32, applies: fn(&Needs) -> bool, says: &'static str) -> Merit {
    Merit {
        applies,
        weight,
        says,
    }
}

const fn mechanism(
    name: &'static str,
    requires: &'static [Requirement],
    merits: &'static [Merit],
) -> Mechanism {
    Mechanism {
        name,
        requires,
        merits,
    }
}

/// The condition of what holds for every network.
fn always(_: &Needs) -> bool {
    true
}

const TO_V4: Requirement = requires(
    |needs| needs.peers == Peers::V4,
    "it leads to IPv4, and IPv6 is to be reached",
);
const TO_V6: Requirement = requires(
    |needs| needs.peers == Peers::V6,
    "it leads to IPv6, and IPv4 is to be reached",
);
const CORE_V6: Requirement = requires(
    |needs| needs.core == Core::V6,
    "it crosses a network of IPv6, and this one has IPv4 only",
);
const CORE_V4: Requirement = requires(
    |needs| needs.core == Core::V4,
    "it crosses a network of IPv4, and this one has IPv6 only",
);
const CE: Requirement = requires(
    |needs| needs.ce == CeRouters::Ours,
    "it needs a router at the customer that takes part",
);
const STATE: Requirement = requires(
    |needs| needs.br == BrState::State,
    "its gateway keeps a table of sessions",
);
const NAMES: Requirement = requires(
    |needs| needs.hosts == Hosts::V6Only,
    "programs that know IPv4 only do not work through it",
);
const PORTS: Requirement = requires(
    |needs| needs.inbound != Inbound::EveryPort || needs.customers_per_address == 1,
    "servers on every port need an address of their own, and addresses are shared",
);
const OUTBOUND: Requirement = requires(
    |needs| needs.inbound != Inbound::EveryPort,
    "connections come in on requested ports only, not on every port",
);
/// A customer with fewer ports than this cannot browse the web.
const FEW_PORTS: Requirement = requires(
    |needs| needs.customers_per_address <= 256,
    "with more than 256 customers to an address, each has fewer than 256 ports permanently",
);

const ASKED_PORTS: Merit = merit(
    -1,
    |needs| needs.inbound == Inbound::SomePorts,
    "ports for connections from outside must be requested from the provider's gateway (PCP)",
);
const OWN_PORTS: Merit = merit(
    2,
    |needs| needs.inbound == Inbound::SomePorts,
    "a customer has ports of its own and opens them itself",
);
const NO_STATE: Merit = merit(
    3,
    |needs| needs.br == BrState::Stateless,
    "its gateways keep no state per session: any of them can forward any packet",
);
const NO_RECORDS: Merit = merit(
    1,
    |needs| needs.customers_per_address > 1,
    "the ports of a customer follow from a rule: there is nothing to record",
);
const DENSE: Merit = merit(
    2,
    |needs| needs.customers_per_address > 64,
    "ports are assigned on demand, so that many customers share an address",
);
const SPARSE: Merit = merit(
    -1,
    |needs| needs.customers_per_address > 64,
    "each customer has few ports, whether it needs them or not",
);
const KNOWN_EVERYWHERE: Merit = merit(
    1,
    always,
    "the operating systems of telephones have a CLAT built in",
);

/// The requirements of those whose customers share an address by a rule.
const BY_RULE: &[Requirement] = &[TO_V4, CORE_V6, CE, FEW_PORTS, PORTS];

/// All mechanisms.
#[rustfmt::skip]
pub static MECHANISMS: [Mechanism; 12] = [
    mechanism("NAT64", &[TO_V4, CORE_V6, NAMES, STATE, OUTBOUND], &[
        merit(3, |needs| needs.ce == CeRouters::None, "hosts and routers need nothing but DNS64"),
        DENSE,
        merit(2, always, "one device, and no second header in the network"),
        ASKED_PORTS,
    ]),
    mechanism("464XLAT", &[TO_V4, CORE_V6, STATE, OUTBOUND], &[
        merit(3, |needs| needs.hosts == Hosts::Dual,
            "IPv4-only programs continue to work, on hosts with a CLAT or behind routers with one"),
        DENSE,
        KNOWN_EVERYWHERE,
        ASKED_PORTS,
    ]),
    mechanism("SIIT", &[
        TO_V4, CORE_V6, NAMES,
        requires(|needs| needs.customers_per_address == 1,
            "every host has an IPv4 address of its own, and addresses are shared"),
    ], &[
        merit(4, |needs| needs.inbound == Inbound::EveryPort,
            "a server has IPv6 only and is reached at an IPv4 address on every port"),
        NO_STATE,
    ]),
    mechanism("IVI", &[TO_V4, CORE_V6, NAMES, FEW_PORTS, PORTS], &[
        NO_STATE,
        NO_RECORDS,
        merit(-2, always, "hosts must have addresses of a special form, and use some ports only"),
    ]),
    mechanism("DS-Lite", &[TO_V4, CORE_V6, CE, STATE, OUTBOUND], &[
        DENSE,
        merit(2, always, "the B4 only encapsulates: the simplest router can do that"),
        ASKED_PORTS,
    ]),
    mechanism("lw4o6", BY_RULE, &[
        NO_STATE,
        OWN_PORTS,
        merit(1, always, "a table assigns the ports, so that IPv4 and IPv6 addresses are independent"),
        SPARSE,
    ]),
    mechanism("MAP-E", BY_RULE, &[
        NO_STATE,
        OWN_PORTS,
        NO_RECORDS,
        merit(1, always, "one rule for all customers: the BR has no table at all"),
        SPARSE,
    ]),
    mechanism("MAP-T", BY_RULE, &[
        NO_STATE,
        OWN_PORTS,
        NO_RECORDS,
        merit(1, always, "the network sees ports and can classify by them; 20 bytes less than in a tunnel"),
        SPARSE,
    ]),
    mechanism("6rd", &[TO_V6, CORE_V4, CE], &[
        merit(3, always, "a rule for all customers, within one provider, without a table"),
        NO_STATE,
    ]),
    mechanism("6in4", &[TO_V6, CORE_V4], &[
        NO_STATE,
        merit(-1, always, "every tunnel is configured at both ends"),
    ]),
    mechanism("ISATAP", &[TO_V6, CORE_V4], &[
        merit(2, |needs| needs.ce == CeRouters::None, "hosts of a site reach IPv6 by themselves"),
        merit(-2, always, "hosts trust the site's IPv4 network as if it were one link"),
    ]),
    mechanism("6to4", &[
        TO_V6, CORE_V4,
        requires(|needs| needs.customers_per_address == 1, "a site needs a public IPv4 address of its own"),
    ], &[
        merit(-4, always,
            "its relays are gone from the internet (RFC 7526): for sites that talk to each other only"),
    ]),
];
