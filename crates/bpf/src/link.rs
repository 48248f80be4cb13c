//! Properties of links, as the daemon writes them.

use aya_ebpf::btf_maps::{Array, HashMap};
use aya_ebpf::macros::btf_map;
use isthmus_abi::links::{
    Link, MOST, MOST_STATIONS, OWN_PLACES, Station, own_place, own_word, vlan_key,
};

/// `BPF_F_NO_PREALLOC`: most machines have few.
const AS_NEEDED: usize = 1;

/// The properties of links, by their numbers.
#[btf_map]
static LINKS: HashMap<u32, Link, MOST, AS_NEEDED> = HashMap::new();

/// The number of the device of a VLAN; see [`vlan`].
#[btf_map]
static VLANS: HashMap<u64, u32, MOST, AS_NEEDED> = HashMap::new();

/// The addresses at which this machine listens.
#[btf_map]
static STATIONS: HashMap<Station, u32, MOST_STATIONS, AS_NEEDED> = HashMap::new();

/// The own addresses of most links.
#[btf_map]
static OWN: Array<u64, OWN_PLACES> = Array::new();

/// Returns the properties of the link with this number.
#[inline(always)]
pub(crate) fn properties(number: u32) -> Link {
    // SAFETY: an aligned word that the daemon replaces as a whole.
    LINKS
        .get_ptr(number)
        .map_or(Link::PLAIN, |word| unsafe { word.read_volatile() })
}

/// Whether nobody on the link with this number is an inside host; 0: no. A function of its own, because it is called where
/// a program has no stack left.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn is_outside(link: u32) -> u32 {
    u32::from(properties(link).is_outside())
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

/// A frame to this address is for this machine.
pub(crate) const OURS: u32 = 1;
/// A frame to this address is for another machine, or for many.
const NOT_OURS: u32 = 0;
/// The link has no addresses, or the daemon does not know it.
const UNKNOWN: u32 = 2;

/// Whether a frame that came in on a link is for this machine (RFC 1812 section 5.3.4): XDP has all frames that
/// the card receives. `device` is the device of its VLAN, or the link again.
#[inline(always)]
pub(crate) fn takes(link: u32, device: u32, destination: u64) -> bool {
    is_own(link, destination) || whose(link, device, destination) != NOT_OURS
}

/// Whether the link's own address is this one, and in the array.
#[inline(always)]
fn is_own(link: u32, address: u64) -> bool {
    // SAFETY: an aligned word that the daemon replaces as a whole.
    OWN.get_ptr(own_place(link))
        .is_some_and(|word| unsafe { word.read_volatile() } == own_word(link, address))
}

/// Whose an address on a link is: [`OURS`], [`NOT_OURS`] or [`UNKNOWN`]. `device` is as in [`takes`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn whose(link: u32, device: u32, address: u64) -> u32 {
    if is_station(link, address) || (device != link && is_station(device, address)) {
        OURS
    } else if is_station(link, 0) {
        NOT_OURS
    } else {
        UNKNOWN
    }
}

#[inline(always)]
fn is_station(link: u32, address: u64) -> bool {
    let station = Station {
        link: link.into(),
        address,
    };
    STATIONS.get_ptr(station).is_some()
}
