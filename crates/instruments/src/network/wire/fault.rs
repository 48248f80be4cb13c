//! Deliberate faults of a cable, by which the tester is tested.

use std::{num::NonZeroU32, time::Duration};

use crate::network::random::splitmix;

/// A fault of some of the frames of a direction. The frame occupies the wire in any case; the fault is at the far
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The fault.
    pub what: What,
    /// The frames that have it.
    pub when: When,
}

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It is lost.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// The next frame overtakes it. If none comes within ten milliseconds, it arrives.
    Reorder,
    /// The last byte of its UDP payload changes, and the UDP checksum with it: only a receiver that knows the payload
    /// can see it. Frames without a UDP header directly after their IP header do not change.
    Corrupt,
    /// It arrives later by this much, even later than its successors.
    Hold(Duration),
}

/// The frames with a fault, among all of the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Every nth frame, beginning with the nth.
    EveryNth(NonZeroU32),
    /// One in N frames on average, pseudorandom. The same seed gives the same frames.
    OneIn {
        /// The number N.
        frames: NonZeroU32,
        /// The seed.
        seed: u64,
    },
}

impl What {
    /// The number of kinds.
    pub(super) const KINDS: usize = 5;

    /// Returns the index of the kind.
    pub(super) fn kind(self) -> usize {
        match self {
            Self::Drop => 0,
            Self::Duplicate => 1,
            Self::Reorder => 2,
            Self::Corrupt => 3,
            Self::Hold(_) => 4,
        }
    }
}

/// Decides which frames have a fault.
#[derive(Debug)]
pub(super) struct Trigger {
    fault: Fault,
    /// The frames since the last fault, or the state of the random numbers.
    state: u64,
}

impl Trigger {
    pub(super) fn new(fault: Fault) -> Self {
        let state = match fault.when {
            When::EveryNth(_) => 0,
            When::OneIn { seed, .. } => seed,
        };
        Self { fault, state }
    }

    /// Returns the fault of the next frame.
    pub(super) fn next(&mut self) -> Option<What> {
        let strikes = match self.fault.when {
            When::EveryNth(n) => {
                self.state = (self.state + 1) % u64::from(n.get());
                self.state == 0
            }
            When::OneIn { frames, .. } => {
                let chance = u128::from(splitmix(&mut self.state)) * u128::from(frames.get());
                chance >> 64 == 0
            }
        };
        strikes.then_some(self.fault.what)
    }
}

/// Length of Ethernet's header.
const ETHERNET: usize = 14;
/// UDP's number among protocols.
const UDP: u8 = 17;
/// The number of IPv6's fragment header.
const FRAGMENT: u8 = 44;

/// Changes the last byte of a UDP payload, and the checksum so that it fits. Returns false if the frame has no such
/// payload.
pub(super) fn corrupt(frame: &mut [u8]) -> bool {
    let Some((udp, end)) = datagram(frame) else {
        return false;
    };
    let last = end - 1;
    let before = frame[last];
    frame[last] ^= 1;
    let checksum = udp + 6;
    let old = u16::from_be_bytes([frame[checksum], frame[checksum + 1]]);
    if old != 0 {
        let shift = if (last - udp).is_multiple_of(2) { 8 } else { 0 };
        let word = |byte: u8| u16::from(byte) << shift;
        // RFC 1624 section 3, equation 3.
        let sum = u32::from(!old) + u32::from(!word(before)) + u32::from(word(frame[last]));
        let sum = (sum & 0xffff) + (sum >> 16);
        let new = match !(((sum & 0xffff) + (sum >> 16)) as u16) {
            0 => 0xffff,
            new => new,
        };
        frame[checksum..checksum + 2].copy_from_slice(&new.to_be_bytes());
    }
    true
}

