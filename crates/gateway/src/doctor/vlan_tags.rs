//! XDP sees the tags of VLANs.

use isthmus_engine::bpf;

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::Engine;

pub(super) const CHECK: Check = Check {
    name: "vlan-tags",
    about: "a link with XDP and VLANs takes tags off before XDP sees them",
    depth: Depth::Start,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let interfaces = case.document().interfaces.iter();
    let with_xdp = interfaces.filter(|one| one.engine.value == Engine::Xdp);
    let defect = |link: &str| {
        takes_off(link).then(|| {
            Defect::new(
                wrong(link),
                "XDP cannot tell the VLANs of the link from the link itself",
                Remedy::command(command(link)),
            )
        })
    };
    Ok(with_xdp.filter_map(|one| defect(&one.name.value)).collect())
}

/// The trouble of a link with an XDP program that cannot tell VLANs from the link itself.
pub(crate) fn hidden(link: &str) -> Option<String> {
    takes_off(link).then(|| {
        let (wrong, command) = (wrong(link), command(link));
        format!("{wrong}: `{command}`, or engine = \"tc\"")
    })
}

fn takes_off(link: &str) -> bool {
    has_vlans(link) && bpf::takes_tags_off(link).is_ok_and(|off| off)
}

fn wrong(link: &str) -> String {
    format!("{link} takes the tags of VLANs off before XDP sees them")
}

fn command(link: &str) -> String {
    format!("ethtool -K {link} rxvlan off")
}

/// Whether there are devices of VLANs on a link. The kernel lists them as `NAME | NUMBER | LINK`.
fn has_vlans(link: &str) -> bool {
    let listed = std::fs::read_to_string("/proc/net/vlan/config").unwrap_or_default();
    let below = |line: &str| {
        line.split('|')
            .nth(2)
            .is_some_and(|below| below.trim() == link)
    };
    listed.lines().any(below)
}
