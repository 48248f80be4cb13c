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

const fn merit(applies: fn(&Needs) -> bool, weight: i32, says: &'static str) -> Merit {
    Merit {
        applies,
        weight,
        says,
    }
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
    |needs| needs.inbound == Inbound::SomePorts,
    -1,
    "ports for connections from outside must be requested from the provider's gateway (PCP)",
);
const OWN_PORTS: Merit = merit(
    |needs| needs.inbound == Inbound::SomePorts,
    2,
    "a customer has ports of its own and opens them itself",
);
const NO_STATE: Merit = merit(
    |needs| needs.br == BrState::Stateless,
    3,
    "its gateways keep no state per session: any of them can forward any packet",
);
const NO_RECORDS: Merit = merit(
    |needs| needs.customers_per_address > 1,
    1,
    "the ports of a customer follow from a rule: there is nothing to record",
);
const DENSE: Merit = merit(
    |needs| needs.customers_per_address > 64,
    2,
    "ports are assigned on demand, so that many customers share an address",
);
const SPARSE: Merit = merit(
    |needs| needs.customers_per_address > 64,
    -1,
    "each customer has few ports, whether it needs them or not",
);
const KNOWN_EVERYWHERE: Merit = merit(
    |_| true,
    1,
    "the operating systems of telephones have a CLAT built in",
);

/// All mechanisms.
pub static MECHANISMS: [Mechanism; 12] = [
    Mechanism {
        name: "NAT64",
        requires: &[TO_V4, CORE_V6, NAMES, STATE, OUTBOUND],
        merits: &[
            merit(
                |needs| needs.ce == CeRouters::None,
                3,
                "hosts and routers need nothing but DNS64",
            ),
            DENSE,
            merit(
                |_| true,
                2,
                "one device, and no second header in the network",
            ),
            ASKED_PORTS,
        ],
    },
    Mechanism {
        name: "464XLAT",
        requires: &[TO_V4, CORE_V6, STATE, OUTBOUND],
        merits: &[
            merit(
                |needs| needs.hosts == Hosts::Dual,
                3,
                "IPv4-only programs continue to work, on hosts with a CLAT or behind routers with one",
            ),
            DENSE,
            KNOWN_EVERYWHERE,
            ASKED_PORTS,
        ],
    },
    Mechanism {
        name: "SIIT",
        requires: &[
            TO_V4,
            CORE_V6,
            NAMES,
            requires(
                |needs| needs.customers_per_address == 1,
                "every host has an IPv4 address of its own, and addresses are shared",
            ),
        ],
        merits: &[
            merit(
                |needs| needs.inbound == Inbound::EveryPort,
                4,
                "a server has IPv6 only and is reached at an IPv4 address on every port",
            ),
            NO_STATE,
        ],
    },
    Mechanism {
        name: "IVI",
        requires: &[TO_V4, CORE_V6, NAMES, FEW_PORTS, PORTS],
        merits: &[
            NO_STATE,
            NO_RECORDS,
            merit(
                |_| true,
                -2,
                "hosts must have addresses of a special form, and use some ports only",
            ),
        ],
    },
    Mechanism {
        name: "DS-Lite",
        requires: &[TO_V4, CORE_V6, CE, STATE, OUTBOUND],
        merits: &[
            DENSE,
            merit(
                |_| true,
                2,
                "the B4 only encapsulates: the simplest router can do that",
            ),
            ASKED_PORTS,
        ],
    },
    Mechanism {
        name: "lw4o6",
        requires: &[TO_V4, CORE_V6, CE, FEW_PORTS, PORTS],
        merits: &[
            NO_STATE,
            OWN_PORTS,
            merit(
                |_| true,
                1,
                "a table assigns the ports, so that IPv4 and IPv6 addresses are independent",
            ),
            SPARSE,
        ],
    },
    Mechanism {
        name: "MAP-E",
        requires: &[TO_V4, CORE_V6, CE, FEW_PORTS, PORTS],
        merits: &[
            NO_STATE,
            OWN_PORTS,
            NO_RECORDS,
            merit(
                |_| true,
                1,
                "one rule for all customers: the BR has no table at all",
            ),
            SPARSE,
        ],
    },
    Mechanism {
        name: "MAP-T",
        requires: &[TO_V4, CORE_V6, CE, FEW_PORTS, PORTS],
        merits: &[
            NO_STATE,
            OWN_PORTS,
            NO_RECORDS,
            merit(
                |_| true,
                1,
                "the network sees ports and can classify by them; 20 bytes less than in a tunnel",
            ),
            SPARSE,
        ],
    },
    Mechanism {
        name: "6rd",
        requires: &[TO_V6, CORE_V4, CE],
        merits: &[
            merit(
                |_| true,
                3,
                "a rule for all customers, within one provider, without a table",
            ),
            NO_STATE,
        ],
    },
    Mechanism {
        name: "6in4",
        requires: &[TO_V6, CORE_V4],
        merits: &[
            NO_STATE,
            merit(|_| true, -1, "every tunnel is configured at both ends"),
        ],
    },
    Mechanism {
        name: "ISATAP",
        requires: &[TO_V6, CORE_V4],
        merits: &[
            merit(
                |needs| needs.ce == CeRouters::None,
                2,
                "hosts of a site reach IPv6 by themselves",
            ),
            merit(
                |_| true,
                -2,
                "hosts trust the site's IPv4 network as if it were one link",
            ),
        ],
    },
    Mechanism {
        name: "6to4",
        requires: &[
            TO_V6,
            CORE_V4,
            requires(
                |needs| needs.customers_per_address == 1,
                "a site needs a public IPv4 address of its own",
            ),
        ],
        merits: &[merit(
            |_| true,
            -4,
            "its relays are gone from the internet (RFC 7526): for sites that talk to each other only",
        )],
    },
];
