//! The hosts whose addresses the tester uses.

use std::net::IpAddr;

use super::Problem;
use crate::traffic::{
    generator::FrameSize,
    packet::{Ends, Form},
    tester::{Flows, Streams, Traffic},
};

/// Two hosts, and their addresses for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hosts {
    /// The address of the host at the left.
    pub left: IpAddr,
    /// The address of the host at the right.
    pub right: IpAddr,
    /// The address of the left host at the right one, if it is another.
    pub left_as: Option<IpAddr>,
    /// The address of the right host at the left one, if it is another.
    pub right_as: Option<IpAddr>,
}

/// The direction of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The left host sends.
    Rightward,
    /// The right host sends.
    Leftward,
    /// Both send at once.
    Both,
}

impl Hosts {
    /// Returns this many flows from one host to the other, with pseudorandom ports. Frames have `octets` octets on
    /// the left cable, or the least size for a tag if none is given.
    ///
    /// # Errors
    /// A host has no address for the other one; the size is invalid.
    pub fn streams(
        &self,
        direction: Direction,
        flows: u32,
        octets: Option<u16>,
    ) -> Result<Streams, Problem> {
        let [left, right] = [self.left, self.right].map(Form::of);
        // The least frame has to be long enough in both forms.
        let least = [left, right].map(|form| FrameSize::least(form).when(form, left));
        let size = match octets {
            Some(octets) => FrameSize::new(octets, left)?,
            None => least[0].max(least[1]),
        };
        let traffic = |ends: Ends, size, arrives| Traffic {
            packets: Flows::many(flows).packets(|_| ends),
            size,
            arrives,
        };
        let rightward = || Ok::<_, Problem>(traffic(self.ends(Side::Left)?, size, right));
        let leftward = || {
            let size = size.when(left, right);
            Ok::<_, Problem>(traffic(self.ends(Side::Right)?, size, left))
        };
        Ok(match direction {
            Direction::Rightward => Streams::Rightward(rightward()?),
            Direction::Leftward => Streams::Leftward(leftward()?),
            Direction::Both => Streams::Both(rightward()?, leftward()?),
        })
    }

    /// Returns the ends of the packets that this side's host sends.
    fn ends(&self, sender: Side) -> Result<Ends, Problem> {
        let words = sender.words();
        let (from, to, to_as) = match sender {
            Side::Left => (self.left, self.right, self.right_as),
            Side::Right => (self.right, self.left, self.left_as),
        };
        Ends::between(from, to_as.unwrap_or(to)).ok_or_else(|| match to_as {
            Some(address) => Problem::WrongFamily {
                option: words.option,
                address,
                speaks: name(from),
            },
            None => Problem::Unnamed {
                sender: words.sender,
                speaks: name(from),
                receiver: words.receiver,
                address: to,
                option: words.remedy,
            },
        })
    }
}

/// The side of a host.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// The words of a message about a host that has no address for the other one.
struct Words {
    sender: &'static str,
    receiver: &'static str,
    /// The option that gives the other host's address.
    option: &'static str,
    /// The remedy.
    remedy: &'static str,
}

impl Side {
    fn words(self) -> Words {
        match self {
            Self::Left => Words {
                sender: "the left host",
                receiver: "the right one",
                option: "--right-as",
                remedy: "--prefix or --right-as",
            },
            Self::Right => Words {
                sender: "the right host",
                receiver: "the left one",
                option: "--left-as",
                remedy: "--left-as",
            },
        }
    }
}

fn name(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NATIVE: Hosts = Hosts {
        left: IpAddr::V4(std::net::Ipv4Addr::new(198, 18, 0, 2)),
        right: IpAddr::V4(std::net::Ipv4Addr::new(198, 19, 0, 2)),
        left_as: None,
        right_as: None,
    };

    fn translated() -> Hosts {
        Hosts {
            left: "2001:2::2".parse().unwrap(),
            right_as: Some("64:ff9b::c613:2".parse().unwrap()),
            left_as: Some("192.0.2.6".parse().unwrap()),
            ..NATIVE
        }
    }

    #[test]
    fn a_translated_frame_is_twenty_octets_shorter() {
        // RFC 8219 section 5.1.1: 84 where it is 64 on the other side.
        let Streams::Both(there, back) = translated().streams(Direction::Both, 3, None).unwrap()
        else {
            panic!("not both");
        };
        assert_eq!((there.size.octets(), back.size.octets()), (84, 64));
        assert_eq!((there.arrives, back.arrives), (Form::V4, Form::V6));
        assert_eq!((there.packets.len(), back.packets.len()), (3, 3));
        let to = Ends::V4("198.19.0.2".parse().unwrap(), "192.0.2.6".parse().unwrap());
        assert_eq!(back.packets[0].ends, to);
    }

    #[test]
    fn the_other_way_round_the_least_frame_is_64_as_well() {
        let hosts = Hosts {
            right: "2001:2::2".parse().unwrap(),
            right_as: Some("192.0.2.6".parse().unwrap()),
            ..NATIVE
        };
        let Streams::Rightward(there) = hosts.streams(Direction::Rightward, 1, None).unwrap()
        else {
            panic!("not to the right");
        };
        assert_eq!(there.size.octets(), 64);
        assert_eq!(there.size.when(Form::V4, there.arrives).octets(), 84);
    }

    #[test]
    fn a_host_without_an_address_is_an_error() {
        let unnamed = Hosts {
            right_as: None,
            ..translated()
        };
        let refused = unnamed
            .streams(Direction::Rightward, 1, None)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("--prefix or --right-as"), "{refused}");
        let unnamed = Hosts {
            left_as: None,
            ..translated()
        };
        let refused = unnamed
            .streams(Direction::Both, 1, None)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("--left-as"), "{refused}");
        let wrong = Hosts {
            right_as: Some("198.19.0.2".parse().unwrap()),
            ..translated()
        };
        let refused = wrong
            .streams(Direction::Rightward, 1, None)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("--right-as 198.19.0.2"), "{refused}");
        let small = NATIVE
            .streams(Direction::Rightward, 1, Some(63))
            .unwrap_err();
        assert!(small.to_string().contains("64 to 3072"), "{small}");
    }
}
