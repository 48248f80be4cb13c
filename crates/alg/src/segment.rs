//! A TCP segment in an IPv6 packet.

use std::net::SocketAddrV6;

use isthmus_core::wire::{ipv6, protocol, tcp};

use crate::packet::{self, long, put};

/// Where a TCP header has its fields (RFC 9293 section 3.1).
const SEQUENCE: usize = 4;
const ACKNOWLEDGEMENT: usize = 8;
const OFFSET: usize = 12;
const FLAGS: usize = 13;
const URGENT: usize = 18;
const URG: u8 = 0x20;
const FIN: u8 = 0x01;

/// The options that matter (RFC 9293 section 3.1, RFC 2018 section 2).
const END: u8 = 0;
const NOTHING: u8 = 1;
const SACK_PERMITTED: u8 = 4;

/// A segment, as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    headers: &'a [u8],
    pub(crate) source: SocketAddrV6,
    pub(crate) destination: SocketAddrV6,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    flags: u8,
    pub(crate) payload: &'a [u8],
    /// Whether some of its payload was taken off.
    is_cut: bool,
}

impl<'a> Segment<'a> {
    /// Reads a packet. `None` if it is another one, or not whole.
    pub(crate) fn read(packet: &'a [u8]) -> Option<Self> {
        let ([source, destination], transport) = packet::open(packet, protocol::TCP)?;
        let header = usize::from(transport.get(OFFSET)? >> 4) * 4;
        if header < tcp::HEADER {
            return None;
        }
        Some(Self {
            headers: packet.get(..ipv6::HEADER + header)?,
            source,
            destination,
            sequence: long(transport, SEQUENCE),
            acknowledgement: long(transport, ACKNOWLEDGEMENT),
            flags: transport[FLAGS],
            payload: transport.get(header..)?,
            is_cut: false,
        })
    }

    pub(crate) const fn opens(&self) -> bool {
        self.flags & 0x02 != 0
    }

    pub(crate) const fn resets(&self) -> bool {
        self.flags & 0x04 != 0
    }

    /// Whether its sender has nothing to say after it.
    pub(crate) const fn ends(&self) -> bool {
        self.flags & FIN != 0
    }

    /// Its first octets alone, as if it had not come whole: its sender sends the others again.
    pub(crate) fn cut(self, octets: usize) -> Self {
        Self {
            payload: &self.payload[..octets],
            is_cut: octets < self.payload.len() || self.is_cut,
            ..self
        }
    }

    pub(crate) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The same with other numbers and another payload. It has no urgent data (RFC 6384 section 5), and permits no selective
    /// acknowledgement, whose numbers would have to be changed as well. `None` if it is longer than a packet can be.
    pub(crate) fn with(
        &self,
        sequence: u32,
        acknowledgement: u32,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let mut packet = [self.headers, payload].concat();
        let (header, _) = packet
            .get_mut(ipv6::HEADER..)?
            .split_at_mut(self.headers.len() - ipv6::HEADER);
        put(header, SEQUENCE, &sequence.to_be_bytes());
        put(header, ACKNOWLEDGEMENT, &acknowledgement.to_be_bytes());
        header[FLAGS] &= !URG;
        if self.is_cut {
            // The end is behind what is missing.
            header[FLAGS] &= !FIN;
        }
        put(header, URGENT, &[0, 0]);
        without_sack(&mut header[tcp::HEADER..]);
        packet::finish(&mut packet, tcp::CHECKSUM)?;
        Some(packet)
    }
}

/// Overwrites the option that permits selective acknowledgements.
fn without_sack(mut options: &mut [u8]) {
    while let [kind, rest @ ..] = options {
        let length = match (*kind, rest.first()) {
            (END, _) => return,
            (NOTHING, _) => 1,
            (_, Some(length)) => usize::from(*length).max(2),
            (_, None) => return,
        };
        let Some((option, others)) = options.split_at_mut_checked(length) else {
            return;
        };
        if option[0] == SACK_PERMITTED {
            option.fill(NOTHING);
        }
        options = others;
    }
}
