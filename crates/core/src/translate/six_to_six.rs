//! From IPv6 to IPv6: a [hairpin](crate::packet::Hairpins), translated to IPv4 and back at once (RFC 6146 section 3.8, RFC
//! 7757 section 4.2.2). Both halves follow the rules of [`six_to_four`](super::six_to_four) and
//! [`four_to_six`](super::four_to_six); the IPv4 packet between them is a header and a tuple that nobody writes.

use super::four_to_six::check_size;
use super::{headers_v4, headers_v6, mss, patch_transport, pseudo_header};
use crate::address::{V4, V6};
use crate::checksum::Change;
use crate::host::Host;
use crate::incoming::v6;
use crate::mechanism::crossing::Translator;
use crate::mechanism::{Seen, passage, stateful};
use crate::packet::{Family, Packet, Truncated};
use crate::policy::Policy;
use crate::reason::Counter;
use crate::verdict::{Refusal, Verdict};
use crate::wire::ipv4;
use crate::wire::tuple::Tuple;

/// Translates a packet back that [`six_to_four`](super::six_to_four) has mapped from `old` to `mapped`, which is for an address
/// of the same instance.
///
/// # Errors
/// The packet is not to be sent on from here; it is unchanged then.
#[inline(always)]
pub(super) fn turn<P: Packet, H: Host, M: Translator>(
    packet: &mut P,
    host: &mut H,
    mechanism: &M,
    policy: &Policy,
    incoming: &v6::Incoming,
    (old, mapped): (&Tuple<V6>, &Tuple<V4>),
    mss: mss::Place,
) -> Result<Verdict, Refusal> {
    let transport = &incoming.transport;
    let between = &passage::between_halves(host, mapped);
    // The second half is mapped before all other checks: the verifier of BPF goes through it once for each outcome of one.
    let new = mechanism.turn_back(host, Seen::outer(policy, between, transport))?;
    let ends = (between.source, between.destination);
    let mut fields = headers_v4::headers(policy, incoming, ends, transport.length);
    fields.ttl -= 1;
    let header = ipv4::Header::from(fields);
    let ends = (new.source, new.destination);
    let out = headers_v6::headers(policy, &header, ends, transport.length);
    // User space knows no more of the link than this when it decides in the first half.
    let link = headers_v6::link_mtu(host, policy, &out.fields)?.min(policy.ipv6_mtu);
    let split = check_size(packet, link, policy, &header, &out, transport)?;
    stateful::carried_out(host, mechanism.counting_nat(), transport, between);
    stateful::carried_back(host, mechanism.counting_nat(), transport, between);

    let (at, family) = (out.headers_length(), Family::V6);
    packet.replace_front(transport.at, at, family)?;
    let most = mss::between(policy.ipv4_mtu, link);
    (|| {
        let lowered = mss::lower(packet, at, mss, most)?;
        out.write(packet, 0)?;
        let change = Change {
            pseudo: pseudo_header(old, &new),
            content: lowered + super::set_ports(packet, at, transport.first, &new)?,
        };
        patch_transport(packet, at, transport.content, change)
    })()
    .map_err(|Truncated| Refusal::Drop(Counter::EngineError))?;
    for counter in [
        Counter::Translated4To6,
        Counter::Translated6To4,
        Counter::Hairpinned,
    ] {
        host.count(counter);
    }
    Ok(Verdict::Forward { family, split })
}
