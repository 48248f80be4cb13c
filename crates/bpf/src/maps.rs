//! The maps that the programs share with the daemon, and the [`Host`] that they make up.

use core::cell::Cell;

use aya_ebpf::btf_maps::{Array, PerCpuArray, ProgramArray};
use aya_ebpf::helpers::{bpf_get_prandom_u32, bpf_ktime_get_coarse_ns};
use aya_ebpf::macros::btf_map;
use isthmus_abi::banks::{self, Active, InstanceWords};
use isthmus_abi::clock::Clock;
use isthmus_abi::counts;
use isthmus_abi::lines::{LineWords, MMAPABLE};
use isthmus_abi::programs::{self, Slot};
use isthmus_core::address::eam::MappedV4;
use isthmus_core::address::softwire::Customer;
use isthmus_core::address::{V4, V6};
use isthmus_core::config::{EamTable, Instance, Mechanism, SoftwireTable};
use isthmus_core::encap::tunnel_error::telling_protocol;
use isthmus_core::host::{Destination, Host, Instances, Mechanisms, Route, Sessions};
use isthmus_core::mechanism;
use isthmus_core::packet::Packet;
use isthmus_core::reason::Counter;
use isthmus_core::table::{Line, Memory, Place};
use isthmus_core::time::Instant;
use isthmus_core::verdict::Slow;
use isthmus_core::wire::{ipv4, ipv6, protocol};

use crate::route::Egress;
use crate::search;
use crate::stage::Stage;

/// The instances of both banks.
#[btf_map]
static INSTANCES: Array<InstanceWords, { banks::ENTRIES as usize }, MMAPABLE> = Array::new();

/// Which bank is in force. It changes at once.
#[btf_map]
static ACTIVE: Array<Active, 1> = Array::new();

/// Time and chance where the daemon decides on them; see [`OFFLINE`].
#[btf_map]
static CLOCK: Array<Clock, 1> = Array::new();

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
static STATE: Array<LineWords, 1, MMAPABLE> = Array::new();

/// Tables of the configuration. The daemon sets the number of lines before it loads.
#[btf_map]
static RULES: Array<LineWords, 1, MMAPABLE> = Array::new();

/// Counters by instance and [`Counter`].
#[btf_map]
static COUNTS: PerCpuArray<u64, { counts::ENTRIES as usize }> = PerCpuArray::new();

/// The XDP programs that others hand packets to.
#[btf_map]
pub(crate) static XDP_PROGRAMS: ProgramArray<{ programs::ENTRIES }> = ProgramArray::new();

/// The tc programs that others hand packets to. A program array takes one kind.
#[btf_map]
pub(crate) static TC_PROGRAMS: ProgramArray<{ programs::ENTRIES }> = ProgramArray::new();

/// See [`Slot::First`].
pub(crate) const FIRST: u32 = Slot::First as u32;
/// See [`Slot::OpenV4`].
pub(crate) const OPEN_V4: u32 = Slot::OpenV4 as u32;
/// See [`Slot::OpenV6`].
pub(crate) const OPEN_V6: u32 = Slot::OpenV6 as u32;
/// See [`Slot::Sharing`].
pub(crate) const SHARING: u32 = Slot::Sharing as u32;
/// See [`Slot::MapT`].
pub(crate) const MAP_T: u32 = Slot::MapT as u32;

/// [`INSTANCES`] as the core wants them: those that were in force when the packet came.
#[derive(Clone, Copy)]
pub(crate) struct Configured {
    active: Active,
}

impl Configured {
    /// The configuration in force.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        // SAFETY: an aligned word that the daemon writes at once.
        let active = ACTIVE
            .get_ptr(0)
            .map_or(Active(0), |active| unsafe { active.read_volatile() });
        Self { active }
    }

    /// The instance that an IPv4 packet belongs to, for [`Chosen`]. `told` says what [`telling_protocol`]
    /// does of an ICMP message.
    #[inline(always)]
    pub(crate) fn search_v4<P: Packet>(self, packet: &P, told: impl Fn() -> u8) -> u64 {
        if self.only().is_some() {
            return ONLY;
        }
        match ipv4::Header::read(packet, 0) {
            Ok(header) => {
                let protocol = match header.protocol() {
                    protocol::ICMP => told(),
                    other => other,
                };
                self.find(&header, protocol)
            }
            Err(_) => search::NOTHING,
        }
    }

    /// The instance that an IPv6 packet belongs to, for [`Chosen`].
    #[inline(always)]
    pub(crate) fn search_v6<P: Packet>(self, packet: &P) -> u64 {
        if self.only().is_some() {
            return ONLY;
        }
        match ipv6::Header::read(packet, 0) {
            Ok(header) => {
                let (from, to) = (header.source().halves(), header.destination().halves());
                search::instance_v6(from.0, from.1, to.0, to.1, self.number())
            }
            Err(_) => search::NOTHING,
        }
    }

    #[inline(always)]
    fn find(self, header: &ipv4::Header, protocol: u8) -> u64 {
        let (source, destination) = (header.source(), header.destination());
        search::instance_v4(source.0.0, destination.0.0, protocol, self.number())
    }

    /// The mechanism of the instance that a search found; `None` if it found none.
    #[inline(always)]
    pub(crate) fn mechanism(&self, searched: u64) -> Option<&Mechanism> {
        let index = match searched {
            ONLY => 0,
            other => search::number(other)?,
        };
        Some(&self.get(index)?.mechanism)
    }

    /// The instance of a gateway that has one, as most have.
    #[inline(always)]
    fn only(&self) -> Option<&Instance> {
        if self.active.count() == 1 {
            self.get(0)
        } else {
            None
        }
    }

    /// The same as a number, for a search.
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        self.active.0
    }

    /// What [`number`](Self::number) gave.
    #[inline(always)]
    pub(crate) fn from_number(active: u64) -> Self {
        Self {
            active: Active(active),
        }
    }
}

