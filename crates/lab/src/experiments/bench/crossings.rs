//! Rows of small packets through tunnels and shared addresses in XDP, one for each direction.
//!
//! The addresses are those of [`plan`]: customers have networks under `2001:db8:5::/48`. Where the gateway is a CE,
//! its provider has `2001:db8:7::/48`. The IPv4 ends of tunnels that carry IPv6 are in the network for benchmarks
//! (RFC 2544).

pub(super) mod instances;

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use self::instances::{
    AFTR, B4, CLAT, FOUR_IN_SIX, LWAFTR, LWB4, MAP_E_BR, MAP_E_CE, MAP_E_HUB, MAP_T_BR, MAP_T_CE,
    MAP_T_HUB, NAT44, ROOMY_CLAT, SIX_IN_FOUR, SIX_RD_BR, SIX_RD_CE, SIX_TO_FOUR, SOFTWIRES, psid,
    softwire,
};
use super::packets::{OPENED, after};
use crate::{
    LabError, Result,
    network::{
        device::{Device, Started},
        plan::{self, GATEWAY4, GATEWAY4_AS_IPV6, HOST4, HOST4_AS_IPV6, HOST6, HOST6_AS_IPV4},
    },
    subjects::isthmus::{self, Engine, Instance, Isthmus, Mechanism},
    traffic::{
        generator::{FIRST_PORT, Order, PORT},
        packet::{
            Ends::{self, V4, V6},
            Form, Packet,
        },
        path::{
            Load, Path,
            Side::{self, Four, Six},
        },
    },
};

/// The flows of most rows; at a BR, each belongs to another customer.
const FLOWS: u32 = 1000;

/// A direction through a mechanism.
#[derive(Debug)]
pub(super) struct Crossing {
    /// The row's name.
    pub(super) row: &'static str,
    /// The target as a multiple of the kernel's forwarding.
    pub(super) target: f64,
    instance: &'static Instance,
    side: Side,
    packets: Packets,
    arrives: Form,
    flows: u32,
    order: Order,
}

/// The packets of flows.
#[derive(Debug)]
enum Packets {
    /// The packet of the flow with this number.
    Of(fn(u32) -> Packet),
    /// Answers to the flow's packets, from its address and port outside the NAT.
    Answers(fn((Ipv4Addr, u16)) -> Packet, fn(u32) -> Packet, Form),
}
use Packets::{Answers, Of};

const fn crossing(
    row: &'static str,
    target: f64,
    instance: &'static Instance,
    side: Side,
    packets: Packets,
    arrives: Form,
) -> Crossing {
    Crossing {
        row,
        target,
        instance,
        side,
        packets,
        arrives,
        flows: FLOWS,
        order: Order::Sequence,
    }
}

impl Crossing {
    /// Changes it to a million flows in random order.
    const fn a_million(mut self) -> Self {
        self.flows = SOFTWIRES;
        self.order = Order::Random;
        self
    }
}

