//! Properties of links, as the daemon writes them.

use aya_ebpf::btf_maps::HashMap;
use aya_ebpf::macros::btf_map;
use isthmus_abi::links::{Link, MOST, vlan_key};

/// `BPF_F_NO_PREALLOC`: most machines have few.
const AS_NEEDED: usize = 1;

/// The properties of links, by their numbers.
#[btf_map]
static LINKS: HashMap<u32, Link, MOST, AS_NEEDED> = HashMap::new();

/// The number of the device of a VLAN; see [`vlan`].
#[btf_map]
static VLANS: HashMap<u64, u32, MOST, AS_NEEDED> = HashMap::new();

/// Returns the properties of the link with this number.
#[inline(always)]
pub(crate) fn properties(number: u32) -> Link {
    // SAFETY: an aligned word that the daemon replaces as a whole.
    LINKS
        .get_ptr(number)
        .map_or(Link::PLAIN, |word| unsafe { word.read_volatile() })
}

/// The device of the VLAN with this tag ([`tag_number`](isthmus_abi::links::tag_number)) on a link; 0 if there is none.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn vlan(link: u32, tag: u32) -> u32 {
    // SAFETY: an aligned word that the daemon replaces as a whole.
    VLANS
        .get_ptr(vlan_key(link, tag))
        .map_or(0, |number| unsafe { number.read_volatile() })
}
