//! The configuration of a bare machine as plain data, one file: a [`Head`], and behind it the sections that it counts.
//! `isthmus bare pack` writes it, and the machine works on it in place.
//!
//! | section | elements | content |
//! |---|---|---|
//! | instances | [`Instance`] | the instances in their order |
//! | addresses | [`Network`] | the machine's own addresses, each with the length of its network |
//! | answered | [`Network`] | networks that the machine answers neighbours for, and translates |
//! | hops | [`Hop`] | the way to every destination, longer prefixes first |
//! | bindings | [`Binding`] | the static bindings of all instances |
//! | rules | [`Line`] | tables that the packet path only reads |
//!
//! All elements are whole 64-bit words, so that sections need no padding. Numbers are those of x86-64: little-endian.
#![no_std]

#[cfg(test)]
extern crate std;

mod binding;

use core::net::{IpAddr, Ipv6Addr};

use bytemuck::{Pod, Zeroable};
use isthmus_core::config::Instance;
use isthmus_core::table::Line;

pub use binding::Binding;

/// The first word of an image.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ISTHMUS\x01");
/// The number of the sources that the packer or the machine was built of.
pub const SOURCES: u64 = number(env!("SOURCES"));
/// How many cards a machine has.
pub const CARDS: usize = 2;

/// The first words of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Head {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`SOURCES`] of the packer: the layout of everything that follows.
    pub sources: u64,
    /// Words of the whole image.
    pub words: u64,
    /// [`sum`] of all words behind the head.
    pub sum: u64,
    /// How many elements each section has.
    pub instances: u32,
    /// Likewise.
    pub addresses: u32,
    /// Likewise.
    pub answered: u32,
    /// Likewise.
    pub hops: u32,
    /// Likewise.
    pub bindings: u32,
    /// Likewise.
    pub rules: u32,
    /// Lines of the tables of path MTUs, bindings and sessions, which hold the static bindings and nothing else at first. The
    /// checksum does not cover the head: 32 bits, so that no size that follows from it overflows.
    pub state: u32,
    /// 1: the console tells the time, and random numbers begin with `seed` alone, so that a run can be repeated. 0: the
    /// machine has a clock.
    pub told: u32,
    /// The key of the random numbers.
    pub seed: [u64; 4],
}

impl Head {
    /// Whether the console tells the time.
    #[must_use]
    pub const fn is_told(&self) -> bool {
        self.told != 0
    }
}

/// An address of either family: an IPv4 address is mapped (RFC 4291 section 2.5.5.2), so that both have one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Address {
    high: u64,
    low: u64,
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::v4(v4.octets()),
            IpAddr::V6(v6) => Self::v6(v6.octets()),
        }
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        IpAddr::V6(Ipv6Addr::from(address.number())).to_canonical()
    }
}

impl Address {
    /// No address.
    pub const NONE: Self = Self { high: 0, low: 0 };

    /// An IPv4 address, as it is in a packet.
    #[inline]
    #[must_use]
    pub const fn v4(octets: [u8; 4]) -> Self {
        Self {
            high: 0,
            low: 0xffff << 32 | u32::from_be_bytes(octets) as u64,
        }
    }

    /// An IPv6 address, as it is in a packet.
    #[inline]
    #[must_use]
    pub const fn v6(octets: [u8; 16]) -> Self {
        let number = u128::from_be_bytes(octets);
        Self {
            high: (number >> 64) as u64,
            low: number as u64,
        }
    }

    /// A number of 64 bits that depends on all of the address.
    #[inline]
    #[must_use]
    pub const fn folded(self) -> u64 {
        self.high ^ self.low
    }

    #[inline]
    const fn number(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }
}

/// A network or an address of either family, at a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Network {
    /// The address.
    pub address: Address,
    /// Bits of the network: 96 more for an IPv4 network.
    pub length: u32,
    /// The number of the card.
    pub card: u32,
    /// Bytes of an IP packet that the card takes.
    pub mtu: u64,
}

/// The way to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Hop {
    /// The network, and the card of the way.
    pub to: Network,
    /// The router; [`Address::NONE`] if the network is that of the card.
    pub via: Address,
}

impl Network {
    /// Whether the network has this address.
    #[inline]
    #[must_use]
    pub const fn contains(&self, address: Address) -> bool {
        // A shift by all bits is not one by none.
        match 128u32.saturating_sub(self.length) {
            128 => true,
            rest => (self.address.number() ^ address.number()) >> rest == 0,
        }
    }
}

/// Why an image cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not begin like an image.
    NoImage,
    /// It was packed by an `isthmus` that was built of other sources.
    OtherSources,
    /// It is shorter or longer than it says.
    Length,
    /// Its content is not what was packed.
    Damaged,
}

