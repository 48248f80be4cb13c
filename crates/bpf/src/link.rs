//! What the daemon tells of links.

use aya_ebpf::btf_maps::HashMap;
use aya_ebpf::macros::btf_map;

use crate::ethernet::Tag;

/// Links that the daemon can tell something of.
const MOST_LINKS: usize = 16384;
/// `BPF_F_NO_PREALLOC`: most machines have few.
const AS_NEEDED: usize = 1;

/// What is special about links, by their numbers; see [`Link`].
#[btf_map]
static LINKS: HashMap<u32, u64, MOST_LINKS, AS_NEEDED> = HashMap::new();

/// The number of the device of a VLAN; see [`vlan`].
#[btf_map]
static VLANS: HashMap<u64, u32, MOST_LINKS, AS_NEEDED> = HashMap::new();

/// What is special about a link: nothing if it is 0. If it is the device of a VLAN, the link below in
/// the lower half, and [`Tag::number`] in the 16 bits above.
#[derive(Clone, Copy)]
pub(crate) struct Link(u64);

/// Translated packets that came in here go up into the kernel.
const FORWARD_BY_KERNEL: u64 = 1 << 48;
/// It takes socket buffers only.
const NO_FRAMES: u64 = 1 << 49;

impl Link {
    /// The link with this number.
    #[inline(always)]
    pub(crate) fn of(number: u32) -> Self {
        // SAFETY: an aligned word that the daemon replaces as a whole.
        let word = LINKS
            .get_ptr(number)
            .map_or(0, |word| unsafe { word.read_volatile() });
        Self(word)
    }

    /// Whether translated packets that came in here go up into the kernel, for it to forward them.
    #[inline(always)]
    pub(crate) fn forwards_by_kernel(self) -> bool {
        self.0 & FORWARD_BY_KERNEL != 0
    }

    /// Whether XDP can send to it, or to the link below it.
    #[inline(always)]
    pub(crate) fn takes_frames(self) -> bool {
        self.0 & NO_FRAMES == 0
    }

    /// The link below the device of a VLAN, and its tag.
    #[inline(always)]
    pub(crate) fn vlan(self) -> Option<(u32, Tag)> {
        match (self.0 >> 32) as u16 {
            0 => None,
            number => Some((self.0 as u32, Tag::from_number(number))),
        }
    }
}

/// The device of the VLAN with this tag ([`Tag::number`]) on a link; 0 if there is none.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn vlan(link: u32, tag: u32) -> u32 {
    // SAFETY: an aligned word that the daemon replaces as a whole.
    VLANS
        .get_ptr(u64::from(link) << 32 | u64::from(tag))
        .map_or(0, |number| unsafe { number.read_volatile() })
}
