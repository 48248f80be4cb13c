//! The engines in the kernel: the BPF programs of `crates/bpf`, and the maps that they share with the daemon.
//!
//! All links of a gateway share one set of programs and maps. File descriptors of this process own the
//! attachments, so that the kernel removes them however the process ends; and the maps and programs, unless
//! a [`Keeper`] has them for the next process.

mod arrivals;
mod attached;
mod dump;
mod found;
mod frames;
mod kept;
mod links;
mod map;
mod mechanisms;
#[cfg(test)]
mod object;
mod offline;
mod packed;
mod pins;
mod ranges;
mod routes;
mod stages;
mod stations;
mod tracer;
mod types;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use aya::programs::SchedClassifier;
use aya::programs::tc::{self, SchedClassifierLink, TcAttachType};
use aya::{Ebpf, EbpfLoader, VerifierLogLevel};
use isthmus_abi::banks::{self, Active};
use isthmus_abi::clock::OFFLINE;
use isthmus_abi::lines::{RULES, SHARES};
use isthmus_abi::programs::{Mechanisms, Slot};
use isthmus_abi::routes::{EPOCH, RANGES};
use isthmus_core::config::Instance;
use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::mechanism::instances::MOST_INSTANCES;
use isthmus_core::slow::shares::{self, Shares};
use isthmus_core::table::Seed;

use crate::counters::{Owner, Snapshot};
use crate::keeper::Keeper;
use crate::memory::{Region, Values};
use crate::ruleset::Ruleset;
use crate::sys;
use kept::Kept;
use links::{Links, Named};
use packed::{Packed, packed};
use ranges::Ranges;
use routes::RouteWatch;
use stages::Which;

pub use arrivals::{Arrivals, arrivals};
pub use attached::{LinkNow, is_deaf, takes_tags_off, xdp_abilities};
pub use found::{Found, Place, programs_on};
pub use frames::XdpAbilities;
pub use isthmus_abi::lines::STATE;
pub use isthmus_abi::programs::Hook;
pub use map::Plain;
pub use offline::KernelTranslator;
pub use pins::Pins;
pub use tracer::Tracer;

/// The programs for this processor, built by `crates/bpf/build.sh` and committed, so that Isthmus is built without LLVM;
/// see `isthmus-atomic` for how processors differ.
#[cfg(target_arch = "x86_64")]
static OBJECT: Option<Packed> = Some(packed!("isthmus"));
#[cfg(target_arch = "aarch64")]
static OBJECT: Option<Packed> = Some(packed!("isthmus-weakly-ordered"));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
static OBJECT: Option<Packed> = None;

/// Whether there are programs for this processor.
pub const HAS_PROGRAMS: bool = OBJECT.is_some();

/// The reason why the programs cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are no programs that keep their order of memory accesses on this processor; see `isthmus-atomic`.
    #[error(
        "the BPF programs run on x86-64 and aarch64 only, not on {}; give every interface `engine = \"user\"`",
        std::env::consts::ARCH
    )]
    Architecture,
    /// The kernel refuses the object.
    #[error("the kernel refuses the BPF programs: {0}")]
    Load(#[from] aya::EbpfError),
    /// The kernel refuses a program.
    #[error("the kernel refuses a BPF program: {0}")]
    Program(#[from] aya::programs::ProgramError),
    /// The kernel refuses to attach a program.
    #[error("the kernel does not attach a BPF program: {0}")]
    Attach(io::Error),
    /// The kernel refuses a map operation.
    #[error("the kernel refuses a BPF map: {0}")]
    Map(#[from] aya::maps::MapError),
    /// The memory of a map cannot be mapped.
    #[error("the memory of a BPF map cannot be used: {0}")]
    Memory(#[from] io::Error),
    /// Packets cannot be followed.
    #[error("packets cannot be followed: {0}")]
    Trace(io::Error),
    /// Announcements of links and routes cannot be received.
    #[error("links and routes cannot be watched: {0}")]
    Routes(io::Error),
    /// The kernel does not tell about a link or a program.
    #[error("the kernel does not tell about a link: {0}")]
    Asked(io::Error),
    /// The link does not exist.
    #[error("there is no link {name:?}: {error}")]
    Link {
        /// Name of the link.
        name: String,
        /// The error from the system.
        error: io::Error,
    },
    /// The object does not match this build.
    #[error("the BPF object has no {0}")]
    Missing(&'static str),
    /// The tables of a configuration exceed the memory that was reserved at the start.
    #[error(
        "the tables of the configuration take {needed} lines of 64 bytes, and {room} are \
         reserved at the start: restart the gateway to make room"
    )]
    Rules {
        /// Number of lines needed.
        needed: u32,
        /// Number of lines reserved.
        room: u32,
    },
}

/// The clock of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The kernel's `CLOCK_MONOTONIC`.
    Kernel,
    /// The times that the daemon passes with each packet. Random numbers come from a seed as well.
    Packets,
}

/// How an XDP program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the driver.
    Native,
    /// By the network stack.
    Generic,
}

