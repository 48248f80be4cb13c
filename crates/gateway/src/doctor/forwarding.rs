//! The machine forwards packets.

use super::facts::{key, set};
use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::Engine;
use crate::link::{Forwarding, Wanted};

pub(super) const CHECK: Check = Check {
    name: "forwarding",
    about: "forwarding is off, on the machine where the gateway leaves it alone, or on one of its links",
    depth: Depth::Start,
    look,
};

/// The switches of both families.
const SWITCHES: [(&str, &str); 2] = [
    ("ipv4", "ipv4/ip_forward"),
    ("ipv6", "ipv6/conf/all/forwarding"),
];

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let wanted = Wanted::of(case.document());
    let mut defects = Vec::new();
    for (family, switch) in SWITCHES {
        if case.facts.sysctl(switch).as_deref() != Some("0") {
            for link in links(case, family) {
                defects.extend(on_link(case, family, link));
            }
        } else if wanted.forwarding == Forwarding::LeftAlone {
            defects.push(Defect::new(
                format!("{} is 0", key(switch)),
                "The machine drops packets for others, and with `routes = \"none\"` the gateway does not change that",
                Remedy::command(set(switch, "1")),
            ));
        }
    }
    Ok(defects)
}

/// The links that forward packets of a family. Of IPv6, only BPF programs ask about single links.
fn links<'a>(case: &'a Case<'_>, family: &str) -> Vec<&'a str> {
    let document = case.document();
    let interfaces = document.interfaces.iter();
    let asked = interfaces.filter(|one| family == "ipv4" || one.engine.value != Engine::User);
    let mut links: Vec<&str> = asked.map(|one| one.name.value.as_str()).collect();
    if family == "ipv4" {
        links.push(&document.tun.name.value);
    }
    links
}

fn on_link(case: &Case<'_>, family: &str, link: &str) -> Option<Defect> {
    let path = format!("{family}/conf/{link}/forwarding");
    (case.facts.sysctl(&path)? == "0").then(|| {
        Defect::new(
            format!("{} is 0, though the machine forwards", key(&path)),
            format!("Packets for others that come in on {link} are dropped, or take the slow path"),
            Remedy::command(set(&path, "1")),
        )
    })
}
