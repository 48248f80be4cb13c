//! The links are wide enough.

use isthmus_core::config::AnyMechanism;

use super::facts::Link;
use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::Mechanism;

pub(super) const CHECK: Check = Check {
    name: "mtu",
    about: "a link below 1280 bytes where IPv6 runs, or below 1300 where IPv4 carries it",
    depth: Depth::Start,
    look,
};

/// The least MTU of IPv6 (RFC 8200 section 5).
const IPV6: u32 = 1280;
/// An IPv4 header.
const IPV4_HEADER: u32 = 20;

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let facts = case.facts;
    let interfaces = case.document().interfaces.iter();
    let links = interfaces.filter_map(|one| facts.link(&one.name.value));
    let tunnelled = carries_v6_in_v4(case);
    let defect = |link: &Link| {
        let mut addresses = facts.addresses_of(link);
        // The kernel takes IPv6 away from a link that is too narrow for it.
        let has_v4 = addresses.any(|one| one.network.addr().is_ipv4());
        let (least, why) = match (has_v4, tunnelled) {
            (false, _) => (
                IPV6,
                "IPv6 does not run on a link below 1280 bytes (RFC 8200 section 5)",
            ),
            (true, true) => (
                IPV6 + IPV4_HEADER,
                "IPv6 packets of 1280 bytes, which every path must carry, do not fit with an IPv4 header (RFC 4213 \
                 section 3.2)",
            ),
            (true, false) => return None,
        };
        (link.mtu < least).then(|| {
            let name = &link.name;
            Defect::new(
                format!("the MTU of {name} is {}", link.mtu),
                why,
                Remedy::command(format!("ip link set dev {name} mtu {least}")),
            )
        })
    };
    Ok(links.filter_map(defect).collect())
}

fn carries_v6_in_v4(case: &Case<'_>) -> bool {
    let mut instances = case.document().instances.iter();
    instances.any(|instance| match &instance.mechanism {
        Mechanism::Composed(composed) => {
            matches!(composed.core, AnyMechanism::SixInFour(_))
        }
        Mechanism::Siit(_) | Mechanism::Nat64(_) | Mechanism::Nat44(_) => false,
    })
}
