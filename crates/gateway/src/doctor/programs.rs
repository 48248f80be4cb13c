//! No other program takes the packets of a link.

use isthmus_engine::bpf::{self, Found, Mode, Place};

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::Engine;

pub(super) const CHECK: Check = Check {
    name: "other-programs",
    about: "another XDP or tc program, or a tc filter, at the ingress of a link",
    depth: Depth::Start,
    look,
};

/// How the names of our programs begin.
const OURS: &str = "isthmus_";

fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let mut defects = Vec::new();
    let interfaces = &case.document().interfaces;
    for interface in interfaces
        .iter()
        .filter(|one| one.engine.value != Engine::User)
    {
        let name = interface.name.value.as_str();
        if case.facts.link(name).is_none() {
            continue;
        }
        let found = bpf::programs_on(name)
            .map_err(|error| Unseen::new(&format!("the programs on {name}"), &error))?;
        // What is there before the gateway runs is another's, whatever its name.
        let others = found
            .iter()
            .filter(|one| !(case.is_running() && one.name.starts_with(OURS)));
        defects.extend(others.map(|one| defect(name, one)));
    }
    Ok(defects)
}

fn defect(link: &str, found: &Found) -> Defect {
    let Found { place, name, .. } = found;
    let (what, why) = match place {
        Place::Xdp(_) => (
            "XDP program",
            "It gets packets first, and no other XDP program can be attached beside it",
        ),
        Place::Tcx => (
            "tc program",
            "It may take packets before the gateway's does, and does not see those that the gateway takes before",
        ),
        Place::Filter { .. } => (
            "tc filter",
            "What the gateway translates passes it by, or is taken by it before",
        ),
    };
    Defect::new(
        format!("{link} has another {what}: {name}"),
        why,
        Remedy::command(removal(link, found)),
    )
}

fn removal(link: &str, found: &Found) -> String {
    match (found.attachment, found.place) {
        (Some(number), _) => format!("bpftool link detach id {number}"),
        (None, Place::Xdp(Mode::Native)) => format!("ip link set dev {link} xdpdrv off"),
        (None, Place::Xdp(Mode::Generic)) => format!("ip link set dev {link} xdpgeneric off"),
        (None, Place::Tcx) => format!("bpftool net detach tcx_ingress dev {link}"),
        (None, Place::Filter { preference }) => {
            format!("tc filter del dev {link} ingress pref {preference}")
        }
    }
}