impl Instances for Configured {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        if index >= u32::from(self.active.count()) {
            return None;
        }
        let words = INSTANCES.get_ptr(banks::place(self.active.bank(), index))?;
        // SAFETY: the daemon writes valid instances into a bank before it puts it in force, and
        // changes none before every program that may have seen it has ended. The words are read as
        // an instance only: padding is not looked at.
        Some(unsafe { &*words.cast::<Instance>() })
    }

    #[inline(always)]
    fn find_v4<H: Host>(
        &self,
        _host: &H,
        header: &ipv4::Header,
        protocol: impl Fn() -> u8,
    ) -> Option<u32> {
        search::number(self.find(header, protocol()))
    }

    #[inline(always)]
    fn find_v6<H: Host>(&self, _host: &H, source: V6, destination: V6) -> Option<u32> {
        let (from, to) = (source.halves(), destination.halves());
        search::number(search::instance_v6(
            from.0,
            from.1,
            to.0,
            to.1,
            self.number(),
        ))
    }

    #[inline(always)]
    fn pools_own(&self, destination: V4) -> bool {
        if let Some(only) = self.only()
            && let Mechanism::Nat64(nat64) = &only.mechanism
            && !nat64.nat.pool.is_near(destination)
        {
            return false;
        }
        search::pools_own(destination.0.0, self.number()) != 0
    }
}

/// The instances, when the one that the packet belongs to has been searched for already: the search
/// is not called from where the stack is full.
pub(crate) struct Chosen {
    pub(crate) configured: Configured,
    /// What [`Configured::search_v4`] or [`Configured::search_v6`] answered.
    pub(crate) searched: u64,
}

impl Instances for Chosen {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Instance> {
        self.configured.get(index)
    }

    #[inline(always)]
    fn find_v4<H: Host>(
        &self,
        host: &H,
        header: &ipv4::Header,
        protocol: impl Fn() -> u8,
    ) -> Option<u32> {
        if self.searched != ONLY {
            return search::number(self.searched);
        }
        let only = self.configured.get(0)?;
        let (source, destination) = (header.source(), header.destination());
        mechanism::owns_v4(host, only, source, destination, protocol).then_some(0)
    }

    #[inline(always)]
    fn find_v6<H: Host>(&self, host: &H, source: V6, destination: V6) -> Option<u32> {
        if self.searched != ONLY {
            return search::number(self.searched);
        }
        let only = self.configured.get(0)?;
        mechanism::owns_v6(host, only, source, destination).then_some(0)
    }

    #[inline(always)]
    fn pools_own(&self, destination: V4) -> bool {
        self.configured.pools_own(destination)
    }
}

/// What [`telling_protocol`] says of a packet.
#[inline(always)]
pub(crate) fn told<P: Packet>(packet: &P) -> u32 {
    ipv4::Header::read(packet, 0).map_or(0, |header| telling_protocol(packet, &header).into())
}

/// Instead of the answer of a search: the gateway has one instance, and whether the packet belongs
/// to it is seen on the way.
const ONLY: u64 = search::NOTHING - 1;