/// All crossings.
#[rustfmt::skip]
pub(super) static CROSSINGS: [Crossing; 32] = [
    crossing("6in4-encap-xdp", 3.0, &SIX_IN_FOUR, Six,
        Of(|n| out(V6(HOST6, BEHIND_V4), n)), Form::SixInFour),
    crossing("6in4-decap-xdp", 3.0, &SIX_IN_FOUR, Four,
        Of(|n| back(V6(BEHIND_V4, HOST6), port(n)).within(V4(HOST4, GATEWAY4))), Form::V6),
    crossing("4in6-encap-xdp", 3.0, &FOUR_IN_SIX, Six,
        Of(|n| out(V4(HOST6_AS_IPV4, BEHIND_V6), n)), Form::FourInSix),
    crossing("4in6-decap-xdp", 3.0, &FOUR_IN_SIX, Four,
        Of(|n| back(V4(BEHIND_V6, HOST6_AS_IPV4), port(n))
            .within(V6(HOST4_AS_IPV6, GATEWAY4_AS_IPV6))), Form::V4),
    crossing("6rd-br-encap-xdp", 3.0, &SIX_RD_BR, Six,
        Of(|n| back(V6(HOST6, sixrd(site(n))), port(n))), Form::SixInFour),
    crossing("6rd-br-decap-xdp", 3.0, &SIX_RD_BR, Four,
        Of(|n| out(V6(sixrd(site(n)), HOST6), n).within(V4(site(n), BR_V4))), Form::V6),
    crossing("6rd-ce-encap-xdp", 2.0, &SIX_RD_CE, Six,
        Of(|n| out(V6(sixrd(CE_V4), SERVER), n)), Form::SixInFour),
    crossing("6rd-ce-decap-xdp", 2.0, &SIX_RD_CE, Four,
        Of(|n| back(V6(SERVER, sixrd(CE_V4)), port(n)).within(V4(BR_V4, CE_V4))), Form::V6),
    crossing("6to4-router-encap-xdp", 3.0, &SIX_TO_FOUR, Six,
        Of(|n| out(V6(six_to_four(CE_V4), six_to_four(site(n))), n)), Form::SixInFour),
    crossing("6to4-router-decap-xdp", 3.0, &SIX_TO_FOUR, Four,
        Of(|n| back(V6(six_to_four(site(n)), six_to_four(CE_V4)), port(n))
            .within(V4(site(n), CE_V4))), Form::V6),
    crossing("ds-lite-aftr-decap-xdp", 2.0, &AFTR, Six, Of(b4), Form::V4),
    crossing("ds-lite-aftr-encap-xdp", 2.0, &AFTR, Four,
        Answers(|(address, port)| back(V4(HOST4, address), port), b4, Form::V4), Form::FourInSix),
    crossing("ds-lite-b4-encap-xdp", 2.0, &B4, Six, Of(host), Form::FourInSix),
    crossing("ds-lite-b4-decap-xdp", 2.0, &B4, Four,
        Of(|n| back(V4(HOST4, HOST6_AS_IPV4), port(n)).within(V6(SERVER, CE))), Form::V4),
    crossing("map-e-br-encap-xdp", 2.5, &MAP_E_BR, Four,
        Of(|n| back(V4(HOST4, ce_v4(n)), ce_port(n))), Form::FourInSix),
    crossing("map-e-br-decap-xdp", 2.5, &MAP_E_BR, Six,
        Of(|n| Packet::new(V4(ce_v4(n), HOST4), (ce_port(n), PORT))
            .within(V6(ce_v6(n), BR))), Form::V4),
    crossing("map-e-br-hairpin-xdp", 2.0, &MAP_E_HUB, Four,
        Of(|n| Packet::new(V4(ce_v4(n), ce_v4(n)), (psid(n) << 8 | 1, PORT)).within(V6(ce_v6(n), BR))),
        Form::FourInSix),
    crossing("map-e-ce-encap-xdp", 2.0, &MAP_E_CE, Six, Of(host), Form::FourInSix),
    crossing("map-e-ce-decap-xdp", 2.0, &MAP_E_CE, Four,
        Answers(|outside| through(MAP_CE, outside), host, Form::FourInSix), Form::V4),
    crossing("map-t-br-4to6-xdp", 2.5, &MAP_T_BR, Four,
        Of(|n| back(V4(HOST4, ce_v4(n)), ce_port(n))), Form::V6),
    crossing("map-t-br-6to4-xdp", 2.5, &MAP_T_BR, Six,
        Of(|n| Packet::new(V6(ce_v6(n), plan::embed(HOST4)), (ce_port(n), PORT))),
        Form::V4),
    crossing("map-t-br-hairpin-xdp", 2.0, &MAP_T_HUB, Four,
        Of(|n| Packet::new(V6(ce_v6(n), plan::embed(ce_v4(n))), (psid(n) << 8 | 1, PORT))),
        Form::V6),
    crossing("map-t-ce-4to6-xdp", 2.0, &MAP_T_CE, Six, Of(host), Form::V6),
    crossing("map-t-ce-6to4-xdp", 2.0, &MAP_T_CE, Four,
        Answers(|(_, port)| back(V6(EMBEDDED, MAP_CE), port), host, Form::V6), Form::V4),
    crossing("lw4o6-br-encap-xdp-1m", 2.5, &LWAFTR, Four,
        Of(|n| back(V4(HOST4, softwire(n).0), softwire_port(n))), Form::FourInSix).a_million(),
    crossing("lw4o6-br-decap-xdp-1m", 2.5, &LWAFTR, Six,
        Of(|n| Packet::new(V4(softwire(n).0, HOST4), (softwire_port(n), PORT))
            .within(V6(softwire(n).1, BR))), Form::V4).a_million(),
    crossing("lw4o6-b4-encap-xdp", 2.0, &LWB4, Six, Of(host), Form::FourInSix),
    crossing("lw4o6-b4-decap-xdp", 2.0, &LWB4, Four,
        Answers(|outside| through(CE, outside), host, Form::FourInSix), Form::V4),
    crossing("clat-4to6-xdp", 2.0, &CLAT, Six, Of(host), Form::V6),
    crossing("clat-6to4-xdp", 2.0, &CLAT, Four,
        Answers(|(_, port)| back(V6(EMBEDDED, CE), port), host, Form::V6), Form::V4),
    crossing("nat44-out-xdp", 2.5, &NAT44, Six, Of(host), Form::V4),
    crossing("nat44-back-xdp", 2.5, &NAT44, Four,
        Answers(|(address, port)| back(V4(HOST4, address), port), host, Form::V4), Form::V4),
];