impl Fault {
    /// One sentence for people.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::NoImage => "this is no file of `isthmus bare pack`",
            Self::OtherSources => "it was packed by another version of isthmus: pack it again",
            Self::Length => "it is cut off, or has too many bytes",
            Self::Damaged => "its checksum is wrong",
        }
    }
}

/// An image in memory.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// Its head.
    pub head: &'a Head,
    /// The instances in their order.
    pub instances: &'a [Instance],
    /// The machine's own addresses.
    pub addresses: &'a [Network],
    /// Networks that the machine answers neighbours for.
    pub answered: &'a [Network],
    /// The way to every destination.
    pub hops: &'a [Hop],
    /// The static bindings.
    pub bindings: &'a [Binding],
    /// Tables that the packet path only reads.
    pub rules: &'a [Line],
}

impl<'a> Image<'a> {
    /// Looks at an image where it lies.
    ///
    /// # Errors
    /// It is none, or not one for this machine.
    ///
    /// # Safety
    /// An image that says [`SOURCES`] and has the right [`sum`] was written by [`isthmus bare pack`](self): its instances
    /// are valid. A checksum does not keep out who forges one on purpose.
    pub unsafe fn read(words: &'a mut [u64]) -> Result<Self, Fault> {
        let length = words.len() as u64;
        let (head, mut rest) = words.split_at_mut_checked(HEAD).ok_or(Fault::NoImage)?;
        let head: &Head = bytemuck::from_bytes(bytemuck::cast_slice(head));
        if head.magic != MAGIC {
            return Err(Fault::NoImage);
        }
        if head.sources != SOURCES {
            return Err(Fault::OtherSources);
        }
        let sections = [
            (head.instances, size_of::<Instance>()),
            (head.addresses, size_of::<Network>()),
            (head.answered, size_of::<Network>()),
            (head.hops, size_of::<Hop>()),
            (head.bindings, size_of::<Binding>()),
            (head.rules, size_of::<Line>()),
        ];
        let sections = sections.map(|(count, size)| count as usize * (size / 8));
        if head.words != length || sections.iter().sum::<usize>() != rest.len() {
            return Err(Fault::Length);
        }
        if sum(rest) != head.sum {
            return Err(Fault::Damaged);
        }
        let mut next = |section: usize| {
            let (this, behind) = core::mem::take(&mut rest).split_at_mut(sections[section]);
            rest = behind;
            this
        };
        let instances = next(0).as_mut_ptr().cast::<Instance>();
        let [addresses, answered] = [next(1), next(2)].map(|words| bytemuck::cast_slice(words));
        let hops = bytemuck::cast_slice(next(3));
        let bindings = bytemuck::cast_slice(next(4));
        let rules = next(5).as_mut_ptr().cast::<Line>();
        Ok(Self {
            head,
            // SAFETY: the section has so many instances, which the caller says are valid; it is aligned to 8.
            instances: unsafe { core::slice::from_raw_parts(instances, head.instances as usize) },
            addresses,
            answered,
            hops,
            bindings,
            // SAFETY: the section has so many lines, aligned to 8, of which nobody else has a reference. Any bits are valid.
            rules: unsafe { core::slice::from_raw_parts(rules, head.rules as usize) },
        })
    }
}

/// Bytes of the tables that begin empty: what a machine with this file needs besides. 0 if it is none.
#[must_use]
pub fn state_bytes(image: &[u8]) -> u64 {
    let head = image.get(..size_of::<Head>());
    head.map_or(0, |head| {
        let head: Head = bytemuck::pod_read_unaligned(head);
        u64::from(head.state) * size_of::<Line>() as u64
    })
}

/// Words of a head.
pub const HEAD: usize = size_of::<Head>() / 8;

const _: () = {
    assert!(size_of::<Instance>().is_multiple_of(8) && align_of::<Instance>() == 8);
    assert!(size_of::<Line>() == 64 && align_of::<Line>() == 8);
};

/// The checksum of words: FNV-1a by words, which finds what transport and disks do.
#[must_use]
pub fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| {
        (sum ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    })
}

