//! The entries for an address in the binding table of an lwAFTR.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use isthmus_core::address::port_set::PortSet;
use isthmus_core::address::softwire::Softwire;
use isthmus_core::config::LwAftr;

/// The largest number of an address's softwires that are listed.
const SOFTWIRES: usize = 8;
/// The largest number of port ranges that are listed.
const RANGES: usize = 4;

/// Returns a sentence for each softwire of an address, or of a port if there is one.
pub(super) fn explain(
    aftr: &LwAftr,
    softwires: &[Softwire],
    address: IpAddr,
    port: Option<u16>,
) -> Vec<String> {
    match address {
        IpAddr::V4(address) => of_v4(aftr, softwires, address, port),
        IpAddr::V6(address) => {
            let its = softwires.iter().filter(|one| one.b4.is(address.into()));
            its.filter_map(|one| Some(format!("is the lwB4 that has {}", has(aftr, one)?)))
                .collect()
        }
    }
}

fn of_v4(
    aftr: &LwAftr,
    softwires: &[Softwire],
    address: Ipv4Addr,
    port: Option<u16>,
) -> Vec<String> {
    let Some(sharing) = aftr.shared.find(address.into()) else {
        return Vec::new();
    };
    let psid = port.map(|port| sharing.psid_of(port));
    let its: Vec<_> = softwires
        .iter()
        .filter(|one| one.v4 == address.into() && psid.is_none_or(|psid| psid == Some(one.psid)))
        .collect();
    let mut lines = Vec::new();
    if let (Some(port), true) = (port, its.is_empty()) {
        lines.push(format!("its port {port} has no softwire"));
    } else if port.is_none() {
        let (ratio, count) = (sharing.ratio(), its.len());
        lines.push(format!("of its {ratio} port sets, {count} have a softwire"));
    }
    for one in its.iter().take(SOFTWIRES) {
        if let Some(what) = has(aftr, one) {
            lines.push(format!("the lwB4 {} has {what}", Ipv6Addr::from(one.b4)));
        }
    }
    if its.len() > SOFTWIRES {
        lines.push(format!("and {} more", its.len() - SOFTWIRES));
    }
    lines
}

/// Returns the address and the ports of a softwire.
fn has(aftr: &LwAftr, softwire: &Softwire) -> Option<String> {
    let set = aftr.shared.find(softwire.v4)?.set(softwire.psid).ok()?;
    let address = Ipv4Addr::from(softwire.v4);
    Some(match set.sharing().is_whole() {
        true => format!("all of {address}"),
        false => format!("PSID {:#x} of {address}, {}", set.psid(), ports(set)),
    })
}

fn ports(set: PortSet) -> String {
    let mut ranges = set.ranges();
    let shown: Vec<_> = ranges
        .by_ref()
        .take(RANGES)
        .map(|range| format!("{}-{}", range.start(), range.end()))
        .collect();
    let rest = if ranges.next().is_some() { " ..." } else { "" };
    format!("{} ports: {}{rest}", set.count(), shown.join(" "))
}