/// Hosts behind the other ends of tunnels.
const BEHIND_V4: Ipv6Addr = Ipv6Addr::new(0x3fff, 0x200, 0, 0, 0, 0, 0, 1);
const BEHIND_V6: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

/// The IPv4 addresses of the gateway as a CE, and of the BR.
const CE_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 200);
const BR_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// Returns the IPv4 address of another CE, or of another site.
fn site(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 1, 0).to_bits() + number)
}

/// Returns a host in the prefix that 6rd delegates to the CE with an address.
fn sixrd(ce: Ipv4Addr) -> Ipv6Addr {
    let [_, _, high, low] = ce.octets();
    let delegated = u16::from_be_bytes([high, low]);
    Ipv6Addr::new(0x3fff, 0x100, delegated, 0, 0, 0, 0, 6)
}

/// Returns a host in the 6to4 prefix of a site's address (RFC 3056 section 2).
fn six_to_four(site: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = site.octets();
    let [high, low] = [[a, b], [c, d]].map(u16::from_be_bytes);
    Ipv6Addr::new(0x2002, high, low, 1, 0, 0, 0, 6)
}

/// The gateway's address as a BR, and as a CE.
const BR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 8, 0, 0, 0, 0, 1);
const CE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 5, 0xa, 0, 0, 0, 1);
/// The BR of the gateway as a CE.
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 1);
/// `HOST4` in the IPv6 of a CE that translates.
const EMBEDDED: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0xc633, 0x6404);

/// Returns a packet of the B4 with this number. All hosts behind B4s have the same IPv4 address.
fn b4(number: u32) -> Packet {
    behind_b4(number, number)
}

/// Returns a packet of a flow behind the B4 with this number.
fn behind_b4(number: u32, flow: u32) -> Packet {
    let private = Ipv4Addr::new(192, 168, 1, 2);
    out(V4(private, HOST4), flow).within(V6(plan::subscriber(number), BR))
}

/// Returns the IPv4 address of the CE with this number, by the rule of the BR: 256 CEs share one.
fn ce_v4(number: u32) -> Ipv4Addr {
    Ipv4Addr::new(203, 0, 113, (number >> 8) as u8)
}

/// Returns a port of that CE: after an offset of 6 bits, 8 bits of PSID (RFC 7597 section 5.1).
fn ce_port(number: u32) -> u16 {
    1 << 10 | psid(number) << 2
}

/// Returns the MAP IPv6 address of that CE (RFC 7597 section 6).
fn ce_v6(number: u32) -> Ipv6Addr {
    let [a, b, c, d] = ce_v4(number).octets();
    let [high, low] = [[a, b], [c, d]].map(u16::from_be_bytes);
    let ea = u16::from(d) << 8 | psid(number);
    Ipv6Addr::new(0x2001, 0xdb8, 5, ea, 0, high, low, psid(number))
}

/// The address of the CEs of MAP: 203.0.113.18 and PSID 3. There are only 16 PSIDs, so that there are ports for all
/// flows.
const MAP_CE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 5, 0x1230, 0, 0xcb00, 0x7112, 3);

/// Returns a port of that softwire, by the same rule.
fn softwire_port(number: u32) -> u16 {
    ce_port(number)
}

/// Returns a packet from the IPv4 host behind a CE.
fn host(number: u32) -> Packet {
    out(V4(HOST6_AS_IPV4, HOST4), number)
}

/// Returns an answer through a softwire to a CE's address and port outside.
fn through(ce: Ipv6Addr, (address, port): (Ipv4Addr, u16)) -> Packet {
    back(V4(HOST4, address), port).within(V6(SERVER, ce))
}

/// Returns the port of a flow's own end.
fn port(number: u32) -> u16 {
    FIRST_PORT + number as u16
}

/// Returns a packet from a flow's own end.
fn out(ends: Ends, number: u32) -> Packet {
    Packet::new(ends, (port(number), PORT))
}

/// Returns a packet to a port of a flow's own end.
fn back(ends: Ends, port: u16) -> Packet {
    Packet::new(ends, (PORT, port))
}

