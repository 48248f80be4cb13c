//! The maps that the programs share with the daemon.

use aya_ebpf::btf_maps::{Array, PerCpuArray, ProgramArray};
use aya_ebpf::helpers::bpf_get_prandom_u32;
use aya_ebpf::macros::btf_map;
use isthmus_core::config::Instance;
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::reason::Counter;
use isthmus_core::table::{Line, Memory};

/// `BPF_F_MMAPABLE`: the daemon works on the same memory.
pub(crate) const MMAPABLE: usize = 1 << 10;

/// An [`Instance`] as plain words: BTF need not know what is in it.
pub(crate) type InstanceWords = [u64; size_of::<Instance>() / 8];
const _: () = assert!(size_of::<Instance>() % 8 == 0 && align_of::<Instance>() <= 8);

/// Two configurations fit: the one in force and the one that is about to be.
const BANKS: u32 = 2;

/// Counters of one instance: one more row than there are instances, for packets of nobody.
const COUNTERS: usize = (MOST_INSTANCES as usize + 1) * COUNTER_ROW;
/// Room for the counters of one instance.
pub(crate) const COUNTER_ROW: usize = 64;
const _: () = assert!(Counter::ALL.len() <= COUNTER_ROW);

/// The instances of both banks.
#[btf_map]
pub(crate) static INSTANCES: Array<InstanceWords, { (BANKS * MOST_INSTANCES) as usize }> =
    Array::new();

/// How many instances each bank holds, and which bank is in force.
#[btf_map]
pub(crate) static ACTIVE: Array<Active, 1> = Array::new();

/// Content of [`ACTIVE`]: one word, so that it changes at once. The bank in the upper half, the
/// number of instances in the lowest octet.
pub(crate) type Active = u64;

/// Time and chance where the daemon decides on them; see [`OFFLINE`].
#[btf_map]
pub(crate) static CLOCK: Array<Clock, 1> = Array::new();

/// Content of [`CLOCK`].
#[repr(C)]
pub(crate) struct Clock {
    /// Nanoseconds.
    pub(crate) now: u64,
    /// State of the random numbers.
    pub(crate) random: u64,
}

/// Whether [`CLOCK`] counts. Set before the program is loaded, so that the verifier leaves out
/// whichever does not apply.
#[unsafe(no_mangle)]
static OFFLINE: u8 = 0;

#[inline(always)]
pub(crate) fn offline() -> bool {
    // SAFETY: a read of a static; volatile, because the loader writes another value into it.
    unsafe { (&raw const OFFLINE).read_volatile() != 0 }
}

/// Bindings, sessions, fragments. The daemon sets the number of lines before it loads.
#[btf_map]
static STATE: Array<[u64; 8], 1, MMAPABLE> = Array::new();

/// Tables of the configuration. The daemon sets the number of lines before it loads.
#[btf_map]
static RULES: Array<[u64; 8], 1, MMAPABLE> = Array::new();

/// Counters by instance and [`Counter`].
#[btf_map]
pub(crate) static COUNTS: PerCpuArray<u64, COUNTERS> = PerCpuArray::new();

/// The XDP programs that others hand packets to.
#[btf_map]
pub(crate) static XDP_PROGRAMS: ProgramArray<5> = ProgramArray::new();

/// The tc programs that others hand packets to. A program array takes one kind.
#[btf_map]
pub(crate) static TC_PROGRAMS: ProgramArray<5> = ProgramArray::new();

/// Place of the program that takes packets first.
pub(crate) const BASE: u32 = 0;
/// Places of the programs that make sessions. One for each direction, because each is as much as
/// the verifier looks at.
pub(crate) const OPEN_V4: u32 = 1;
/// See [`OPEN_V4`].
pub(crate) const OPEN_V6: u32 = 2;
/// Place of the program that shares IPv4 addresses by softwires.
pub(crate) const SOFTWIRES: u32 = 3;
/// Place of the program of MAP-T.
pub(crate) const MAP_T: u32 = 4;

/// A memory of lines in a map.
pub(crate) struct Lines(&'static Array<[u64; 8], 1, MMAPABLE>);

impl Memory for Lines {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        let words = self.0.get_ptr_mut(index)?;
        // SAFETY: a map value of 64 bytes, aligned to 8, shared with others only through atomic
        // operations; it outlives the program's run.
        Some(unsafe { &*words.cast::<Line>() })
    }
}

pub(crate) const STATE_LINES: Lines = Lines(&STATE);
pub(crate) const RULE_LINES: Lines = Lines(&RULES);

/// State of the random numbers of each processor.
#[btf_map]
static CHANCE: PerCpuArray<u64, 1> = PerCpuArray::new();

/// A random number of this processor's own generator (PCG-XSH-RR, M. O'Neill 2014), which is about
/// as good as the kernel's and spares the call.
#[inline(always)]
pub(crate) fn next_random() -> u32 {
    let Some(state) = CHANCE.get_ptr_mut(0) else {
        return 0;
    };
    // SAFETY: this processor's own, and no program of ours interrupts another.
    let old = match unsafe { *state } {
        // SAFETY: a helper without arguments.
        0 => unsafe { u64::from(bpf_get_prandom_u32()) << 32 | u64::from(bpf_get_prandom_u32()) },
        state => state,
    };
    // SAFETY: as above.
    unsafe {
        *state = old
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
    let mixed = (((old >> 18) ^ old) >> 27) as u32;
    mixed.rotate_right((old >> 59) as u32)
}

/// Counts a packet that no program of ours takes.
#[inline(always)]
pub(crate) fn count(counter: Counter) {
    let row = MOST_INSTANCES * COUNTER_ROW as u32;
    if let Some(count) = COUNTS.get_ptr_mut(row + counter as u32) {
        // SAFETY: this processor's own slot, and BPF programs of one kind do not nest on it.
        unsafe { *count += 1 };
    }
}
