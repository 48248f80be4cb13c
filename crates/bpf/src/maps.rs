//! The maps that the programs share with the daemon.

use core::cell::Cell;

use aya_ebpf::btf_maps::{Array, PerCpuArray, ProgramArray};
use aya_ebpf::helpers::{bpf_get_prandom_u32, bpf_jiffies64, bpf_ktime_get_coarse_ns};
use aya_ebpf::macros::btf_map;
use isthmus_abi::banks::{self, Active, InstanceWords};
use isthmus_abi::clock::Clock;
use isthmus_abi::counts;
use isthmus_abi::lines::{LineWords, MMAPABLE};
use isthmus_abi::programs::{self, Mechanisms};
use isthmus_core::customer::{Customer, Queue};
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::reason::Counter;
use isthmus_core::slow::limiter;
use isthmus_core::slow::shares::{self, Shares};
use isthmus_core::table::{Buckets, Line, Memory, Placed, Position, Slots, Twin};

/// The instances of both banks.
#[btf_map]
pub(crate) static INSTANCES: Array<InstanceWords, { banks::ENTRIES as usize }, MMAPABLE> =
    Array::new();

/// Which bank is in force. It changes at once.
#[btf_map]
pub(crate) static ACTIVE: Array<Active, 1> = Array::new();

/// Time and random numbers of a test run; see [`OFFLINE`].
#[btf_map]
pub(crate) static CLOCK: Array<Clock, 1> = Array::new();

/// Whether [`CLOCK`] counts. Set before the program is loaded, so that the verifier leaves out
/// whichever does not apply.
#[unsafe(no_mangle)]
static OFFLINE: u8 = 0;

#[inline(always)]
pub(crate) fn offline() -> bool {
    // SAFETY: a read of a static; volatile, because the loader writes another value into it.
    unsafe { (&raw const OFFLINE).read_volatile() != 0 }
}

/// The mechanisms that are configured: all, as long as the loader does not say.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".rodata.mechanisms")]
static MECHANISMS: Mechanisms = [1; size_of::<Mechanisms>()];

/// Whether the mechanism with this number is configured.
#[inline(always)]
pub(crate) fn takes<const NUMBER: usize>() -> bool {
    let mechanisms = &raw const MECHANISMS;
    // SAFETY: as in `offline`; the number is in the list.
    unsafe { mechanisms.cast::<u8>().add(NUMBER).read_volatile() != 0 }
}

/// Bindings, sessions, fragments. The daemon sets the number of lines before it loads.
#[btf_map]
static STATE: Lines = Array::new();

/// Tables of the configuration. The daemon sets the number of lines before it loads.
#[btf_map]
static RULES: Lines = Array::new();

/// Counters by instance and [`Counter`].
#[btf_map]
static COUNTS: PerCpuArray<u64, { counts::ENTRIES as usize }> = PerCpuArray::new();

/// The XDP programs that others hand packets to.
#[btf_map]
pub(crate) static XDP_PROGRAMS: ProgramArray<{ programs::ENTRIES }> = ProgramArray::new();

/// The tc programs that others hand packets to. A program array takes one kind.
#[btf_map]
pub(crate) static TC_PROGRAMS: ProgramArray<{ programs::ENTRIES }> = ProgramArray::new();

/// Maps of lines, to which the loader gives their number.
type Lines = Array<LineWords, 1, MMAPABLE>;

#[inline(always)]
fn line<const ENTRIES: usize, const FLAGS: usize>(
    lines: &'static Array<LineWords, ENTRIES, FLAGS>,
    index: u32,
) -> Option<&'static Line> {
    let words = lines.get_ptr_mut(index)?;
    // SAFETY: a map value of 64 bytes, aligned to 8, shared with others only through atomic
    // operations; it outlives the program's run.
    Some(unsafe { &*words.cast::<Line>() })
}

/// The limits of the ICMP errors of instances, a line for each, of which the first word counts: see
/// [`limiter`](isthmus_core::slow::limiter).
#[btf_map]
static ICMP_ERRORS: Array<LineWords, { MOST_INSTANCES as usize }> = Array::new();

/// Whose packets user space is asked to take.
#[btf_map]
static SHARES: Array<LineWords, { shares::LINES as usize }, MMAPABLE> = Array::new();

/// The memory of [`SHARES`].
struct ShareLines;

impl Memory for ShareLines {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        line(&SHARES, index)
    }
}

/// Whether user space may be given a packet of a customer, whose words these are, by a queue; 0: no.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn take_share(queue: u32, high: u64, low: u64) -> u32 {
    let Some(queue) = Queue::from_number(queue) else {
        return 0;
    };
    let now = kept().map_or(0, Kept::now);
    let words = [high, low];
    u32::from(Shares(ShareLines).take(&Customer { queue, words }, now))
}

/// Whether user space may be asked for an ICMP error because of a customer's packet; 0: no. Its instance may send `rate` a
/// second.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn may_ask_for_error(high: u64, low: u64, instance: u32, rate: u32) -> u32 {
    let Some([full_at, ..]) = line(&ICMP_ERRORS, instance) else {
        return 0;
    };
    let now = kept().map_or(0, Kept::now);
    let (queue, words) = (Queue::Errors, [high, low]);
    let may = Shares(ShareLines).take_error(&Customer { queue, words }, now, rate)
        && limiter::take(full_at, rate, now);
    u32::from(may)
}

