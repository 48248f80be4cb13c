//! The instructions of a packet, as `isthmus lab exact` has counted them: the report's second clock. They are the same on
//! every machine. They count work, and not cache misses: the wall clock stands beside them.

use std::{collections::BTreeMap, sync::OnceLock};

use serde::Deserialize;

/// The counts that are committed with the program.
const COMMITTED: &str = include_str!("../../../../bench/exact.json");
/// Those of the machine without an operating system.
const BARE: &str = include_str!("../../../../bench/bare.json");
/// The path without a subject, whose instructions are the tester's.
const ALONE: &str = "bare-xdp-redirect";
/// The kernel's forwarding.
const NATIVE: &str = "kernel-forwarding-ipv6";

/// The directions, as they stand in the names of rows.
const WAYS: [&str; 4] = ["-encap", "-decap", "-6to4", "-4to6"];
/// The rows of new sessions, by their names: theirs is another cost than that of a packet.
const OPENING: &str = "-new-session";

/// The rows of each mechanism, by the beginning of their names. They are of ours, in XDP.
const ROWS: [(&str, &str); 12] = [
    ("NAT64", "nat64-established"),
    ("SIIT", "siit-"),
    ("6in4", "6in4-"),
    ("4in6", "4in6-"),
    ("6rd", "6rd-"),
    ("6to4", "6to4-router-"),
    ("DS-Lite", "ds-lite-"),
    ("lw4o6", "lw4o6-"),
    ("MAP-E", "map-e-"),
    ("MAP-T", "map-t-"),
    ("464XLAT", "clat-"),
    ("NAT44", "nat44-"),
];

#[derive(Deserialize)]
struct Counts {
    kernel: String,
    instructions: BTreeMap<String, f64>,
}

/// A count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Exact {
    /// The instructions that a packet takes, without the tester's, in the dearest direction and role.
    pub(crate) instructions: f64,
    /// The same by that of the kernel's forwarding.
    pub(crate) by_native: f64,
}

fn counts() -> &'static Counts {
    static COUNTS: OnceLock<Counts> = OnceLock::new();
    COUNTS.get_or_init(|| serde_json::from_str(COMMITTED).expect("bench/exact.json has counts"))
}

/// Returns the release of the kernel under which was counted.
pub(crate) fn kernel() -> &'static str {
    &counts().kernel
}

/// Returns the count of a packet's row without the tester's.
pub(crate) fn packet(row: &str) -> Option<f64> {
    let of = |row: &str| counts().instructions.get(row).copied();
    Some(of(row)? - of(ALONE)?)
}

/// Returns the count of a packet from card to card on a machine without an operating system, such as `siit-6to4-tcp`.
pub(crate) fn bare(row: &str) -> Option<f64> {
    static COUNTS: OnceLock<BTreeMap<String, f64>> = OnceLock::new();
    let read = || serde_json::from_str(BARE).expect("bench/bare.json has counts");
    COUNTS.get_or_init(read).get(row).copied()
}

/// Returns the count of a step of a translation by our own code in memory, such as `4to6-header` or `6to4-prefix-32`.
pub(crate) fn step(step: &str) -> Option<f64> {
    counts().instructions.get(&format!("step-{step}")).copied()
}

/// Returns the count of a subject that is none of ours, such as `nat44-nftables`: the dearer of both directions.
pub(crate) fn of_another(subject: &str) -> Option<Exact> {
    let rows = counts().instructions.keys().filter(|row| {
        let one = WAYS
            .iter()
            .fold((*row).clone(), |row, way| row.replace(way, ""));
        one == subject && !row.ends_with("-xdp")
    });
    let instructions = rows.filter_map(|row| packet(row)).reduce(f64::max)?;
    Some(Exact {
        instructions,
        by_native: instructions / native()?,
    })
}

/// Returns the count of the kernel's forwarding.
pub(crate) fn native() -> Option<f64> {
    packet(NATIVE)
}

/// Returns the count of a mechanism by ours in XDP, if there is one.
pub(crate) fn of(mechanism: &str) -> Option<Exact> {
    let (_, begins) = ROWS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(mechanism))?;
    let rows = counts().instructions.keys();
    let rows = rows.filter(|row| row.starts_with(begins) && is_of_a_packet(row));
    let instructions = rows.filter_map(|row| packet(row)).reduce(f64::max)?;
    Some(Exact {
        instructions,
        by_native: instructions / native()?,
    })
}

/// Whether a row is the cost of a packet of ours in XDP.
fn is_of_a_packet(row: &str) -> bool {
    row.ends_with("-xdp") && !row.contains(OPENING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_count_agree() {
        let [rate, batches] = [NATIVE.to_owned(), format!("{NATIVE}-batches")]
            .map(|row| counts().instructions.get(&row).copied().unwrap());
        assert!((batches / rate - 1.0).abs() < 0.01, "{rate} and {batches}");
    }

    #[test]
    fn others_have_the_dearer_of_both_directions() {
        let tayga = ["siit-6to4-tayga", "siit-4to6-tayga"].map(|row| packet(row).unwrap());
        let found = of_another("siit-tayga").unwrap();
        assert_eq!(found.instructions, tayga[0].max(tayga[1]));
    }

    #[test]
    fn every_row_of_a_packet_belongs_to_a_mechanism() {
        let rows = counts().instructions.keys();
        for row in rows.filter(|row| is_of_a_packet(row)) {
            assert!(
                ROWS.iter().any(|(_, begins)| row.starts_with(begins)),
                "{row}"
            );
        }
        for (mechanism, _) in ROWS {
            let exact = of(mechanism).unwrap();
            assert!(
                exact.instructions > 0.0 && exact.by_native > 0.0,
                "{mechanism}"
            );
        }
        assert_eq!(of("ISATAP"), None);
        let clat = ["clat-4to6-xdp", "clat-6to4-xdp"].map(|row| packet(row).unwrap());
        assert_eq!(of("464XLAT").unwrap().instructions, clat[0].max(clat[1]));
    }
}