impl Crossing {
    /// Returns the path, with established sessions where there are some.
    pub(super) fn path(&self) -> Result<Path> {
        self.path_through(&self.gateway())
    }

    /// Returns the path through another device.
    pub(super) fn path_through(&self, device: &dyn Device) -> Result<Path> {
        self.cross(|load| Path::build(device, load))
    }

    /// Returns the path, through the gateway of the path before it if that is the same.
    pub(super) fn path_after(&self, last: Option<Path>) -> Result<Path> {
        self.cross(|load| after(last, &self.gateway(), load))
    }

    fn gateway(&self) -> Isthmus {
        Isthmus::new(Engine::Xdp, Mechanism::Other(*self.instance))
    }

    /// Returns the path that `begin` makes for the first load, with the load of the row.
    fn cross(&self, begin: impl FnOnce(&Load) -> Result<Path>) -> Result<Path> {
        match self.packets {
            Of(packet) => {
                let mut path = begin(&self.load(self.flows, packet))?;
                path.set_order(self.order)?;
                Ok(path)
            }
            Answers(packet, opening, arrives) => {
                let opposite = match self.side {
                    Six => Four,
                    Four => Six,
                };
                let opening = Load {
                    side: opposite,
                    packets: (0..self.flows).map(opening).collect(),
                    arrives,
                };
                let path = begin(&opening)?;
                let outside = outside(path.started())?;
                let packet = |flow| packet(outside[flow as usize]);
                path.turn(&self.load(outside.len() as u32, packet))
            }
        }
    }

    fn load(&self, flows: u32, packet: impl FnMut(u32) -> Packet) -> Load {
        Load {
            side: self.side,
            packets: (0..flows).map(packet).collect(),
            arrives: self.arrives,
        }
    }
}

/// Returns the path of a CLAT in XDP, where each of the first [`OPENED`] frames beyond those of the check opens a session. A
/// thousand sessions have a port: it has one address, whose ports would soon be hard to find.
pub(super) fn opening() -> Result<Path> {
    let clat = Isthmus::new(Engine::Xdp, Mechanism::Other(ROOMY_CLAT));
    let load = Load {
        side: Six,
        packets: (0..OPENED)
            .map(|n| out(V4(HOST6_AS_IPV4, site(n % 1000)), n / 1000))
            .collect(),
        arrives: Form::V6,
    };
    Path::build(&clat, &load)
}

/// Returns the path of an AFTR in XDP, where each of the first [`OPENED`] frames beyond those of the check opens a session of
/// one of a thousand softwires.
pub(super) fn opening_in_softwires() -> Result<Path> {
    let aftr = Isthmus::new(Engine::Xdp, Mechanism::Other(AFTR));
    let load = Load {
        side: Six,
        packets: (0..OPENED).map(|n| behind_b4(n % 1000, n / 1000)).collect(),
        arrives: Form::V4,
    };
    Path::build(&aftr, &load)
}

/// Returns the outside addresses and ports of a gateway's sessions.
fn outside(gateway: &Started) -> Result<Vec<(Ipv4Addr, u16)>> {
    let output = isthmus::ask(gateway, &["sessions", "--json"])?;
    let endpoint = |line: &str| {
        let session: Value = serde_json::from_str(line).ok()?;
        let address = session["outside-address"].as_str()?.parse().ok()?;
        let port = session["outside-port"].as_u64()?.try_into().ok()?;
        Some((address, port))
    };
    let all: Option<Vec<_>> = output.lines().map(endpoint).collect();
    match all {
        Some(all) if !all.is_empty() => Ok(all),
        _ => Err(LabError::Output {
            tool: "isthmus sessions",
            output,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7597 appendix A, example 1, with our rule in its place: PSID 0x34 of the address that ends with 18.
    #[test]
    fn a_customer_of_map_has_the_address_that_the_rule_gives() {
        let number = 18 << 8 | 0x34;
        assert_eq!(ce_v6(number).to_string(), "2001:db8:5:1234:0:cb00:7112:34");
        assert_eq!(ce_port(number), 1232);
    }

    /// RFC 3056 section 2, and RFC 5969 section 7.1.1 with this domain.
    #[test]
    fn prefixes_embed_addresses() {
        assert_eq!(six_to_four(CE_V4).to_string(), "2002:c612:c8:1::6");
        assert_eq!(sixrd(CE_V4).to_string(), "3fff:100:c8::6");
    }

    #[test]
    fn every_row_has_a_unique_name() {
        let names: std::collections::BTreeSet<_> = CROSSINGS.iter().map(|c| c.row).collect();
        assert_eq!(names.len(), CROSSINGS.len());
    }
}
