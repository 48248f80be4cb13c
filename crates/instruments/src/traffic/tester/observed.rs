//! Addresses and ports of frames as they arrive. By them a responder can answer through a device that changes them
//! (RFC 9693).

use std::net::{Ipv4Addr, Ipv6Addr};

use aya::maps::{Array, MapData};
use isthmus_abi::lab::receiver::{TUPLES, Tuple};

use crate::{
    Result,
    network::programs::bpf,
    traffic::packet::{Ends, Packet},
};

/// The family of a frame's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The addresses and ports of each frame of a trial, as they lie in the frame.
pub struct Tuples {
    pub(super) family: Family,
    pub(super) observed: Array<MapData, Tuple>,
}

impl Tuples {
    /// Returns a packet in answer to each frame that arrived, in the order in which they were sent.
    pub fn answers(&self) -> Result<Vec<Packet>> {
        let mut answers = Vec::new();
        for words in self.observed.iter() {
            let words = words.map_err(|problem| bpf(TUPLES, problem))?;
            answers.extend(answer(self.family, words));
        }
        Ok(answers)
    }
}

/// The answer to a frame; nothing if none arrived.
fn answer(family: Family, words: Tuple) -> Option<Packet> {
    let octets: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let port = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
    let (ends, ports) = match family {
        Family::V4 => {
            let address = |at: usize| {
                octets[at..]
                    .first_chunk()
                    .copied()
                    .map(<Ipv4Addr as From<[u8; 4]>>::from)
            };
            (Ends::V4(address(4)?, address(0)?), 8)
        }
        Family::V6 => {
            let address = |at: usize| {
                octets[at..]
                    .first_chunk()
                    .copied()
                    .map(<Ipv6Addr as From<[u8; 16]>>::from)
            };
            (Ends::V6(address(16)?, address(0)?), 32)
        }
    };
    let ports = (port(ports + 2), port(ports));
    (ports != (0, 0)).then(|| Packet::new(ends, ports))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame of a packet from its addresses on, as the program keeps it.
    fn kept(packet: Packet, at: usize, octets: usize) -> Tuple {
        let frame = packet.frame(0, [0; 6], [0; 6]);
        let mut words = [0; 9];
        let kept = frame[at..at + octets].chunks_exact(4);
        for (word, octets) in words.iter_mut().zip(kept) {
            *word = u32::from_ne_bytes([octets[0], octets[1], octets[2], octets[3]]);
        }
        words
    }

    #[test]
    fn an_answer_goes_back() {
        let (one, other) = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 19, 0, 2));
        let words = kept(Packet::new(Ends::V4(one, other), (1024, 9)), 26, 12);
        let back = Packet::new(Ends::V4(other, one), (9, 1024));
        assert_eq!(answer(Family::V4, words), Some(back));

        let (one, other) = (one.to_ipv6_mapped(), other.to_ipv6_compatible());
        let words = kept(Packet::new(Ends::V6(one, other), (1024, 9)), 22, 36);
        let back = Packet::new(Ends::V6(other, one), (9, 1024));
        assert_eq!(answer(Family::V6, words), Some(back));
    }

    #[test]
    fn nothing_is_not_answered() {
        assert_eq!(answer(Family::V4, [0; _]), None);
    }
}
