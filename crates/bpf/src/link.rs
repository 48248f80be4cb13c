//! What the daemon tells of links.

use aya_ebpf::btf_maps::HashMap;
use aya_ebpf::macros::btf_map;

/// Links that the daemon can tell something of.
const MOST_LINKS: usize = 4096;

/// What is special about links, by their numbers; see [`Link`].
#[btf_map]
static LINKS: HashMap<u32, u64, MOST_LINKS> = HashMap::new();

/// What is special about a link: nothing if it is 0.
#[derive(Clone, Copy)]
pub(crate) struct Link(u64);

/// Translated packets that came in here go up into the kernel.
const FORWARD_BY_KERNEL: u64 = 1 << 48;

impl Link {
    /// The link with this number.
    #[inline(always)]
    pub(crate) fn of(number: u32) -> Self {
        Self(link(number))
    }

    /// Whether translated packets that came in here go up into the kernel, for it to forward them.
    #[inline(always)]
    pub(crate) fn forwards_by_kernel(self) -> bool {
        self.0 & FORWARD_BY_KERNEL != 0
    }
}

/// Looks into [`LINKS`]. A global function: the verifier looks at it once.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn link(number: u32) -> u64 {
    // SAFETY: an aligned word that the daemon replaces as a whole.
    LINKS
        .get_ptr(number)
        .map_or(0, |word| unsafe { word.read_volatile() })
}
