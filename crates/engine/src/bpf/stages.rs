//! The programs of a hook: which of them a configuration takes, and loading them.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::{iter, thread};

use aya::Ebpf;
use aya::maps::ProgramArray;
use aya::programs::{Program, ProgramFd};
use isthmus_core::mechanism::{AnyMechanism, Instance, Stage};

use super::Error;

/// Where in the kernel programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// In the driver.
    Xdp,
    /// In the traffic control layer.
    Tc,
}

/// A program, by its place in the array by which those of a hook hand packets on
/// (`crates/bpf/src/maps.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Takes packets first.
    Base,
    /// Makes sessions for packets from IPv4.
    OpenV4,
    /// Makes sessions for packets from IPv6.
    OpenV6,
    /// Shares IPv4 addresses by softwires.
    Softwires,
    /// Shares IPv4 addresses by translation.
    MapT,
}

impl Place {
    const ALL: [Self; 5] = [
        Self::Base,
        Self::OpenV4,
        Self::OpenV6,
        Self::Softwires,
        Self::MapT,
    ];

    /// Whether packets of a mechanism come to this program.
    fn takes(self, mechanism: &AnyMechanism) -> bool {
        match self {
            Self::Base => true,
            Self::OpenV4 | Self::OpenV6 => mechanism.opens_in_bpf(),
            Self::Softwires => mechanism.stage() == Stage::Softwires,
            Self::MapT => mechanism.stage() == Stage::MapT,
        }
    }

    const fn name(self, hook: Hook) -> &'static str {
        match (hook, self) {
            (Hook::Xdp, Self::Base) => "isthmus_xdp",
            (Hook::Xdp, Self::OpenV4) => "isthmus_xdp_open_v4",
            (Hook::Xdp, Self::OpenV6) => "isthmus_xdp_open_v6",
            (Hook::Xdp, Self::Softwires) => "isthmus_xdp_softwires",
            (Hook::Xdp, Self::MapT) => "isthmus_xdp_map_t",
            (Hook::Tc, Self::Base) => "isthmus_tc",
            (Hook::Tc, Self::OpenV4) => "isthmus_tc_open_v4",
            (Hook::Tc, Self::OpenV6) => "isthmus_tc_open_v6",
            (Hook::Tc, Self::Softwires) => "isthmus_tc_softwires",
            (Hook::Tc, Self::MapT) => "isthmus_tc_map_t",
        }
    }
}

impl Hook {
    /// The program that takes packets first.
    pub(super) const fn program(self) -> &'static str {
        Place::Base.name(self)
    }

    const fn array(self) -> &'static str {
        match self {
            Self::Xdp => "XDP_PROGRAMS",
            Self::Tc => "TC_PROGRAMS",
        }
    }
}

/// Loads the programs of a hook that packets of these instances come to, as far as they are not
/// loaded, and tells the others where they are. The kernel verifies each for a fraction of a second:
/// on all cores that there are for this process, and none that nobody needs.
pub(super) fn load(ebpf: &mut Ebpf, hook: Hook, instances: &[Instance]) -> Result<(), Error> {
    let needed = Place::ALL.into_iter().filter(|place| {
        let takes = |instance: &Instance| place.takes(&instance.mechanism);
        *place == Place::Base || instances.iter().any(takes)
    });
    let mut needed: HashMap<_, _> = needed.map(|place| (place.name(hook), place)).collect();
    let mut missing = Vec::new();
    for (name, program) in ebpf.programs_mut() {
        if let Some(place) = needed.remove(name)
            && program.fd().is_err()
        {
            missing.push((place, program));
        }
    }
    if let Some(name) = needed.into_keys().next() {
        return Err(Error::Missing(name));
    }
    let loaded = on_all_cores(missing, |(place, program)| Ok((place, load_one(program)?)))?;
    // Taken out of the object and dropped at the end, an array would be gone: a program array is
    // emptied when its last descriptor closes.
    let array = hook.array();
    let map = ebpf.map_mut(array).ok_or(Error::Missing(array))?;
    let mut array: ProgramArray<_> = map.try_into()?;
    for (place, descriptor) in loaded {
        array.set(place as u32, &descriptor, 0)?;
    }
    Ok(())
}

/// What `work` makes of each, or the first error.
fn on_all_cores<T: Send, R: Send>(
    tasks: Vec<T>,
    work: impl Fn(T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(tasks.len());
    let tasks = Mutex::new(tasks);
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let run = || {
        iter::from_fn(next)
            .map(&work)
            .collect::<Result<Vec<_>, _>>()
    };
    let done = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let ended = running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect::<Result<Vec<_>, _>>()
    })?;
    Ok(done.into_iter().flatten().collect())
}

fn load_one(program: &mut Program) -> Result<ProgramFd, Error> {
    match program {
        Program::Xdp(program) => program.load()?,
        Program::SchedClassifier(program) => program.load()?,
        _ => return Err(Error::Missing("program of XDP or tc by this name")),
    }
    Ok(program.fd()?.try_clone()?)
}