/// Lines of rules memory that are reserved at least, so that a reload may add mappings.
const SPARE_RULES: u32 = 4096;

/// An attachment to the ingress of a link, which ends when it is dropped.
#[derive(Debug)]
enum TcLink {
    /// By a descriptor.
    Held(OwnedFd),
    /// By a filter, on kernels before 6.6.
    Filter { _link: SchedClassifierLink },
}

/// The programs and their maps.
#[derive(Debug)]
pub struct Programs {
    ebpf: Ebpf,
    /// The hooks in use, whose programs are loaded.
    hooks: Vec<Hook>,
    /// The programs that a hook gets which is not in use yet.
    which: Which,
    /// The mechanisms that the programs are loaded for; `None` before any are.
    mechanisms: Option<Mechanisms>,
    /// Whether the programs are loaded for all mechanisms, whatever the configuration has.
    all: bool,
    /// The instances of the active configuration.
    active: Vec<Instance>,
    /// Loaded programs of an earlier process.
    taken: HashMap<&'static str, OwnedFd>,
    keeper: Option<Arc<dyn Keeper>>,
    xdp_links: HashMap<String, OwnedFd>,
    tc_links: HashMap<String, TcLink>,
    /// Number of lines of the state memory.
    state_lines: u32,
    rules: Region,
    instances: Values<Instance>,
    /// Number of lines of each of the two banks of rules.
    room: u32,
    /// The active bank.
    bank: u32,
    /// Present only where there are packets to forward.
    watch: Option<RouteWatch>,
}

impl Programs {
    /// Creates the maps of the programs, with memory for `state_lines` lines of state and for rule tables of twice
    /// `rule_lines`. What an earlier process has left with `keeper` is taken instead, as far as it is large enough. No
    /// instance is active yet. `hooks` are those whose programs are loaded without a link: see [`load`](Self::load).
    ///
    /// # Errors
    /// [`Error`]. Nothing but what is kept stays in the kernel then.
    pub fn new(
        hooks: &[Hook],
        state_lines: u32,
        rule_lines: u32,
        clock: Clock,
        keeper: Option<Arc<dyn Keeper>>,
    ) -> Result<Self, Error> {
        let object = OBJECT.as_ref().ok_or(Error::Architecture)?;
        let state_lines = state_lines.max(1);
        let kept = match &keeper {
            Some(keeper) => Kept::find(&**keeper, state_lines, rule_lines.saturating_mul(2)),
            None => Kept::default(),
        };
        let room = rule_lines.saturating_mul(2).max(SPARE_RULES);
        let (state_entries, rule_entries, rules) = kept.sizes(state_lines, room * 2);
        let room = rules / 2;
        let offline = u8::from(clock == Clock::Packets);
        let mut ebpf = EbpfLoader::new()
            .map_max_entries(STATE, state_entries)
            .map_max_entries(RULES, rule_entries)
            .override_global(OFFLINE, &offline, true)
            // The complete log of a refusal has hundreds of megabytes and takes minutes to write.
            .verifier_log_level(VerifierLogLevel::STATS)
            .load(&object.unpack())?;
        if let Some(keeper) = &keeper {
            kept.take(&mut ebpf, &**keeper)?;
        }
        let rules = map::region(&ebpf, RULES, room * 2)?;
        let instances = map::instances(&ebpf)?;
        Ok(Self {
            ebpf,
            hooks: hooks.to_vec(),
            which: Which::First,
            mechanisms: None,
            all: clock == Clock::Packets,
            active: Vec::new(),
            taken: HashMap::new(),
            keeper,
            xdp_links: HashMap::new(),
            tc_links: HashMap::new(),
            state_lines,
            rules,
            instances,
            room,
            bank: 0,
            watch: None,
        })
    }

