//! The content of messages: a number, and a pattern that is the same in all of them.

use crate::{figures::bound::Payload, network::random::splitmix};

/// Bytes of the number, if the message has room for them.
const NUMBER: usize = 8;
/// The seed of the pattern.
const SEED: u64 = 0x1997;

/// Writes messages of one size, and recognises them.
#[derive(Debug)]
pub(super) struct Messages {
    octets: Vec<u8>,
}

/// The kind of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// A message with this number.
    Number(u64),
    /// Not one of ours: longer, shorter, or with a changed byte.
    Corrupted,
}

impl Messages {
    pub(super) fn new(payload: Payload) -> Self {
        let mut state = SEED;
        let octets = (0..payload.bytes()).map(|_| splitmix(&mut state) as u8);
        Self {
            octets: octets.collect(),
        }
    }

    /// Returns the message with a number. A short message has only the low bytes of its number.
    pub(super) fn write(&mut self, number: u64) -> &[u8] {
        let room = self.room();
        self.octets[..room].copy_from_slice(&number.to_le_bytes()[..room]);
        &self.octets
    }

    /// Returns the message that was written last.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Parses a received message. If it has only the low bytes of its number, the number is the one nearest to
    /// `near`.
    pub(super) fn read(&self, octets: &[u8], near: u64) -> Seen {
        let room = self.room();
        if octets.len() != self.octets.len() || octets[room..] != self.octets[room..] {
            return Seen::Corrupted;
        }
        let mut number = near.to_le_bytes();
        number[..room].copy_from_slice(&octets[..room]);
        let number = u64::from_le_bytes(number);
        if room == NUMBER {
            return Seen::Number(number);
        }
        let turn = 1_u64 << (8 * room);
        let candidates = [
            Some(number),
            number.checked_sub(turn),
            number.checked_add(turn),
        ];
        let nearest = candidates.into_iter().flatten();
        let nearest = nearest.min_by_key(|candidate| candidate.abs_diff(near));
        Seen::Number(nearest.unwrap_or(number))
    }

    /// Returns a buffer for anything that can arrive instead of a message, and one byte more.
    pub(super) fn buffer() -> Vec<u8> {
        vec![0; usize::from(u16::MAX) + 1]
    }

    fn room(&self) -> usize {
        self.octets.len().min(NUMBER)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages(bytes: u32) -> Messages {
        Messages::new(Payload::new(bytes).unwrap())
    }

    proptest! {
        #[test]
        fn a_message_is_known_again(bytes in 1_u32..3000, number in 0_u64..1 << 40, ahead in 0_u64..100) {
            let mut messages = messages(bytes);
            let message = messages.write(number).to_vec();
            prop_assert_eq!(messages.read(&message, number + ahead), Seen::Number(number));
            prop_assert_eq!(messages.read(&message, number.saturating_sub(ahead)), Seen::Number(number));
        }

        #[test]
        fn a_changed_byte_shows(bytes in 1_u32..3000, place in any::<prop::sample::Index>(), bit in 0..8) {
            let mut messages = messages(bytes);
            let mut message = messages.write(1000).to_vec();
            message[place.index(bytes as usize)] ^= 1_u8 << bit;
            prop_assert_ne!(messages.read(&message, 1000), Seen::Number(1000));
        }
    }

    #[test]
    fn another_length_shows() {
        let mut messages = messages(100);
        let message = messages.write(1).to_vec();
        assert_eq!(messages.read(&message[..99], 1), Seen::Corrupted);
        assert_eq!(
            messages.read(&[&message[..], &[0]].concat(), 1),
            Seen::Corrupted
        );
    }
}