/// The number that decimal digits are.
const fn number(digits: &str) -> u64 {
    let digits = digits.as_bytes();
    let (mut at, mut number) = (0, 0u64);
    while at < digits.len() {
        number = number * 10 + (digits[at] - b'0') as u64;
        at += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use isthmus_core::nat::{Endpoint4, Inside, Protocol, StaticBinding};
    use std::vec::Vec;

    fn network(address: IpAddr, length: u32) -> Network {
        Network {
            address: address.into(),
            length,
            card: 1,
            mtu: 1500,
        }
    }

    fn binding() -> Binding {
        Binding::new(
            2,
            &StaticBinding {
                protocol: Protocol::Tcp,
                inside: Inside {
                    port: 80,
                    ..Inside::default()
                },
                outside: Endpoint4::default(),
            },
        )
    }

    /// An image with two addresses, one way, one static binding and one line, and no instance.
    fn image() -> Vec<u64> {
        let addresses = [
            network(Ipv4Addr::new(192, 0, 2, 1).into(), 120),
            network(Ipv6Addr::LOCALHOST.into(), 64),
        ];
        let hop = Hop {
            to: addresses[0],
            via: Address::NONE,
        };
        let mut words = std::vec![0; HEAD];
        words.extend_from_slice(bytemuck::cast_slice(&addresses));
        words.extend_from_slice(bytemuck::cast_slice(&[hop]));
        words.extend_from_slice(bytemuck::cast_slice(&[binding()]));
        words.extend([7; 8]);
        let head = Head {
            magic: MAGIC,
            sources: SOURCES,
            words: words.len() as u64,
            sum: sum(&words[HEAD..]),
            instances: 0,
            addresses: 2,
            answered: 0,
            hops: 1,
            bindings: 1,
            rules: 1,
            state: 0,
            told: 0,
            seed: [0; 4],
        };
        words[..HEAD].copy_from_slice(bytemuck::cast_slice(&[head]));
        words
    }

    fn read(words: &mut [u64]) -> Result<Image<'_>, Fault> {
        // SAFETY: these images have no instances.
        unsafe { Image::read(words) }
    }

    #[test]
    fn sections_are_where_they_were_put() {
        let mut words = image();
        let image = read(&mut words).unwrap();
        assert_eq!(
            IpAddr::from(image.addresses[0].address),
            Ipv4Addr::new(192, 0, 2, 1)
        );
        assert_eq!(
            IpAddr::from(image.addresses[1].address),
            Ipv6Addr::LOCALHOST
        );
        assert_eq!((image.answered.len(), image.instances.len()), (0, 0));
        assert_eq!(image.hops[0].to, image.addresses[0]);
        assert_eq!(image.bindings, [binding()]);
        assert_eq!(
            image.rules[0][7].load(core::sync::atomic::Ordering::Relaxed),
            7
        );
    }

    #[test]
    fn a_damaged_image_is_refused() {
        let right = image();
        let fault = |change: fn(&mut Vec<u64>)| {
            let mut words = right.clone();
            change(&mut words);
            read(&mut words).unwrap_err()
        };
        assert_eq!(fault(|words| words[0] ^= 1), Fault::NoImage);
        assert_eq!(fault(|words| words.truncate(HEAD - 1)), Fault::NoImage);
        assert_eq!(fault(|words| words[1] ^= 1), Fault::OtherSources);
        assert_eq!(fault(|words| words.truncate(HEAD + 3)), Fault::Length);
        assert_eq!(fault(|words| words.push(0)), Fault::Length);
        assert_eq!(fault(|words| words.swap(HEAD, HEAD + 1)), Fault::Damaged);
        for at in HEAD..right.len() {
            let mut words = right.clone();
            words[at] ^= 1 << 40;
            assert_eq!(read(&mut words).unwrap_err(), Fault::Damaged, "word {at}");
        }
    }

    #[test]
    fn a_head_that_counts_wrong_is_refused() {
        let counts: [fn(&mut Head) -> &mut u32; 6] = [
            |head| &mut head.instances,
            |head| &mut head.addresses,
            |head| &mut head.answered,
            |head| &mut head.hops,
            |head| &mut head.bindings,
            |head| &mut head.rules,
        ];
        for count in counts {
            for wrong in [-1, 1] {
                let mut words = image();
                let head = bytemuck::cast_slice_mut::<u64, Head>(&mut words[..HEAD]);
                let number = count(&mut head[0]);
                *number = number.wrapping_add_signed(wrong);
                assert_eq!(read(&mut words).unwrap_err(), Fault::Length);
            }
        }
    }

    /// The checksum does not cover the head: no number in it may overflow.
    #[test]
    fn a_damaged_head_asks_for_no_less_than_it_says() {
        let mut words = image();
        bytemuck::cast_slice_mut::<u64, Head>(&mut words[..HEAD])[0].state = u32::MAX;
        let bytes = bytemuck::cast_slice(&words);
        assert_eq!(state_bytes(bytes), u64::from(u32::MAX) * 64);
    }

    #[test]
    fn networks_have_their_addresses_of_either_family() {
        let v4 = |last| IpAddr::from(Ipv4Addr::new(192, 0, 2, last)).into();
        let net = network(Ipv4Addr::new(192, 0, 2, 128).into(), 96 + 25);
        assert!(net.contains(v4(255)) && !net.contains(v4(127)));
        let all = network(Ipv6Addr::UNSPECIFIED.into(), 0);
        assert!(all.contains(v4(1)) && all.contains(IpAddr::from(Ipv6Addr::LOCALHOST).into()));
        let one = network(Ipv6Addr::LOCALHOST.into(), 128);
        assert!(one.contains(IpAddr::from(Ipv6Addr::LOCALHOST).into()) && !one.contains(v4(1)));
    }
}
