//! The tests of RFC 8219, and of RFC 2544 and RFC 6201 where it refers to them, as experiments. They use our own
//! [tester](crate::traffic::tester), which takes the place of both hosts of a testbed. One testbed serves them all, after the
//! papers' experiments.
//!
//! The profile `smoke` sends only the smallest frames from the client, and measures throughput and latency of every
//! subject. It leaves the other tests out unless they are named: they take seconds for each subject.

use super::{
    definition::{Experiment, How},
    links::Links,
    measure::frames::{self, delay, loss, outage, throughput},
    profile::Profile,
};
use crate::figures::results::{Quantity, Scale};

const FRAME: Option<(&str, &str, Scale)> = Some(("frame", "octets", Scale::Linear));

/// The method of rates without loss.
pub(super) const WIRES: &str =
    "veth pairs; packets as large as the MTU at most and with whole checksums, as on a wire";
pub(super) const NDR: &str = "Tagged UDP frames of 100 flows, which make their sessions themselves, from an XDP program at the one \
    host; another at the other host tells which are lost, late by more than 100 ms (smoke: 50 ms, rfc: 1 s), changed, doubled \
    or out of order. The highest rate without any loss (`both ways`: of each of two hosts that send at once, on a core each): by MLRsearch in trials of 100 ms (smoke: by halves to a fifth, 20 and \
    50 ms; rfc: by halves to a hundredth, confirmed by 60 s). Generator, receiver and what runs in softirq share a core: \
    there the limit is how much can be sent. The ceiling is the tester with a bare redirect between.";
const AT_NDR: &str = "At the highest rate without loss of the same network, or at a share of it, which stands beside each \
    value. Each frame leaves alone when it is due. Through a subject on the sender’s core fewer leave in a second than in \
    batches: how many is measured before, and 90 % of that are sent. All are tagged and count; 2 s \
    (smoke: 100 ms, rfc: 120 s). Beside it is the tester with a bare redirect between, at the same load.";

/// Returns the mean number of directions: half of the subjects are measured in both, but not in `smoke`.
fn ways(profile: Profile) -> f64 {
    chosen(profile, [1.0, 1.5, 1.5])
}

/// Estimates the time of searches for these sizes.
pub(super) fn search(profile: Profile, sizes: usize) -> f64 {
    let one = match profile {
        Profile::Smoke => 1.6,
        Profile::Standard => 11.0,
        Profile::Rfc => 420.0,
    };
    ways(profile) * one * sizes as f64
}

/// Estimates measurements of this many seconds at each size.
fn at_sizes(profile: Profile, seconds: [f64; 3]) -> f64 {
    ways(profile) * chosen(profile, seconds) * frames::sizes(profile).len() as f64
}

fn chosen(profile: Profile, [smoke, standard, rfc]: [f64; 3]) -> f64 {
    match profile {
        Profile::Smoke => smoke,
        Profile::Standard => standard,
        Profile::Rfc => rfc,
    }
}

