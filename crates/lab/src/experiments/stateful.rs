//! The experiments of RFC 9693, for gateways that keep state of connections.

use super::{
    definition::{Experiment, How},
    measure::sessions,
    subject::{Carries, Setup, Subject},
};
use crate::figures::results::{Quantity, Scale};

const NETWORK: &str = "Two hosts and the gateway, on veth pairs, with fixed neighbours";
/// The method of phase 1, which all experiments have in common.
macro_rules! phase_1 {
    ($rest:literal) => {
        concat!(
            "Phase 1: one UDP frame of the least size for each connection, from one address, with the ports in \
            pseudorandom order, into an empty table. A frame that takes more than 500 ms is lost; a trial that was sent \
            late is run again. ",
            $rest
        )
    };
}

/// Selects the gateways between two hosts that keep connections in a table.
fn keeps_connections(subject: &Subject) -> bool {
    matches!(subject.setup, Setup::Middle(..))
        && subject.carries == Carries::Packets
        && ["NAT44", "NAT64"].contains(&subject.mechanism)
}

/// All experiments of RFC 9693.
pub static EXPERIMENTS: [Experiment; 4] = [
    Experiment {
        name: "rfc9693/connection-rate",
        title: "Connections established per second",
        source: "RFC 9693 sections 4.5 and 4.6",
        quantity: Quantity::ConnectionRate,
        over: None,
        network: NETWORK,
        method: phase_1!(
            "The highest rate at which all are established, by halving, and at which then, at half the rate, an \
            answer finds its way back through each. Beside it stands what the tester sends with nothing in between; what \
            runs in softirq shares its core."
        ),
        of: keeps_connections,
        how: How::Apart(sessions::connection_rate),
        takes: sessions::connection_rate_takes,
    },
    Experiment {
        name: "rfc9693/capacity",
        title: "Connections in the table",
        source: "RFC 9693 section 4.9",
        quantity: Quantity::Capacity,
        over: None,
        network: NETWORK,
        method: phase_1!(
            "Twice as many connections until their rate falls below a fifth, then halves, below two fifths. \
            A value that is ringed, or has †, is where the search ended, and no table was full."
        ),
        of: keeps_connections,
        how: How::Apart(sessions::capacity),
        takes: sessions::capacity_takes,
    },
    Experiment {
        name: "rfc9693/tear-down",
        title: "Connections removed per second",
        source: "RFC 9693 section 4.8",
        quantity: Quantity::TearDownRate,
        over: Some(("connections", "", Scale::Logarithmic)),
        network: NETWORK,
        method: phase_1!(
            "Then all connections are removed at once: the kernel's by a flush of its table, those of Isthmus with its \
            process, until that has ended, those of Jool with its instance. What is removed one by one may be slower."
        ),
        of: keeps_connections,
        how: How::Apart(sessions::tear_down_rates),
        takes: sessions::tear_down_takes,
    },
    Experiment {
        name: "rfc9693/throughput",
        title: "Packets without loss through established connections",
        source: "RFC 9693 section 4.7",
        quantity: Quantity::PacketRate,
        over: None,
        network: NETWORK,
        method: phase_1!(
            "Phase 2: frames of all connections in turn, `forward` from the initiator, then `back` to it. The highest rate \
            at which none is lost, by halving."
        ),
        of: keeps_connections,
        how: How::Apart(sessions::throughput),
        takes: sessions::throughput_takes,
    },
];
