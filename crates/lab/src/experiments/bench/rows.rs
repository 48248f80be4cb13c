//! The rows of the benchmark, and their targets.

use std::fmt;

use serde::Serialize;

use super::{
    Measurement, bulk,
    crossings::{CROSSINGS, Crossing},
    dns, memory, packets,
    pairs::{PAIRS, Pair},
    profile::Busy,
    rivals::{RIVALS, Rival},
    turns::Effort,
};
use crate::{Result, traffic::path::Path};

/// The target of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// More is better.
    AtLeast(f64),
    /// Less is better.
    AtMost(f64),
}

impl Target {
    /// Returns whether `ratio` meets the target.
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

/// Makes the path of a row. It may begin with the path of the row before it.
pub(super) type Make = Box<dyn Fn(Option<Path>) -> Result<Path>>;

/// A row: its name, its target, and its measurement.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name in reports.
    pub name: &'static str,
    /// The target of the ratio.
    pub target: Target,
    /// The reason why the comparison is fair.
    pub method: &'static str,
    how: How,
}

/// The measurement of a row.
#[derive(Debug, Clone, Copy)]
enum How {
    /// Packets through this path at full rate, in turn with the kernel's forwarding. It may begin with the path of the row
    /// before it.
    AgainstKernel(fn(Option<Path>) -> Result<Path>),
    /// Packets that cross a mechanism at full rate, in turn with the kernel's forwarding.
    Across(&'static Crossing),
    /// Packets that cross a tunnel at full rate, in turn with a tunnel of the kernel.
    Rivals(&'static Rival),
    /// One TCP connection through two gateways, in turn with two of the kernel's routers.
    Through(&'static Pair),
    /// A measurement of its own, and the work for its profile.
    Own(
        fn(&Effort) -> Result<Measurement>,
        fn(&Effort) -> Result<Busy>,
    ),
    /// A measurement of its own in which time plays no part.
    Timeless(fn(&Effort) -> Result<Measurement>),
}

use How::{Across, AgainstKernel, Own, Rivals, Through, Timeless};
use Target::{AtLeast, AtMost};

const SAME_CORE: &str = "Generator, path and sink share one core in both runs; 18 octets of UDP \
    payload; medians of alternating repetitions against the kernel's IPv6 forwarding.";
const SAME_TUNNEL: &str = "Generator, path and sink share one core in both runs; 18 octets of UDP \
    payload; medians of alternating repetitions against the kernel's own tunnel of the same kind, in \
    the emulated machine of the tests where the kernel here has none.";
const SAME_PROCESS_CORE: &str = "Both gateways are one thread on the core that the tester does \
    not use; the load rises until they lose packets, and the best delivery counts.";
const SAME_BULK: &str = "One TCP connection by iperf3, client and server on one core, the \
    gateway's process (if it has one) on the other; offloads as the kernel sets them.";

/// Returns a row of [`SINGLE`].
const fn row(name: &'static str, target: Target, method: &'static str, how: How) -> Row {
    Row {
        name,
        target,
        method,
        how,
    }
}

/// The rows that are not of a table of their own.
#[rustfmt::skip]
const SINGLE: [Row; 11] = [
    row("siit-4to6-xdp", AtLeast(3.0), SAME_CORE, AgainstKernel(packets::siit_four_to_six)),
    row("siit-6to4-xdp", AtLeast(3.0), SAME_CORE, AgainstKernel(packets::siit_six_to_four)),
    row("nat64-established-xdp", AtLeast(2.5), SAME_CORE, AgainstKernel(packets::established)),
    row("nat64-established-xdp-1m", AtLeast(1.4), SAME_CORE,
        AgainstKernel(packets::established_million)),
    row("nat64-new-sessions-xdp", AtLeast(0.6),
        "Every frame opens a session in an empty table, against the kernel's IPv6 \
         forwarding in packets/s; all on one core. Repetitions start anew.",
        Own(packets::new_sessions, packets::many_new_sessions)),
    row("nat64-tcp-tc", AtLeast(0.9), SAME_BULK, Own(bulk::tcp_tc, bulk::busy_tc)),
    row("siit-tcp-user", AtLeast(8.0), SAME_BULK, Own(bulk::tcp_user, bulk::busy_user)),
    row("siit-pps-user", AtLeast(2.0), SAME_PROCESS_CORE,
        Own(packets::pps_user, packets::user_at_best)),
    row("nat64-rtt-xdp", AtMost(1.1),
        "Median of 1000 pings every 2 ms, hosts alike, against the kernel's IPv6 \
         forwarding.",
        Own(packets::round_trip, packets::many_round_trips)),
    row("dns64-qps", AtLeast(1.0),
        "1000 names in the cache, 64 queries outstanding, one thread of each server on \
         the core that the client does not use, the same upstream.",
        Own(dns::dns64, dns::busy_dns64)),
    row("memory-per-session", AtMost(1.0),
        "What the kernel holds for all BPF maps of a running NAT64 whose table is made \
         for 300,000 sessions, by the sessions in it when as many were opened, each with \
         a binding of its own.",
        Timeless(memory::per_session)),
];

impl Row {
    /// Returns all rows, in the order of the report.
    pub fn all() -> Vec<Self> {
        let across = CROSSINGS.iter().map(|crossing| {
            let target = AtLeast(crossing.target);
            row(crossing.row, target, SAME_CORE, Across(crossing))
        });
        let rivals = RIVALS
            .iter()
            .map(|rival| row(rival.row, AtLeast(2.0), SAME_TUNNEL, Rivals(rival)));
        let pairs = PAIRS
            .iter()
            .map(|pair| row(pair.row, AtLeast(0.8), SAME_BULK, Through(pair)));
        SINGLE
            .into_iter()
            .chain(across)
            .chain(rivals)
            .chain(pairs)
            .collect()
    }

    /// Returns what makes the path of the row if that is in XDP on one core: from the path before it if that has the same
    /// gateway.
    pub(super) fn path_after(&self) -> Option<Make> {
        match self.how {
            AgainstKernel(path) => Some(Box::new(path)),
            Across(crossing) => Some(Box::new(|last| crossing.path_after(last))),
            Rivals(_) | Through(_) | Own(..) | Timeless(_) => None,
        }
    }

    /// Measures the row.
    pub fn measure(&self, effort: &Effort) -> Result<Measurement> {
        match self.how {
            How::AgainstKernel(path) => packets::against_kernel(path(None)?, effort),
            How::Across(crossing) => packets::against_kernel(crossing.path()?, effort),
            How::Rivals(rival) => rival.measure(effort),
            How::Through(pair) => pair.measure(effort),
            How::Own(measure, _) | How::Timeless(measure) => measure(effort),
        }
    }

    /// Returns the device alone, as work for a profile; `None` if time plays no part.
    ///
    pub(super) fn busy(&self, effort: &Effort) -> Option<Result<Busy>> {
        match self.how {
            How::AgainstKernel(path) => {
                Some(path(None).map(|path| packets::at_full_rate(path, effort)))
            }
            How::Across(crossing) => Some(
                crossing
                    .path()
                    .map(|path| packets::at_full_rate(path, effort)),
            ),
            How::Rivals(rival) => Some(rival.busy(effort)),
            How::Through(pair) => Some(pair.busy(effort)),
            How::Own(_, busy) => Some(busy(effort)),
            How::Timeless(_) => None,
        }
    }
}
