//! XDP programs can send to the links of the gateway.

use isthmus_engine::bpf;

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::{Engine, Forward, Interface, XdpMode};

pub(super) const CHECK: Check = Check {
    name: "deaf-links",
    about: "a veth whose other end does not poll: XDP cannot send there",
    depth: Depth::Start,
    look,
};

fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let interfaces = &case.document().interfaces;
    // With `auto`, tc takes the place of XDP.
    let sends =
        |one: &&Interface| one.engine.value == Engine::Xdp && one.forward == Forward::Redirect;
    let insists = interfaces
        .iter()
        .filter(sends)
        .find(|one| one.mode != XdpMode::Auto);
    let mut defects = Vec::new();
    for interface in interfaces {
        let name = interface.name.value.as_str();
        if !case.facts.link(name).is_some_and(|link| link.is_veth) {
            continue;
        }
        let abilities = bpf::xdp_abilities(name).map_err(|error| Unseen::new(name, &error))?;
        let defect = match (abilities, insists) {
            (Some(can), Some(from)) if !can.takes_frames => Defect::new(
                format!(
                    "the other end of {name} does not poll: it has neither GRO nor an XDP program"
                ),
                "XDP cannot send there, and the kernel forwards what is translated, slowly and by its own rules",
                Remedy::interface(&from.name.value, "mode = \"auto\""),
            ),
            (None, _) if interfaces.iter().any(|one| sends(&one)) => Defect::new(
                format!(
                    "{name} is a veth, and this kernel, older than 6.3, does not tell whether its other end polls"
                ),
                "If that end has neither GRO nor an XDP program, everything that XDP sends there is lost",
                Remedy::engine(interface, "tc"),
            ),
            _ => continue,
        };
        defects.push(defect);
    }
    Ok(defects)
}