    /// Keeps the links' properties and the route cache of the programs up to date. Without this call the programs
    /// know no VLANs, send to any link, and ask the kernel for the route of every packet. Translated packets
    /// that arrived on the links `by_kernel`, or on VLANs of them, go to the kernel. All others leave by the
    /// routing table. Nobody on the links `outside`, or on VLANs of them, opens sessions like an inside host.
    ///
    /// # Errors
    /// A link does not exist, or the kernel refuses to announce changes.
    pub fn watch_kernel(&mut self, by_kernel: &[&str], outside: &[&str]) -> Result<(), Error> {
        for name in by_kernel.iter().chain(outside) {
            number_of(name)?;
        }
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let named = Named {
            by_kernel: owned(by_kernel),
            outside: owned(outside),
        };
        let links = Links::new(&mut self.ebpf, named)?;
        let epoch = map::region(&self.ebpf, EPOCH, 1)?;
        let ranges = Ranges::new(map::region(&self.ebpf, RANGES, ranges::LINES)?);
        self.watch = Some(RouteWatch::start(epoch, ranges, links).map_err(Error::Routes)?);
        Ok(())
    }

    /// Whether the memory is large enough for a configuration of this many lines.
    fn has_room(&self, state_lines: u32, rule_lines: u32) -> bool {
        state_lines <= self.state_lines && rule_lines <= self.room
    }

    /// Returns the memory for bindings, sessions and fragments: the first `lines` of the reserved memory.
    ///
    /// # Errors
    /// The map cannot be mapped.
    pub fn state(&self, lines: u32) -> Result<Region, Error> {
        map::region(&self.ebpf, STATE, lines)
    }

    /// Returns the shares of the slow path, of which `secret` hides whose are where.
    ///
    /// # Errors
    /// The map cannot be mapped.
    pub fn shares(&self, secret: &Seed) -> Result<Shares<Region>, Error> {
        let shares = Shares(map::region(&self.ebpf, SHARES, shares::LINES)?);
        shares.set_secret(secret);
        Ok(shares)
    }

