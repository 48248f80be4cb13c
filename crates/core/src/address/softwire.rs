//! The binding table of an lwAFTR (RFC 7596 section 6.1): which lwB4 has which IPv4 address and port
//! set, a million of them if need be.
//!
//! Both directions ask the same: a packet to a lwB4 by its destination address and port, a packet from
//! one by its source address and port. How ports are divided into sets is told by a few networks
//! ([`SharedNetworks`]), so that address and port make an address and a PSID, by which the softwire is
//! found in one search.
//!
//! Layout (`table/cuckoo.rs`): a slot is the IPv4 address (bits 0 to 31), the PSID (32 to 47), which address
//! of the border it is (48 to 55) and a mark that the slot is in use (bit 63), then the two halves of the
//! lwB4's address.

use core::hint::black_box;

use super::port_set::Sharing;
use super::{V4, V6};
use crate::config::{SoftwireTable, V4Network};
use crate::table::cuckoo::{self, Entry, Filling, SLOT_WORDS, mix};
use crate::table::{FillError, Line, Memory, Place};

/// Bit of a slot's first word that is set if the slot is in use.
const IN_USE: u64 = 1 << 63;

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Softwire {
    /// The IPv4 address of the lwB4.
    pub v4: V4,
    /// Its Port Set Identifier; 0 for a whole address.
    pub psid: u16,
    /// Which of the border's addresses its other end is.
    pub border: u8,
    /// The address of the lwB4.
    pub b4: V6,
}

impl Softwire {
    #[inline(always)]
    const fn key(&self) -> u64 {
        key(self.v4, self.psid)
    }
}

impl Entry for Softwire {
    #[inline(always)]
    fn words(&self) -> [u64; SLOT_WORDS] {
        let (high, low) = self.b4.halves();
        [
            IN_USE | u64::from(self.border) << 48 | self.key(),
            high,
            low,
        ]
    }

    #[inline(always)]
    fn from_words([first, high, low]: [u64; SLOT_WORDS]) -> Self {
        Self {
            v4: V4::from_number(first as u32),
            psid: (first >> 32) as u16,
            border: (first >> 48) as u8,
            b4: V6::from_halves(high, low),
        }
    }
}

/// What a search goes by.
#[inline(always)]
const fn key(v4: V4, psid: u16) -> u64 {
    (psid as u64) << 32 | v4.number() as u64
}

/// Where the softwire of an IPv4 address and a PSID lies.
#[inline(always)]
pub fn find<M: Memory + ?Sized>(
    rules: &M,
    table: &SoftwireTable,
    address: V4,
    psid: u16,
) -> Option<Place> {
    if table.lines == 0 {
        return None;
    }
    let key = key(address, psid);
    let matches = |softwire: &Softwire| softwire.key() == key;
    cuckoo::find(rules, table.base, table.lines, mix(key), matches)
}

/// The softwire that lies in a place.
#[inline(always)]
pub fn read<M: Memory + ?Sized>(rules: &M, place: Place) -> Option<Softwire> {
    place.read(rules)
}

/// Lines that a table of so many softwires fits into. Should [`fill`] answer [`FillError::Full`]
/// nevertheless, try twice as many.
#[must_use]
pub const fn lines_for(softwires: usize) -> usize {
    cuckoo::lines_for(softwires)
}

/// Writes a table into zeroed lines, a power of two of them, which will be found in the rules memory
/// from line `base` on, and tells where it is. Host side.
///
/// # Errors
/// See [`FillError`]; the lines then hold a part of the table. Two softwires with the same address and
/// PSID are duplicates.
pub fn fill(
    lines: &[Line],
    base: u32,
    softwires: impl IntoIterator<Item = Softwire>,
) -> Result<SoftwireTable, FillError> {
    let mut softwires = softwires.into_iter().enumerate().peekable();
    if softwires.peek().is_none() {
        return Ok(SoftwireTable::default());
    }
    if !lines.len().is_power_of_two() {
        return Err(FillError::Size);
    }
    let filling = Filling {
        lines,
        hash: |softwire: &Softwire| mix(softwire.key()),
        same: |a: &Softwire, b: &Softwire| a.key() == b.key(),
    };
    for (index, softwire) in softwires {
        if filling.has(&softwire) {
            return Err(FillError::Duplicate(index));
        }
        filling.insert(softwire)?;
    }
    filling.mark_overflow();
    Ok(SoftwireTable {
        base,
        lines: u32::try_from(lines.len()).map_err(|_| FillError::Size)?,
    })
}

/// The networks whose addresses customers have, and how the ports of each are divided.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct SharedNetworks {
    /// Shortest prefix first.
    networks: [SharedNetwork; Self::MOST],
    count: u32,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct SharedNetwork {
    network: V4Network,
    /// How its ports are divided, packed ([`Sharing::pack`]).
    sharing: u64,
}

impl SharedNetworks {
    /// The most networks that fit.
    pub const MOST: usize = 16;

