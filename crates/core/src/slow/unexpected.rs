//! Unsolicited TCP connections from outside. The inside host may open the same connection a moment later,
//! so such a SYN is answered late (RFC 5382 section 4.3, RFC 6146 section 3.5.2.2).

use super::leading_words;
use crate::host::Host;
use crate::mechanism::{Instances, Mechanism};
use crate::nat::{self, Endpoint4, Protocol, TcpFlags};
use crate::time::Span;
use crate::wire::{ipv4, protocol};

/// How long the answer waits (RFC 5382 section 4.3, REQ-4; TCP_INCOMING_SYN of RFC 6146 section 4).
pub const WAIT: Span = Span::from_secs(6);

/// The instance in whose name a SYN is to be answered now; `None` if the inside host opened the same
/// connection meanwhile, which is a simultaneous open, if the SYN belongs to no instance any more, or if
/// it has an acknowledgement: then it opens no connection.
///
/// `packet` is the IPv4 packet as it came.
pub fn answered_by<H: Host, I: Instances + ?Sized>(
    host: &H,
    instances: &I,
    packet: &[u8],
) -> Option<u32> {
    let header = ipv4::Header(leading_words(packet)?);
    let segment = packet.get(header.header_length()..)?.first_chunk::<14>()?;
    let flags = TcpFlags(segment[13]);
    if header.protocol() != protocol::TCP || flags.has(TcpFlags::ACK) {
        return None;
    }
    let endpoint = |address, high, low| Endpoint4 {
        address,
        port: u16::from_be_bytes([high, low]),
    };
    let remote = endpoint(header.source(), segment[0], segment[1]);
    let outside = endpoint(header.destination(), segment[2], segment[3]);
    let mut index = 0;
    while let Some(instance) = instances.get(index) {
        if let Some(nat) = instance.mechanism.nat()
            && nat.owns(outside.address)
        {
            let open = nat::is_open(host, nat, outside, remote, Protocol::Tcp);
            return (!open).then_some(index);
        }
        index += 1;
    }
    None
}