    /// Loads the programs of a hook, unless they are: for links that will have them, or without one. Those [that can
    /// wait](Slot::can_wait) wait for [`load_rest`](Self::load_rest), unless that was called before.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn load(&mut self, hook: Hook) -> Result<(), Error> {
        if !self.hooks.contains(&hook) {
            let active = self.active.clone();
            self.load_programs(hook, self.which, &active)?;
            self.hooks.push(hook);
        }
        Ok(())
    }

    /// Loads the programs that could wait, of all hooks in use. Until then user space has their packets. A hook that
    /// comes into use later gets them at once.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn load_rest(&mut self) -> Result<(), Error> {
        let active = self.active.clone();
        self.load_all(&active)?;
        self.which = Which::All;
        Ok(())
    }

    /// Activates a configuration after loading the programs that it needs: those of its mechanisms and no others, and of the hooks in use. A packet sees either the old or the new
    /// configuration as a whole. Returns when no packet sees the old one any more.
    ///
    /// # Errors
    /// [`Error`]. The old configuration stays active.
    pub fn put(&mut self, ruleset: &Ruleset) -> Result<(), Error> {
        let needed = ruleset.tables().lines();
        if needed > self.room {
            return Err(Error::Rules {
                needed,
                room: self.room,
            });
        }
        self.load_for(ruleset.instances())?;
        // A kernel that cannot wait says so before anything has changed.
        sys::can_wait_for_bpf_programs()?;
        let bank = 1 - self.bank;
        let base = bank * self.room;
        map::copy(ruleset.tables(), &self.rules, base);
        let instances = ruleset.instances();
        for (number, instance) in (0..).zip(instances) {
            let place = banks::place(bank, number);
            self.instances.put(place, moved(*instance, base));
        }
        map::activate(&mut self.ebpf, Active::new(bank, instances.len() as u8))?;
        self.active = instances.to_vec();
        // The next reload writes to the free bank. No program reads it by then.
        self.bank = bank;
        // Programs on no link have no packets to wait for.
        if !(self.xdp_links.is_empty() && self.tc_links.is_empty()) {
            sys::wait_for_bpf_programs()?;
        }
        Ok(())
    }

    /// Attaches the XDP program to a link, after loading the programs of this hook unless they are. If there is an
    /// attachment to a link of this name, it ends.
    ///
    /// # Errors
    /// No configuration is active, or the kernel refuses.
    pub fn attach_xdp(&mut self, interface: &str, mode: Mode) -> Result<(), Error> {
        self.load(Hook::Xdp)?;
        self.detach(interface);
        let mode = match mode {
            Mode::Native => sys::bpf::XdpMode::Driver,
            Mode::Generic => sys::bpf::XdpMode::Stack,
        };
        let program = self.program(Slot::Base.name(Hook::Xdp))?;
        let link =
            sys::bpf::attach_xdp(program, number_of(interface)?, mode).map_err(Error::Attach)?;
        self.xdp_links.insert(interface.to_owned(), link);
        Ok(())
    }

    /// Attaches the tc program to the ingress of a link, likewise.
    ///
    /// # Errors
    /// No configuration is active, or the kernel refuses.
    pub fn attach_tc(&mut self, interface: &str) -> Result<(), Error> {
        self.load(Hook::Tc)?;
        self.detach(interface);
        let link = if attached::has_tcx() {
            let program = self.program(Slot::Base.name(Hook::Tc))?;
            let link =
                sys::bpf::attach_tc(program, number_of(interface)?).map_err(Error::Attach)?;
            TcLink::Held(link)
        } else {
            // It may exist already. Later kernels do not need it, and it would stay behind.
            let _exists = tc::qdisc_add_clsact(interface);
            TcLink::Filter {
                _link: self.filter(interface)?,
            }
        };
        self.tc_links.insert(interface.to_owned(), link);
        Ok(())
    }

    /// Ends the attachment to a link of this name, if there is one.
    fn detach(&mut self, interface: &str) {
        self.xdp_links.remove(interface);
        self.tc_links.remove(interface);
    }

    /// Whether the program of a hook is still on the link with this number.
    ///
    /// # Errors
    /// The kernel does not tell, or the program was never loaded.
    pub fn is_attached(&self, hook: Hook, link: u32) -> Result<bool, Error> {
        let program = self.program(Slot::Base.name(hook))?;
        let number = sys::bpf::program_id(program).map_err(Error::Asked)?;
        let there = attached::programs(hook, link).map_err(Error::Asked)?;
        Ok(there.contains(&number))
    }

    /// Returns all counts since the start, by owner.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn counters(&self) -> Result<Vec<(Owner, Snapshot)>, Error> {
        map::counters(&self.ebpf, MOST_INSTANCES)
    }

    /// Loads the programs that these instances need. If the programs are not loaded for a mechanism of theirs, all are
    /// loaded anew, for it as well, and take the places of the old ones on the links.
    ///
    /// # Errors
    /// The kernel refuses. The old programs stay.
    fn load_for(&mut self, instances: &[Instance]) -> Result<(), Error> {
        let wanted = if self.all {
            mechanisms::ALL
        } else {
            mechanisms::of(instances)
        };
        let before = self.mechanisms;
        let wanted = match before {
            Some(before) if mechanisms::with(before, wanted) == before => {
                return self.load_all(instances);
            }
            Some(before) => mechanisms::with(before, wanted),
            None => wanted,
        };
        let loaded = self.load_anew(wanted, instances);
        if loaded.is_err()
            && let Some(before) = before
        {
            let active = self.active.clone();
            self.load_anew(before, &active)?;
        }
        loaded
    }

    /// Loads the programs that these instances need for these mechanisms.
    fn load_anew(&mut self, wanted: Mechanisms, instances: &[Instance]) -> Result<(), Error> {
        self.taken.clear();
        stages::unload(&mut self.ebpf)?;
        mechanisms::set(&self.ebpf, &wanted)?;
        self.mechanisms = Some(wanted);
        if let Some(keeper) = &self.keeper {
            self.taken = kept::programs(&**keeper, &wanted);
        }
        self.load_all(instances)?;
        self.move_links()
    }

    /// Loads the programs of all hooks that these instances need.
    fn load_all(&mut self, instances: &[Instance]) -> Result<(), Error> {
        for hook in self.hooks.clone() {
            self.load_programs(hook, Which::All, instances)?;
        }
        Ok(())
    }

    /// Loads programs of a hook that these instances need.
    fn load_programs(
        &mut self,
        hook: Hook,
        which: Which,
        instances: &[Instance],
    ) -> Result<(), Error> {
        let loaded = stages::load(&mut self.ebpf, hook, which, instances, &self.taken)?;
        if let (Some(keeper), Some(mechanisms)) = (&self.keeper, &self.mechanisms)
            && attached::is_descriptor(hook)
        {
            for (name, program) in loaded {
                kept::keep(&**keeper, mechanisms, name, program.as_fd());
            }
        }
        Ok(())
    }

    /// Puts the loaded programs on the links in place of those that are there, none of which misses a packet. An attachment
    /// that somebody else has ended meanwhile, or a link that is gone, is let go: [`is_attached`](Self::is_attached) tells.
    fn move_links(&mut self) -> Result<(), Error> {
        let program = |hook: Hook| self.program(Slot::Base.name(hook));
        let mut gone = Vec::new();
        for (interface, link) in &self.xdp_links {
            if sys::bpf::update_link(link.as_fd(), program(Hook::Xdp)?).is_err() {
                gone.push(interface.clone());
            }
        }
        let mut filters = Vec::new();
        for (interface, link) in &self.tc_links {
            match link {
                TcLink::Held(link) => {
                    if sys::bpf::update_link(link.as_fd(), program(Hook::Tc)?).is_err() {
                        gone.push(interface.clone());
                    }
                }
                TcLink::Filter { .. } => filters.push(interface.clone()),
            }
        }
        for interface in filters {
            match self.filter(&interface) {
                // The old filter ends after the new one is there.
                Ok(filter) => {
                    let filter = TcLink::Filter { _link: filter };
                    self.tc_links.insert(interface, filter);
                }
                Err(_) => gone.push(interface),
            }
        }
        for interface in gone {
            self.detach(&interface);
        }
        Ok(())
    }

    /// Returns a loaded program.
    fn program(&self, name: &'static str) -> Result<BorrowedFd<'_>, Error> {
        if let Some(taken) = self.taken.get(name) {
            return Ok(taken.as_fd());
        }
        let program = self.ebpf.program(name).ok_or(Error::Missing(name))?;
        Ok(program.fd()?.as_fd())
    }

    /// Attaches the tc program to a link by a filter.
    fn filter(&mut self, interface: &str) -> Result<SchedClassifierLink, Error> {
        let name = Slot::Base.name(Hook::Tc);
        let program = self.ebpf.program_mut(name).ok_or(Error::Missing(name))?;
        let program: &mut SchedClassifier = program.try_into()?;
        let link = program.attach(interface, TcAttachType::Ingress)?;
        Ok(program.take_link(link)?)
    }
}

/// Returns the number of a link.
fn number_of(interface: &str) -> Result<u32, Error> {
    sys::link_number(interface).map_err(|error| Error::Link {
        name: interface.to_owned(),
        error,
    })
}

/// Returns the instance with its tables at another place.
fn moved(mut instance: Instance, base: u32) -> Instance {
    if let Some(first) = instance.mechanism.rules_base_mut() {
        *first += base;
    }
    instance
}
