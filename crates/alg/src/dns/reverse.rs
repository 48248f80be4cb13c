//! Names of addresses, from one tree to the other (RFC 1035 section 3.5, RFC 3596 section 2.5; RFC 2766 section 4.1 has
//! the older ip6.int).

use std::net::IpAddr;

use hickory_proto::rr::Name;

use crate::{Direction, Translator};

/// The name of the address that stands for the one of a name on the other side. `None` if there is none.
pub(super) fn other(
    name: &Name,
    direction: Direction,
    translator: &mut dyn Translator,
) -> Option<Name> {
    let net = name.parse_arpa_name().ok()?;
    let whole = net.prefix_len() == net.max_prefix_len();
    let other = match (net.addr(), direction) {
        _ if !whole => None,
        (IpAddr::V6(address), Direction::Out) => {
            let v4 = translator.prefix().extract(address.into())?;
            Some(IpAddr::V4(v4.into()))
        }
        (IpAddr::V4(address), Direction::In) => translator.inside(address).map(IpAddr::V6),
        _ => None,
    };
    other.map(Name::from)
}