/// Returns where the UDP header begins and the packet ends, if there is payload between them.
fn datagram(frame: &[u8]) -> Option<(usize, usize)> {
    let word = |place: usize| {
        let octets = frame.get(place..place + 2)?;
        Some(u16::from_be_bytes([octets[0], octets[1]]))
    };
    let (protocol, udp, end) = match word(12)? {
        0x0800 if word(ETHERNET + 6)? & 0x1fff == 0 => {
            let header = usize::from(frame[ETHERNET] & 15) * 4;
            let end = ETHERNET + usize::from(word(ETHERNET + 2)?);
            (*frame.get(ETHERNET + 9)?, ETHERNET + header, end)
        }
        0x86dd => {
            let end = ETHERNET + 40 + usize::from(word(ETHERNET + 4)?);
            match *frame.get(ETHERNET + 6)? {
                FRAGMENT if word(ETHERNET + 42)? & 0xfff8 == 0 => {
                    (*frame.get(ETHERNET + 40)?, ETHERNET + 48, end)
                }
                protocol => (protocol, ETHERNET + 40, end),
            }
        }
        _ => return None,
    };
    (protocol == UDP && udp + 8 < end && end <= frame.len()).then_some((udp, end))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::traffic::packet::{Ends, Packet};

    fn strikes(when: When, frames: usize) -> Vec<usize> {
        let fault = Fault {
            what: What::Drop,
            when,
        };
        let mut trigger = Trigger::new(fault);
        (1..=frames).filter(|_| trigger.next().is_some()).collect()
    }

    fn n(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    #[test]
    fn every_nth_is_every_nth() {
        assert_eq!(strikes(When::EveryNth(n(3)), 10), [3, 6, 9]);
        assert_eq!(strikes(When::EveryNth(n(1)), 3), [1, 2, 3]);
    }

    #[test]
    fn chance_is_as_likely_as_it_says_and_repeats_with_its_seed() {
        let when = |seed| When::OneIn {
            frames: n(100),
            seed,
        };
        let one = strikes(when(1), 1_000_000);
        // 10,000 expected; the standard deviation is 99.5.
        assert!((9500..10500).contains(&one.len()), "{}", one.len());
        assert_eq!(one, strikes(when(1), 1_000_000));
        assert_ne!(one, strikes(when(2), 1_000_000));
    }

    /// Returns the ones' complement sum over pseudo-header, header and payload; 0xffff if the checksum is right (RFC
    /// 1071).
    fn sum(addresses: &[u8], udp: &[u8]) -> u32 {
        let length = (udp.len() as u16).to_be_bytes();
        let mut octets = [addresses, &[0, 17], &length, udp].concat();
        octets.resize(octets.len().next_multiple_of(2), 0);
        let words = octets.chunks(2);
        let sum = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = sum.sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn corruption_changes_one_byte_and_keeps_the_checksum_right() {
        let v4 = Ends::V4(Ipv4Addr::new(192, 0, 2, 6), Ipv4Addr::new(198, 51, 100, 4));
        let host6 = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 6);
        let v6 = Ends::V6(host6, host6);
        for (ends, addresses, udp) in [(v4, 26..34, 34), (v6, 22..54, 54)] {
            for number in [0, 1, 0xffff_ffff] {
                let sound = Packet::new(ends, (1024, 9)).frame(number, [1; 6], [2; 6]);
                let mut frame = sound.clone();
                assert!(corrupt(&mut frame));
                let changed: Vec<usize> = (0..frame.len())
                    .filter(|&place| frame[place] != sound[place])
                    .collect();
                assert_eq!(changed.last(), Some(&(frame.len() - 1)));
                assert!(
                    changed[..changed.len() - 1]
                        .iter()
                        .all(|place| { (udp + 6..udp + 8).contains(place) })
                );
                assert_eq!(sum(&frame[addresses.clone()], &frame[udp..]), 0xffff);
            }
        }
    }

    #[test]
    fn other_packets_are_not_corrupted() {
        let v4 = Ends::V4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let sound = Packet::new(v4, (1, 2)).frame(1, [1; 6], [2; 6]);
        let mut tcp = sound.clone();
        tcp[23] = 6;
        let mut later_fragment = sound.clone();
        later_fragment[21] = 1;
        let mut arp = sound.clone();
        arp[13] = 6;
        let mut longer_than_it_is = sound.clone();
        longer_than_it_is[16] = 1;
        for mut frame in [
            tcp,
            later_fragment,
            arp,
            longer_than_it_is,
            vec![0; 20],
            vec![],
        ] {
            let before = frame.clone();
            assert!(!corrupt(&mut frame));
            assert_eq!(frame, before);
        }
    }
}