    /// The networks with these addresses, prefix lengths (0 to 32) and parameters. Gives the number of
    /// the first for which there is no room.
    ///
    /// # Errors
    /// There are more than [`MOST`](Self::MOST).
    pub fn new(networks: &[(V4, u8, Sharing)]) -> Result<Self, usize> {
        if networks.len() > Self::MOST {
            return Err(Self::MOST);
        }
        let mut all = Self::default();
        // Prefixes of all lengths from the shortest: what comes later counts.
        for length in 0..=32 {
            for (address, _, sharing) in networks.iter().filter(|(_, n, _)| *n == length) {
                all.networks[all.count as usize] = SharedNetwork {
                    network: V4Network::new(*address, length),
                    sharing: sharing.pack(),
                };
                all.count += 1;
            }
        }
        Ok(all)
    }

    /// How the ports of an address are divided: by the network with the longest prefix. `None` if no
    /// customer has the address.
    ///
    /// All arithmetic: a branch for each network would have the verifier of BPF look at what follows
    /// once for each.
    #[inline(always)]
    #[must_use]
    pub fn find(&self, address: V4) -> Option<Sharing> {
        let mut found = 0;
        for (index, one) in self.networks.iter().enumerate() {
            if index as u32 >= self.count {
                break;
            }
            let differs = u64::from(one.network.differs(address));
            let covers = black_box(differs).wrapping_sub(1) >> 63;
            found ^= (found ^ one.sharing) & 0_u64.wrapping_sub(black_box(covers));
        }
        Sharing::unpack(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::vec::Vec;

    fn v4(text: &str) -> V4 {
        text.parse::<Ipv4Addr>().unwrap().into()
    }

    fn softwire(v4: u32, psid: u16) -> Softwire {
        let b4 = Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(v4) << 32 | u128::from(psid));
        Softwire {
            v4: V4::from_number(v4),
            psid,
            border: psid as u8,
            b4: b4.into(),
        }
    }

    /// A table in memory, some lines into it so that a forgotten base shows.
    fn built(softwires: &[Softwire]) -> (Vec<Line>, SoftwireTable) {
        const BASE: usize = 5;
        let mut lines = lines_for(softwires.len());
        loop {
            let mut memory = Vec::new();
            memory.resize_with(BASE + lines, Line::default);
            match fill(&memory[BASE..], BASE as u32, softwires.iter().copied()) {
                Ok(table) => return (memory, table),
                Err(FillError::Full) => lines *= 2,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn look(built: &(Vec<Line>, SoftwireTable), v4: V4, psid: u16) -> Option<Softwire> {
        let rules = built.0.as_slice();
        read(rules, find(rules, &built.1, v4, psid)?)
    }

    #[test]
    fn the_longest_network_tells_how_ports_are_divided() {
        let (shared, whole) = (Sharing::new(6, 8).unwrap(), Sharing::WHOLE);
        let half = Sharing::new(0, 1).unwrap();
        let networks = [
            (v4("192.0.2.7"), 32, whole),
            (v4("192.0.2.0"), 24, shared),
            (v4("192.0.2.128"), 25, half),
        ];
        let networks = SharedNetworks::new(&networks).unwrap();
        for (address, expected) in [
            ("192.0.2.6", Some(shared)),
            ("192.0.2.7", Some(whole)),
            ("192.0.2.127", Some(shared)),
            ("192.0.2.128", Some(half)),
            ("192.0.2.255", Some(half)),
            ("192.0.3.0", None),
            ("0.0.0.0", None),
        ] {
            assert_eq!(networks.find(v4(address)), expected, "{address}");
        }
        assert_eq!(SharedNetworks::default().find(v4("0.0.0.0")), None);
        let many = [(v4("0.0.0.0"), 0, whole); SharedNetworks::MOST + 1];
        assert_eq!(
            SharedNetworks::new(&many).unwrap_err(),
            SharedNetworks::MOST
        );
    }

    #[test]
    fn a_port_set_is_nobody_elses() {
        let mut lines = Vec::new();
        lines.resize_with(4, Line::default);
        let twice = [softwire(1, 1), softwire(1, 2), softwire(1, 1)];
        assert_eq!(fill(&lines, 0, twice).unwrap_err(), FillError::Duplicate(2));
        assert_eq!(fill(&lines[..3], 0, twice).unwrap_err(), FillError::Size);
        let none = fill(&lines, 0, []).unwrap();
        assert_eq!(find(lines.as_slice(), &none, V4::from_number(1), 1), None);
    }

    proptest! {
        /// Against a map of the standard library.
        #[test]
        fn finds_what_was_put_in(
            keys in prop::collection::hash_set((0_u32..32, 0_u16..32), 1..200),
            others in prop::collection::vec((0_u32..40, 0_u16..40), 0..100),
        ) {
            let softwires: Vec<_> = keys.iter().map(|(v4, psid)| softwire(*v4, *psid)).collect();
            let referee: HashMap<_, _> = keys.iter().copied().zip(&softwires).collect();
            let built = built(&softwires);
            for (v4, psid) in keys.iter().copied().chain(others) {
                let found = look(&built, V4::from_number(v4), psid);
                prop_assert_eq!(found.as_ref(), referee.get(&(v4, psid)).copied());
            }
        }
    }
}
