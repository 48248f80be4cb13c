//! The driver of a link runs XDP programs as the configuration wants.

use isthmus_engine::bpf;

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::{Engine, Interface, XdpMode};

pub(super) const CHECK: Check = Check {
    name: "xdp-driver",
    about: "a driver that does not run XDP, with `mode = \"native\"`; or `mode = \"generic\"`, which spoils packets",
    depth: Depth::Start,
    look,
};

fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let mut defects = Vec::new();
    for interface in &case.document().interfaces {
        if interface.engine.value == Engine::Xdp {
            defects.extend(defect(interface)?);
        }
    }
    Ok(defects)
}

fn defect(interface: &Interface) -> Result<Option<Defect>, Unseen> {
    let name = interface.name.value.as_str();
    Ok(match interface.mode {
        XdpMode::Auto => None,
        XdpMode::Generic => Some(Defect::new(
            format!("{name} has `mode = \"generic\"`"),
            "Packets whose checksums the sender left to a device, as virtual machines and containers do, leave with \
             wrong checksums",
            Remedy::interface(name, "mode = \"auto\""),
        )),
        XdpMode::Native => {
            let abilities = bpf::xdp_abilities(name).map_err(|error| Unseen::new(name, &error))?;
            abilities.filter(|can| !can.runs_programs).map(|_| {
                Defect::new(
                    format!("{name} has `mode = \"native\"`, and its driver does not run XDP"),
                    "`isthmus up` does not start",
                    Remedy::interface(name, "mode = \"auto\""),
                )
            })
        }
    })
}
