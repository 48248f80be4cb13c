//! A pool on the machine's own address leaves the machine its ports.

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::local_ports::overlaps;

pub(super) const CHECK: Check = Check {
    name: "pool-ports",
    about: "a pool on the machine's own address has ports that its services or its connections need",
    // A start and a check of the file have warned of it already, with the place in the file.
    depth: Depth::Whole,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let overlaps = overlaps(case.document());
    let mut defects = Vec::new();
    for overlap in overlaps {
        let addresses = overlap.pool.addresses;
        let remedy =
            Remedy::configuration(format!("`pool` with {addresses}"), "ports = \"FIRST-LAST\"");
        defects.push(Defect::new(
            overlap.message(),
            overlap.consequence(),
            remedy,
        ));
    }
    Ok(defects)
}
