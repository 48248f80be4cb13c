//! Unsolicited SYNs from outside that wait for their answer. The rules are those of

use std::collections::VecDeque;

use isthmus_core::slow::icmp_error::LONGEST_V4;
use isthmus_core::slow::unexpected::WAIT;

/// The largest number of waiting SYNs. A SYN that finds no room gets no answer (RFC 5382 section 4.3, REQ-4 a),
/// so that strangers cannot fill memory.
const MOST: usize = 1024;

/// All waiting SYNs, oldest first.
#[derive(Debug, Default)]
pub struct Unexpected {
    waiting: VecDeque<(u64, Vec<u8>)>,
}

impl Unexpected {
    /// Returns the number of waiting SYNs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no SYN waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a packet that arrived at `now`, in nanoseconds. A retransmission is not added a second time, nor is a
    /// packet that is longer than the answer may quote.
    pub fn wait(&mut self, packet: &[u8], now: u64) {
        let again = |other: &[u8]| flow(packet).is_none_or(|flow| self::flow(other) == Some(flow));
        if self.waiting.len() < MOST
            && packet.len() <= LONGEST_V4
            && !self.waiting.iter().any(|(_, other)| again(other))
        {
            let deadline = now.saturating_add(WAIT.0 << 20);
            self.waiting.push_back((deadline, packet.to_vec()));
        }
    }

    /// Removes and returns the oldest packet, if its time has come.
    pub fn due(&mut self, now: u64) -> Option<Vec<u8>> {
        self.waiting
            .front()
            .filter(|(deadline, _)| *deadline <= now)?;
        self.waiting.pop_front().map(|(_, packet)| packet)
    }
}

/// Returns the addresses and ports of an IPv4 packet in network byte order.
fn flow(packet: &[u8]) -> Option<(&[u8], &[u8])> {
    let header = usize::from(packet.first()? & 15) * 4;
    Some((packet.get(12..20)?, packet.get(header..header + 4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    /// Intervals are rounded up to units of about a millisecond.
    const TICK: u64 = 2_000_000;

    fn syn(port: u16) -> Vec<u8> {
        let mut packet = vec![0; 40];
        packet[0] = 0x45;
        packet[20..22].copy_from_slice(&port.to_be_bytes());
        packet
    }

    #[test]
    fn rfc5382_4_3_nobody_is_answered_before_six_seconds() {
        let mut unexpected = Unexpected::default();
        unexpected.wait(&syn(1), 100);
        // A retransmission, then another SYN.
        unexpected.wait(&syn(1), SECOND);
        unexpected.wait(&syn(2), SECOND);
        assert_eq!(unexpected.due(6 * SECOND), None);
        assert_eq!(unexpected.due(6 * SECOND + TICK), Some(syn(1)));
        assert_eq!(unexpected.due(6 * SECOND + TICK), None);
        assert_eq!(unexpected.due(7 * SECOND + TICK), Some(syn(2)));
        assert!(unexpected.is_empty());
    }

    #[test]
    fn strangers_do_not_fill_memory() {
        let mut unexpected = Unexpected::default();
        for port in 0..2000 {
            unexpected.wait(&syn(port), 0);
        }
        assert_eq!(unexpected.len(), MOST);
        let mut unexpected = Unexpected::default();
        let mut long = syn(1);
        long.resize(LONGEST_V4 + 1, 0);
        unexpected.wait(&long, 0);
        assert!(unexpected.is_empty());
    }
}