/// The memory of [`STATE`].
pub(crate) struct State;

impl Memory for State {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        line(&STATE, index)
    }

    #[inline(always)]
    fn insert(&self, table: Buckets, hash: u64, mask: u64, word: u64, twin: Twin) -> Placed {
        Placed::from_word(table_insert(number(table), hash, mask, word, twin as u32))
    }

    #[inline(always)]
    fn search(&self, table: Buckets, hash: u64, mask: u64, want: u64) -> u64 {
        table_search(number(table), hash, mask, want)
    }

    #[inline(always)]
    fn give_way(&self, table: Slots, hash: u64, owner: u64, share: u64) -> Position {
        Position(slots_give_way(
            number(table.control),
            table.first,
            hash,
            owner,
            share,
        ))
    }
}

/// A table as the global functions take it: its first line below its number of lines.
#[inline(always)]
fn number(table: Buckets) -> u64 {
    u64::from(table.count) << 32 | u64::from(table.first)
}

/// The table with this [`number`].
#[inline(always)]
fn buckets(at: u64) -> Buckets {
    Buckets {
        first: at as u32,
        count: (at >> 32) as u32,
    }
}

/// [`Memory::give_way`] as a global function; `at` is the [`number`] of the control lines.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn slots_give_way(at: u64, first: u32, hash: u64, owner: u64, share: u64) -> u32 {
    let control = buckets(at);
    let table = Slots { control, first };
    table.give_way(&State, hash, owner, share).0
}

/// [`Memory::search`] as a global function; `at` is the [`number`] of the table.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn table_search(at: u64, hash: u64, mask: u64, want: u64) -> u64 {
    buckets(at).get(&State, hash, mask, want).unwrap_or(0)
}

/// [`Memory::insert`] as a global function; `at` is the [`number`] of the table.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn table_insert(at: u64, hash: u64, mask: u64, word: u64, twin: u32) -> u64 {
    let twin = match twin {
        0 => Twin::Harmless,
        1 => Twin::NotFound,
        _ => Twin::Unknown,
    };
    buckets(at)
        .insert_into(&State, hash, mask, word, twin)
        .to_word()
}

/// The memory of [`RULES`].
pub(crate) struct Rules;

impl Memory for Rules {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        line(&RULES, index)
    }
}

/// The [`Kept`] of each processor.
#[btf_map]
static KEPT: PerCpuArray<[u64; 6], 1> = PerCpuArray::new();

/// A processor's own clock and random numbers. Nobody else looks, and no program of ours interrupts another.
#[repr(C)]
pub(crate) struct Kept {
    /// The state of the random numbers; 0 before the first.
    random: Cell<u64>,
    /// The number of the tick in which the time was last asked for.
    tick: Cell<u64>,
    /// The answer, in nanoseconds.
    time: Cell<u64>,
    /// 0, always. The verifier takes what is in a map for any value.
    zero: Cell<u64>,
    /// The words of the last [receiver](crate::owner::receiver).
    pub(crate) receiver: Cell<[u64; 2]>,
}

/// This processor's.
#[inline(always)]
pub(crate) fn kept() -> Option<&'static Kept> {
    let words = KEPT.get_ptr_mut(0)?;
    // SAFETY: this processor's own; cells of plain old data, of the same size and alignment in all.
    Some(unsafe { &*words.cast::<Kept>() })
}

impl Kept {
    #[inline(always)]
    pub(crate) fn zero(&self) -> u64 {
        self.zero.get()
    }

    /// A random number: the upper half of a linear congruential generator (Knuth's MMIX), which is good enough for
    /// identifications and spares a call.
    #[inline(always)]
    pub(crate) fn random(&self) -> u32 {
        let old = match self.random.get() {
            // SAFETY: a helper without arguments.
            0 => unsafe {
                u64::from(bpf_get_prandom_u32()) << 32 | u64::from(bpf_get_prandom_u32())
            },
            state => state,
        };
        self.random.set(
            old.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        );
        (old >> 32) as u32
    }

    /// The time in nanoseconds, a few milliseconds late. The kernel's coarse clock stands still from one tick to the
    /// next, and the number of the tick is one load, where the clock is three calls of some 50 instructions.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        // SAFETY: a helper without arguments.
        let tick = unsafe { bpf_jiffies64() };
        if self.tick.get() != tick {
            self.tick.set(tick);
            // SAFETY: a helper without arguments.
            self.time.set(unsafe { bpf_ktime_get_coarse_ns() });
        }
        self.time.get()
    }
}

/// Counts a packet that no program of ours takes.
#[inline(always)]
pub(crate) fn count(counter: Counter) {
    count_in(counts::OF_GATEWAY, counter);
}

/// Counts in the row of an instance or of the gateway.
#[inline(always)]
pub(crate) fn count_in(row: u32, counter: Counter) {
    if let Some(count) = COUNTS.get_ptr_mut(counts::place(row, counter)) {
        // SAFETY: this processor's own slot, and BPF programs of one kind do not nest on it.
        unsafe { *count += 1 };
    }
}