/// All experiments of RFC 8219, in an order in which each can use the results of the earlier ones.
pub static EXPERIMENTS: [Experiment; 9] = [
    Experiment {
        name: "rfc8219/throughput",
        title: "Throughput by frame size",
        source: "RFC 8219 section 7.1, RFC 2544 section 26.1",
        quantity: Quantity::PacketRate,
        over: FRAME,
        network: WIRES,
        method: NDR,
        of: frames::is_known,
        how: How::Live(Links::Unlimited, throughput::by_size),
        // Half of the subjects are searched in both directions at once as well.
        takes: |profile| {
            chosen(profile, [1.0, 1.33, 1.33]) * search(profile, frames::sizes(profile).len())
        },
    },
    Experiment {
        name: "rfc8219/latency",
        title: "Latency at the throughput",
        source: "RFC 8219 section 7.2",
        quantity: Quantity::OneWayDelay,
        over: FRAME,
        network: WIRES,
        method: AT_NDR,
        of: frames::is_known,
        how: How::Live(Links::Unlimited, delay::latency),
        takes: |profile| at_sizes(profile, [0.3, 3.0, 135.0]),
    },
    Experiment {
        name: "rfc8219/pdv",
        title: "Delay variation at the throughput",
        source: "RFC 8219 section 7.3.1",
        quantity: Quantity::DelayVariation,
        over: FRAME,
        network: WIRES,
        method: AT_NDR,
        of: frames::is_known,
        how: How::Live(Links::Unlimited, delay::pdv),
        takes: |_| 0.1,
    },
    Experiment {
        name: "rfc8219/ipdv",
        title: "Delay variation from frame to frame",
        source: "RFC 8219 section 7.3.2",
        quantity: Quantity::DelayVariation,
        over: FRAME,
        network: WIRES,
        method: AT_NDR,
        of: frames::is_known,
        how: How::Live(Links::Unlimited, delay::ipdv),
        takes: |_| 0.1,
    },
    Experiment {
        name: "rfc8219/frame-loss",
        title: "Loss by load",
        source: "RFC 8219 section 7.4, RFC 2544 section 26.3",
        quantity: Quantity::Loss,
        over: Some(("load", "% of the tester's", Scale::Logarithmic)),
        network: WIRES,
        method: "The smallest frames, from all that the tester can send through a bare redirect downwards, until two trials in a row \
            lose nothing: 1 s each (smoke: 50 ms, rfc: 60 s). What the sender could not send on time is left out: \
            a device that shares its core cannot be overloaded.",
        of: frames::is_known,
        how: How::Live(Links::Unlimited, loss::by_load),
        takes: |profile| ways(profile) * chosen(profile, [0.5, 12.0, 700.0]),
    },
    Experiment {
        name: "rfc8219/back-to-back",
        title: "The longest burst without loss",
        source: "RFC 8219 section 7.5, RFC 2544 section 26.4, RFC 9004",
        quantity: Quantity::Burst,
        over: FRAME,
        network: WIRES,
        method: "Frames as fast as the sender can; the mean of three searches to 64 frames, in which a burst has to lose frames \
            twice to be too long. The ceiling is the longest that was tried: 200,000 (smoke: 20,000, rfc: 2,000,000). \
            `buffer` is what RFC 9004 makes of it, less what was forwarded meanwhile.",
        of: frames::is_known,
        how: How::Live(Links::Unlimited, loss::back_to_back),
        takes: |profile| at_sizes(profile, [4.0, 20.0, 600.0]),
    },
    Experiment {
        name: "rfc8219/recovery",
        title: "Loss after an overload",
        source: "RFC 8219 section 7.6, RFC 2544 section 26.5",
        quantity: Quantity::Outage,
        over: FRAME,
        network: WIRES,
        method: "Frames at 110 % of the throughput, then at half of that, 2 s each (smoke: 200 ms, rfc: 60 s): from the change to \
            the last frame that is lost. A device that shares the sender's core cannot be overloaded.",
        of: frames::is_known,
        how: How::Live(Links::Unlimited, outage::recovery),
        takes: |profile| at_sizes(profile, [0.6, 5.0, 130.0]),
    },
    Experiment {
        name: "rfc8219/reset",
        title: "Loss during a restart of the gateway",
        source: "RFC 8219 section 7.7, RFC 2544 section 26.6, RFC 6201 section 4.2",
        quantity: Quantity::Outage,
        over: None,
        network: WIRES,
        method: "A reset of the process: it is ended and started again while 10,000 frames per second pass, of which the longest pause \
            between two counts. Starting has the other core.",
        of: outage::can_be_reset,
        how: How::Live(Links::Unlimited, outage::reset),
        takes: |profile| chosen(profile, [6.0, 13.0, 70.0]),
    },
    Experiment {
        name: "rfc8219/scalability",
        title: "Throughput by number of flows",
        source: "RFC 8219 section 10",
        quantity: Quantity::PacketRate,
        over: Some(("flows", "", Scale::Logarithmic)),
        network: WIRES,
        method: NDR,
        of: frames::is_known,
        how: How::Live(Links::Unlimited, throughput::by_flows),
        takes: |profile| search(profile, 5),
    },
];
