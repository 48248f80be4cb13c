//! The ICMP error that the sender of a packet gets. To a host in a private softwire, whose addresses have a meaning only
//! within it (RFC 6333), the error returns through the softwire.

use super::icmp_error::{self, LONGEST_V6};
use super::{leading_words, segment};
use crate::config::Instance;
use crate::encap::four_in_six;
use crate::verdict::IcmpError;
use crate::wire::ipv6;
use crate::wire::tuple::Ends;
use crate::word::Word;

/// An error, ready to be sent.
#[derive(Debug)]
pub struct Reply {
    outer: Option<[u8; ipv6::HEADER]>,
    message: [u8; LONGEST_V6],
    length: usize,
}

impl Reply {
    /// The error about a packet of this instance; `None` if nobody may be told.
    #[must_use]
    pub fn new(original: &[u8], error: IcmpError, instance: &Instance) -> Option<Self> {
        let (outer, original) = match private_softwire(original, error, instance) {
            Some((outer, inner)) => (Some(outer), inner),
            None => (None, original),
        };
        let mut message = [0; LONGEST_V6];
        let length = icmp_error::build(original, error, &instance.policy, &mut message)?;
        let outer = outer.map(|outer| {
            let ends = Ends {
                source: outer.destination(),
                destination: outer.source(),
            };
            let mut bytes = [0; ipv6::HEADER];
            let words = four_in_six::outer(ends, 0, length as u16).0;
            bytes.copy_from_slice(words.map(Word::bytes).as_flattened());
            bytes
        });
        Some(Self {
            outer,
            message,
            length,
        })
    }

    /// The header of the softwire that it returns through, or nothing.
    #[must_use]
    pub fn outer(&self) -> &[u8] {
        self.outer.as_ref().map_or(&[], |outer| outer)
    }

    /// The IP packet with the error.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        &self.message[..self.length]
    }
}

/// The outer header and the inner packet of a packet in a private softwire. `None` for others, and for an error about the
/// outer packet.
fn private_softwire<'a>(
    packet: &'a [u8],
    error: IcmpError,
    instance: &Instance,
) -> Option<(ipv6::Header, &'a [u8])> {
    if !instance.mechanism.private_softwires()
        || matches!(error, IcmpError::ParameterProblem(_))
        || packet.first()? >> 4 != 6
    {
        return None;
    }
    let outer = ipv6::Header(leading_words(packet)?);
    Some((outer, packet.get(segment::carried(packet)?..)?))
}
