//! References: the figures of other implementations in the same place.

use super::{
    Figure,
    bulk::Bulk,
    dns::{DnsPair, UNBOUND},
    turns::Effort,
};
use crate::{
    Result,
    network::{
        device::Device,
        plan,
        topology::{Neighbours, Offloads, Topology},
    },
    subjects::peers::{Forwarding, Nftables, Tayga},
    traffic::{
        generator::Pace,
        path::{Load, Path},
        redirect::Redirect,
        tools,
    },
};

/// A reference: its name, and its figure or the reason why there is none.
pub type Reference = (&'static str, Result<Figure>);

/// Measures all references once.
pub fn references(effort: &Effort, mut progress: impl FnMut(&Reference)) {
    let routed6 = Load::routed6(1000);
    let routed4 = Load::routed4(1000);
    let mut note = |name, result| progress(&(name, result));
    note("bare XDP redirect", packets(effort, &Redirect, &routed6));
    note("kernel, IPv6", packets(effort, &Forwarding, &routed6));
    note("kernel, IPv4", packets(effort, &Forwarding, &routed4));
    note(
        "nftables NAT44",
        packets(effort, &Nftables::Masquerade, &routed4),
    );
    note("TAYGA, 6 to 4", delivered(effort, &Load::six_to_four(1000)));
    note("TAYGA, 4 to 6", delivered(effort, &Load::four_to_six(1000)));
    let embedded = || plan::embed(plan::HOST4).to_string();
    note(
        "kernel, IPv6, bulk TCP",
        bulk(effort, &Forwarding, plan::HOST4_AS_IPV6.to_string()),
    );
    note("TAYGA, bulk TCP", bulk(effort, &Tayga, embedded()));
    note("kernel, IPv6, ping", round_trip());
    note(
        "unbound dns64",
        DnsPair::start(&UNBOUND)
            .and_then(|pair| pair.measure(effort.window))
            .map(|value| Figure::new(&UNBOUND.name(), value, "queries/s")),
    );
}

fn packets(effort: &Effort, device: &dyn Device, load: &Load) -> Result<Figure> {
    let mut path = Path::build(device, load)?;
    let rate = path.rate(effort.warm_up, effort.window, Pace::Full)?;
    Ok(Figure::new(path.name(), rate.received, "packets/s"))
}

fn delivered(effort: &Effort, load: &Load) -> Result<Figure> {
    let mut path = Path::build(&Tayga, load)?;
    let best = path.best_delivery(effort.window / 2)?;
    Ok(Figure::new(path.name(), best, "packets/s"))
}

fn bulk(effort: &Effort, device: &dyn Device, destination: String) -> Result<Figure> {
    let rate = Bulk::start(device, destination)?.measure(effort)?;
    Ok(Figure::new(&device.name(), rate, "bit/s"))
}

fn round_trip() -> Result<Figure> {
    let network = Topology::dual_stack(Neighbours::Static, Offloads::Off).build()?;
    let time = tools::median_round_trip(network.host6()?, &plan::HOST4_AS_IPV6.to_string())?;
    Ok(Figure::new(&Forwarding.name(), time, "us"))
}
