//! Streams: packets, and the layout of their frames in the program's maps.

use crate::{
    network::random::Random,
    traffic::packet::{Form, Packet},
};

use isthmus_abi::lab::{
    generator::{Differences, Frame, Places, ROOM, VARYING},
    tag::{LENGTH, MAGIC},
};

use super::{FrameSize, tag::StreamId};

/// More frames than these are not kept as a whole: 512 KiB.
const WHOLE: usize = 4096;

/// The order in which frames take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The order in which they were given.
    Sequence,
    /// A pseudorandom order, the same from run to run. Each frame has one turn per round.
    Random,
}

/// A stream of frames to generate.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The packets, 1 or more, all of one form.
    pub packets: Vec<Packet>,
    /// Ethernet destination: the gateway's end of the link.
    pub to: [u8; 6],
    /// Ethernet source: the sending end of the link.
    pub from: [u8; 6],
    /// Their payload.
    pub content: Content,
}

/// The payload of generated frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// 18 octets that begin with the number of the packet within the stream.
    Number,
    /// A tag, and zeros up to the size of the frame.
    Tag(StreamId, FrameSize),
}

impl Stream {
    /// Returns the name of the program that sends such frames.
    pub(super) fn program(&self) -> &'static str {
        use Content::{Number, Tag};
        match (self.packets[0].form(), self.content, self.are_many()) {
            (Form::V4, Number, false) => "generate4",
            (Form::V4, Number, true) => "vary4",
            (Form::V4, Tag(..), false) => "tag4",
            (Form::V4, Tag(..), true) => "tag_varied4",
            (Form::V6, Number, false) => "generate6",
            (Form::V6, Number, true) => "vary6",
            (Form::V6, Tag(..), false) => "tag6",
            (Form::V6, Tag(..), true) => "tag_varied6",
            (Form::SixInFour | Form::FourInSix, Number, false) => "generate46",
            (Form::SixInFour | Form::FourInSix, Number, true) => "vary46",
            (Form::SixInFour | Form::FourInSix, Tag(..), false) => "tag46",
            (Form::SixInFour | Form::FourInSix, Tag(..), true) => "tag_varied46",
        }
    }

    /// Returns whether only the differences of frames are kept.
    pub(super) fn are_many(&self) -> bool {
        self.packets.len() > WHOLE
    }

    /// Octets of a frame, without FCS.
    pub(super) fn length(&self) -> usize {
        match self.content {
            Content::Number => self.frame(0).len(),
            Content::Tag(_, size) => size.seen(),
        }
    }

    /// Returns the stream's number in its place in a tag.
    pub(super) fn in_tag(&self) -> u64 {
        match self.content {
            Content::Number => 0,
            Content::Tag(stream, _) => stream.in_place(),
        }
    }

    /// Returns one of the frames, without its tag.
    fn frame(&self, number: usize) -> Vec<u8> {
        let packet = &self.packets[number];
        match self.content {
            Content::Number => packet.frame(number as u32, self.to, self.from),
            Content::Tag(_, size) => {
                // The sum of a tag, and of zeros, is zero.
                let payload = size.payload(packet.form());
                let mut frame = packet.headers(payload, 0, self.to, self.from);
                frame.extend(MAGIC.to_ne_bytes());
                frame.resize(frame.len() + LENGTH - 2, 0);
                frame
            }
        }
    }

    /// The same as the program has it.
    pub(super) fn words(&self, number: usize) -> Frame {
        let mut words = [0; ROOM];
        let frame = self.frame(number);
        for (word, octets) in words.iter_mut().zip(frame.chunks_exact(4)) {
            *word = u32::from_ne_bytes([octets[0], octets[1], octets[2], octets[3]]);
        }
        words
    }

    /// Returns the places of the words that are not the same in all frames, more than once if they are few, and each frame's
    /// words there; `None` if there are too many of them.
    pub(super) fn differences(&self) -> Option<(Places, Vec<Differences>)> {
        let frames: Vec<_> = (0..self.packets.len())
            .map(|number| self.words(number))
            .collect();
        let mut differs = [0; ROOM];
        for frame in &frames {
            for ((differs, word), first) in differs.iter_mut().zip(frame).zip(frames[0]) {
                *differs |= word ^ first;
            }
        }
        let mut places = (0..ROOM as u8).filter(|place| differs[usize::from(*place)] != 0);
        let mut last = 0;
        let all = [(); VARYING].map(|()| {
            last = places.next().unwrap_or(last);
            last
        });
        if places.next().is_some() {
            return None;
        }
        let there = |frame: &Frame| all.map(|place| frame[usize::from(place)]);
        Some((all, frames.iter().map(there).collect()))
    }

    /// Returns the numbers of the frames in an order.
    pub(super) fn numbers(&self, order: Order) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.packets.len() as u32).collect();
        if order == Order::Random {
            // The shuffle of Fisher and Yates.
            let mut random = Random::default();
            for last in (1..numbers.len()).rev() {
                numbers.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        net::{Ipv4Addr, Ipv6Addr},
    };

    use super::*;
    use crate::traffic::{
        generator::{FIRST_PORT, PORT},
        packet::Ends,
    };

    #[test]
    fn in_random_order_each_frame_has_one_turn() {
        let ends = Ends::V4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let stream = Stream {
            packets: vec![Packet::new(ends, (FIRST_PORT, PORT)); 1000],
            to: [0; 6],
            from: [0; 6],
            content: Content::Number,
        };
        let numbers = stream.numbers(Order::Random);
        assert_ne!(numbers, stream.numbers(Order::Sequence));
        assert_eq!(numbers.len(), 1000);
        let all: BTreeSet<u32> = numbers.into_iter().collect();
        assert!(all.into_iter().eq(0..1000));
    }

    #[test]
    fn only_the_differences_of_many_frames_are_kept() {
        let many = |packet: &dyn Fn(u32) -> Packet| Stream {
            packets: (0..5000).map(packet).collect(),
            to: [0; 6],
            from: [0; 6],
            content: Content::Number,
        };
        let one = Ipv4Addr::LOCALHOST;
        let more = many(&|n| {
            let ends = Ends::V4(one, Ipv4Addr::from_bits(0xc612_0000 + n));
            Packet::new(ends, (FIRST_PORT, PORT))
        });
        assert_eq!(more.program(), "vary4");
        // The checksum of the header; the lower half of the destination; the UDP checksum and the number of
        // the frame, which has the upper half of the last word.
        let (places, differences) = more.differences().unwrap();
        assert_eq!(places, [6, 8, 10, 11, 11, 11, 11, 11]);
        let (first, words) = (more.words(0), more.words(4999));
        assert_eq!(differences.len(), 5000);
        assert_eq!(
            differences[4999],
            places.map(|place| words[usize::from(place)])
        );
        let same = |place: usize| first[place] == words[place];
        assert!((0..ROOM).all(|place| same(place) || [6, 8, 10, 11].contains(&place)));

        let mixed = many(&|n| {
            let address = Ipv6Addr::from_bits((u128::from(n) * u128::from(u64::MAX)) << 32);
            Packet::new(Ends::V6(address, address), (n as u16, n as u16))
        });
        assert!(mixed.differences().is_none());
    }

    #[test]
    fn the_checksum_of_a_tagged_frame_is_right_with_every_tag() {
        let ends = Ends::V4(Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 19, 0, 2));
        let stream = Stream {
            packets: vec![Packet::new(ends, (FIRST_PORT, PORT))],
            to: [0; 6],
            from: [0; 6],
            content: Content::Tag(StreamId::RIGHTWARD, FrameSize::least(Form::V4)),
        };
        let mut frame = stream.frame(0);
        assert_eq!((frame.len(), stream.length()), (60, 60));
        // The tag of the test in `tag`: its sum is all ones, which is zero as well.
        frame[44..].copy_from_slice(&[8, 7, 6, 5, 4, 3, 2, 1, 7, 0, 0, 0, 0, 1, 0x73, 0xd9]);
        // RFC 768: the sum over addresses, protocol, length and datagram is all ones.
        let pseudo = 17 + 26;
        let sum: u32 = frame[26..]
            .chunks_exact(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        assert_eq!((sum + pseudo) % 0xffff, 0);
    }
}