/// A memory of lines in a map.
pub(crate) struct Lines(&'static Array<LineWords, 1, MMAPABLE>);

impl Memory for Lines {
    #[inline(always)]
    fn line(&self, index: u32) -> Option<&Line> {
        let words = self.0.get_ptr_mut(index)?;
        // SAFETY: a map value of 64 bytes, aligned to 8, shared with others only through atomic
        // operations; it outlives the program's run.
        Some(unsafe { &*words.cast::<Line>() })
    }
}

const STATE_LINES: Lines = Lines(&STATE);
pub(crate) const RULE_LINES: Lines = Lines(&RULES);

/// State of the random numbers of each processor.
#[btf_map]
static CHANCE: PerCpuArray<u64, 1> = PerCpuArray::new();

/// A random number of this processor's own generator (PCG-XSH-RR, M. O'Neill 2014), which is about
/// as good as the kernel's and spares the call.
#[inline(always)]
fn next_random() -> u32 {
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
    let place = counts::place(counts::OF_GATEWAY, counter);
    if let Some(count) = COUNTS.get_ptr_mut(place) {
        // SAFETY: this processor's own slot, and BPF programs of one kind do not nest on it.
        unsafe { *count += 1 };
    }
}

/// What the core is lent for one packet.
pub(crate) struct Services<S, E> {
    /// The way out, once it is known.
    pub(crate) egress: E,
    row: u32,
    /// The time, once it was asked for; 0 before.
    now: Cell<u64>,
    stage: S,
}

impl<S: Stage, E> Services<S, E> {
    #[inline(always)]
    pub(crate) fn new(egress: E) -> Self {
        Self {
            egress,
            row: counts::OF_GATEWAY,
            now: Cell::new(0),
            stage: S::default(),
        }
    }
}

impl<S: Stage, E: Egress> Host for Services<S, E> {
    const MECHANISMS: Mechanisms = S::MECHANISMS;
    const SESSIONS: Sessions = S::SESSIONS;
    type State = Lines;
    type Rules = Lines;

    #[inline(always)]
    fn state(&self) -> &Lines {
        &STATE_LINES
    }

    #[inline(always)]
    fn rules(&self) -> &Lines {
        &RULE_LINES
    }

    #[inline(always)]
    fn find_eam_v4(&self, table: &EamTable, address: V4) -> Option<Place> {
        if !table.may_cover(address) {
            return None;
        }
        let at = search::at(table);
        let place = match self.stage.recall(at, address) {
            Some(place) => place,
            None => match table.v4_length {
                EamTable::SEVERAL => search::eam_v4(at, table.v4_lengths, address.0.0),
                length => search::eam_v4_probe(at, address.0.0, length),
            },
        };
        self.stage.remember(at, address, place);
        search::number(place).map(Place)
    }

    #[inline(always)]
    fn map_eam_v6(&self, table: &EamTable, address: V6) -> Option<MappedV4> {
        if table.lines == 0 {
            return None;
        }
        let [short, long, _] = table.v6_lengths;
        let (high, low) = address.halves();
        search::mapped(search::eam_v6(search::at(table), short, long, high, low))
    }

    #[inline(always)]
    fn find_softwire(&self, table: &SoftwireTable, customer: Customer) -> Option<Place> {
        let found = search::softwire(table.base, table.lines, customer.0);
        search::number(found).map(Place)
    }

    #[inline(always)]
    fn now(&self) -> Instant {
        if offline() {
            // SAFETY: a word that nobody changes while the program runs.
            let now = CLOCK.get_ptr(0).map_or(0, |clock| unsafe { (*clock).now });
            return Instant::from_nanos(now);
        }
        if self.now.get() == 0 {
            // A few milliseconds late, but it does not ask the hardware.
            // SAFETY: a helper without arguments.
            self.now.set(unsafe { bpf_ktime_get_coarse_ns() });
        }
        Instant::from_nanos(self.now.get())
    }

    #[inline(always)]
    fn random(&mut self) -> u32 {
        if offline() {
            let Some(clock) = CLOCK.get_ptr_mut(0) else {
                return 0;
            };
            // A linear congruential generator (Knuth's MMIX); its upper half is good enough here.
            // SAFETY: offline there is one packet at a time.
            unsafe {
                (*clock).random = (*clock)
                    .random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                return ((*clock).random >> 32) as u32;
            }
        }
        match S::SESSIONS {
            // Identifications: nothing that is a secret.
            Sessions::Established => next_random(),
            // SAFETY: a helper without arguments.
            _ => unsafe { bpf_get_prandom_u32() },
        }
    }

    #[inline(always)]
    fn select(&mut self, instance: u32) {
        self.row = counts::of_instance(instance);
    }

    #[inline(always)]
    fn count(&mut self, counter: Counter) {
        if let Some(count) = COUNTS.get_ptr_mut(counts::place(self.row, counter)) {
            // SAFETY: this processor's own slot, and BPF programs of one kind do not nest on it.
            unsafe { *count += 1 };
        }
    }

    #[inline(always)]
    fn route(&mut self, to: Destination) -> Result<Option<Route>, Slow> {
        self.egress.find(to)
    }
}
