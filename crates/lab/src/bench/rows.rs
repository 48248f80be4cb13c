//! The rows of the benchmark, and what is asked of each.

use std::fmt;

use serde::Serialize;

use super::{
    Measurement,
    bulk::{tcp_tc, tcp_user},
    dns::dns64,
    packets::{
        established, established_million, new_sessions, pps_user, round_trip, siit_four_to_six,
        siit_six_to_four,
    },
};
use crate::{Result, measure::Effort};

/// What a ratio should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// More is better.
    AtLeast(f64),
    /// Less is better.
    AtMost(f64),
}

impl Target {
    /// Whether `ratio` is good enough.
    pub fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bound) => ratio >= bound,
            Self::AtMost(bound) => ratio <= bound,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
        }
    }
}

/// One row: what it is called, what is asked of it, and how it is measured.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name in reports.
    pub name: &'static str,
    /// The ratio asked for.
    pub target: Target,
    /// Why the comparison is fair.
    pub method: &'static str,
    measure: fn(&Effort) -> Result<Measurement>,
}

const SAME_CORE: &str = "Generator, path and sink share one core in both runs; 18 octets of UDP \
    payload; medians of alternating repetitions against the kernel's IPv6 forwarding.";
const SAME_PROCESS_CORE: &str = "Both gateways are one thread on the core that the tester does \
    not use; the load rises until they lose packets, and the best delivery counts.";
const SAME_BULK: &str = "One TCP connection by iperf3, client and server on one core, the \
    gateway's process (if it has one) on the other; offloads as the kernel sets them.";

impl Row {
    /// All rows, in the order of the report.
    pub fn all() -> [Self; 10] {
        let row = |name, target, method, measure| Self {
            name,
            target,
            method,
            measure,
        };
        use Target::{AtLeast, AtMost};
        [
            row("siit-4to6-xdp", AtLeast(3.0), SAME_CORE, siit_four_to_six),
            row("siit-6to4-xdp", AtLeast(3.0), SAME_CORE, siit_six_to_four),
            row(
                "nat64-established-xdp",
                AtLeast(2.5),
                SAME_CORE,
                established,
            ),
            row(
                "nat64-established-xdp-1m",
                AtLeast(1.4),
                SAME_CORE,
                established_million,
            ),
            row(
                "nat64-new-sessions-xdp",
                AtLeast(0.6),
                "Every frame opens a session in an empty table, against the kernel's IPv6 \
                 forwarding in packets/s; all on one core. Repetitions start anew.",
                new_sessions,
            ),
            row("nat64-tcp-tc", AtLeast(0.9), SAME_BULK, tcp_tc),
            row("siit-tcp-user", AtLeast(8.0), SAME_BULK, tcp_user),
            row("siit-pps-user", AtLeast(2.0), SAME_PROCESS_CORE, pps_user),
            row(
                "nat64-rtt-xdp",
                AtMost(1.1),
                "Median of 1000 pings every 2 ms, hosts alike, against the kernel's IPv6 \
                 forwarding.",
                round_trip,
            ),
            row(
                "dns64-qps",
                AtLeast(1.0),
                "1000 names in the cache, 64 queries outstanding, one thread of each server on \
                 the core that the client does not use, the same upstream.",
                dns64,
            ),
        ]
    }

    /// Measures it.
    pub fn measure(&self, effort: &Effort) -> Result<Measurement> {
        (self.measure)(effort)
    }
}
