//! The bound model against tables that were calculated separately, figures of RFCs, delays calculated by hand, and
//! properties of every path.

mod hand;
mod properties;
mod rfcs;
mod rows;
mod vectors;

use isthmus_lab::figures::bound::{
    MECHANISMS, Mechanism, Mtu, Path, Payload, Rate, TcpOptions, Transport,
};

const TCP: Transport = Transport::Tcp(TcpOptions::None);
const TIMESTAMPS: Transport = Transport::Tcp(TcpOptions::Timestamps);

fn megabits(rate: u64) -> Rate {
    Rate::new(rate * 1_000_000).unwrap()
}

fn bytes(payload: u32) -> Payload {
    Payload::new(payload).unwrap()
}

/// Returns a mechanism's path at 10 Mb/s with Ethernet's MTU.
fn path(name: &str) -> Path {
    path_at(name, 10)
}

fn path_at(name: &str, rate: u64) -> Path {
    let mechanism = Mechanism::named(name).unwrap_or_else(|| panic!("no mechanism {name}"));
    mechanism.path(megabits(rate), Mtu::ETHERNET)
}

/// Formats bits per second as in the tables.
fn in_megabits(value: f64) -> String {
    format!("{:.4}", value / 1e6)
}

/// The page describes every mechanism's path.
#[test]
fn the_page_names_every_mechanism() {
    let page = include_str!("../../../../../docs/bound.md");
    for mechanism in MECHANISMS {
        let name = format!("`{}`", mechanism.name);
        assert!(page.contains(&name), "docs/bound.md misses {name}");
    }
}
