//! Packets through a whole gateway in user space: what comes out is well-formed, and a right
//! checksum stays right.

use std::time::Duration;

use isthmus_engine::offline::{Translator, UserTranslator};

use crate::checked::{self, Checksum, Layout};
use crate::gateways;
use crate::reader::Reader;

/// More packets than this teach nothing new.
const PACKETS: usize = 64;

/// An input is the number of a gateway and any number of packets; see [`Conversation::step`].
pub(crate) fn run(input: &[u8]) {
    let mut input = Reader(input);
    let mut conversation = Conversation {
        gateway: gateways::gateway(input.byte()),
        now: Duration::from_secs(1_000_000),
        last: Vec::new(),
        fragments: false,
    };
    for _ in 0..PACKETS {
        if input.is_empty() {
            break;
        }
        conversation.step(&mut input);
    }
    conversation.gateway.finish().unwrap();
    conversation.gateway.counters().unwrap();
}

struct Conversation {
    gateway: UserTranslator,
    now: Duration,
    /// What came out last.
    last: Vec<u8>,
    /// A fragment was sent, so that what comes out need not belong to what was just sent.
    fragments: bool,
}

impl Conversation {
    /// Sends one packet: an octet that says what to do with it, one that says how many units
    /// later it comes than the one before (the unit grows with the octet, up to hours), its
    /// length and its bytes.
    fn step(&mut self, input: &mut Reader<'_>) {
        let what = input.byte();
        let pause = input.byte();
        let bytes = input.counted();
        let packet = match what % 4 {
            // As it is: checksums are mostly wrong.
            0 => bytes.to_vec(),
            // An answer to the last packet that came out; the bytes are left over.
            1 => match checked::answer(&self.last) {
                Some(answer) => answer,
                None => return,
            },
            // With right checksums.
            _ => {
                let mut packet = bytes.to_vec();
                checked::repair(&mut packet);
                packet
            }
        };
        self.now += Duration::from_millis(u64::from(pause) << (pause >> 4));
        self.send(&packet);
    }

    fn send(&mut self, packet: &[u8]) {
        self.fragments |= Layout::of(packet).is_none_or(|layout| layout.fragment);
        let right = checked::transport(packet) == Checksum::Right && !self.fragments;
        let mut last = None;
        let mut receive = |head: &[u8], tail: &[u8]| {
            let out = [head, tail].concat();
            checked::assert_sound(&out);
            if right {
                let verdict = checked::transport(&out);
                assert_ne!(verdict, Checksum::Wrong, "in {packet:02x?}, out {out:02x?}");
            }
            last = Some(out);
        };
        let now = u64::try_from(self.now.as_nanos()).unwrap();
        self.gateway.translate(packet, now, &mut receive).unwrap();
        if let Some(last) = last {
            self.last = last;
        }
    }
}
