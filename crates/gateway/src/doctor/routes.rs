//! There are routes to where packets have to go.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use isthmus_core::config::AnyMechanism;

use super::facts::Route;
use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::{Composed, Engine, Instance, Mechanism, Routes};

pub(super) const CHECK: Check = Check {
    name: "routes",
    about: "no route to the IPv4 internet, to a tunnel's other end or to a NAT64's prefix; or none into the gateway",
    depth: Depth::Whole,
    look,
};

const ALL_OF_V4: IpNet = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0));

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let mut defects: Vec<Defect> = Vec::new();
    for instance in &case.document().instances {
        let defect = beyond(instance).and_then(|network| no_way(case, network));
        // Of several instances with the same way, one is enough.
        defects.extend(defect.filter(|new| !defects.contains(new)));
    }
    defects.extend(nothing_comes(case));
    Ok(defects)
}

/// Where the translated packets of an instance go; `None` if they go to networks that are named, or many.
fn beyond(instance: &Instance) -> Option<IpNet> {
    let single = |address: IpAddr| Some(IpNet::from(address));
    match &instance.mechanism {
        Mechanism::Nat64(_) | Mechanism::Nat44(_) => Some(ALL_OF_V4),
        Mechanism::Siit(siit) => {
            let everything = siit.hosts.iter().any(|hosts| hosts.prefix_len() == 0);
            // A CLAT: the IPv4 internet is behind the prefix.
            if everything {
                prefix(instance)
            } else {
                Some(ALL_OF_V4)
            }
        }
        Mechanism::Composed(composed) => match &composed.core {
            AnyMechanism::FourInSix(tunnel) => single(IpAddr::V6(tunnel.remote.into())),
            AnyMechanism::MapECe(ce) => single(IpAddr::V6(ce.br.into())),
            AnyMechanism::Aftr(_)
            | AnyMechanism::LwAftr(_)
            | AnyMechanism::MapEBr(_)
            | AnyMechanism::MapTBr(_) => Some(ALL_OF_V4),
            _ => of_prefix(composed, instance),
        },
    }
}

fn of_prefix(composed: &Composed, instance: &Instance) -> Option<IpNet> {
    (!composed.is_waiting()).then(|| prefix(instance)).flatten()
}

fn prefix(instance: &Instance) -> Option<IpNet> {
    let prefix = instance.mechanism.rfc6052()?;
    let address = IpAddr::V6(prefix.network().into());
    IpNet::new(address, prefix.length()).ok()
}

fn no_way(case: &Case<'_>, network: IpNet) -> Option<Defect> {
    // A router in the midst of the internet has many routes, and none for everything.
    let some = |route: &Route| {
        let same_family = route.to.addr().is_ipv4() == network.addr().is_ipv4();
        network.prefix_len() == 0 && same_family && route.leads_beyond
    };
    let leads =
        |route: &&Route| (route.to.contains(&network) || some(route)) && !is_ours(case, route);
    if case.facts.routes.iter().any(|route| leads(&route)) {
        return None;
    }
    let to = match network.prefix_len() {
        0 => "default".to_owned(),
        _ => network.to_string(),
    };
    Some(Defect::new(
        format!("there is no route to {network}"),
        "Translated packets go no further than to this machine's neighbours",
        Remedy::command(format!("ip route add {to} via NEXT-HOP")),
    ))
}

fn is_ours(case: &Case<'_>, route: &Route) -> bool {
    let tun = case.document().tun.name.value.as_str();
    route
        .link
        .is_some_and(|number| case.facts.name_of(number) == tun)
}

/// In user space packets come by routes, and somebody must make them.
fn nothing_comes(case: &Case<'_>) -> Option<Defect> {
    let document = case.document();
    let mut interfaces = document.interfaces.iter();
    if document.tun.routes == Routes::Auto || interfaces.any(|one| one.engine.value != Engine::User)
    {
        return None;
    }
    let into = |network: &IpNet| {
        let mut routes = case.facts.routes.iter();
        routes.any(|route| route.to.contains(network) && is_ours(case, route))
    };
    let missing = document
        .routes()
        .into_iter()
        .find(|network| !into(network))?;
    let tun = &document.tun.name.value;
    Some(Defect::new(
        format!("no route leads {missing} into {tun}, and `routes` is \"none\""),
        "The gateway gets nothing that it could translate",
        Remedy::configuration("[tun]", "routes = \"auto\""),
    ))
}
