//! The programs of a hook: selects those that a configuration needs, and loads them.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::{iter, thread};

use aya::Ebpf;
use aya::maps::ProgramArray;
use aya::programs::{Program, ProgramError, ProgramFd};
use isthmus_abi::programs::{Hook, Slot};
use isthmus_core::mechanism::{AnyMechanism, Instance};

use super::Error;

/// How often a program is loaded that signals interrupt.
const TRIES: u32 = 8;

/// The programs of a hook that are to be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// Those without which most packets would go to user space.
    First,
    /// All.
    All,
}

/// Loads those programs of a hook that packets of these instances reach, unless they are loaded already or were
/// `taken` over, and enters them in the program array. Returns those that it has loaded. The kernel takes a
/// fraction of a second to verify each, so that this uses all cores available to this process and loads no unneeded
/// program.
pub(super) fn load(
    ebpf: &mut Ebpf,
    hook: Hook,
    which: Which,
    instances: &[Instance],
    taken: &HashMap<&'static str, OwnedFd>,
) -> Result<Vec<(&'static str, ProgramFd)>, Error> {
    let wanted = Slot::ALL.into_iter();
    let wanted = wanted.filter(|slot| which == Which::All || !slot.can_wait());
    let needed = wanted.filter(|slot| {
        let takes = |instance: &Instance| {
            let number = instance.mechanism.number();
            slot.takes(AnyMechanism::IN_BPF[number])
        };
        *slot == Slot::Base || instances.iter().any(takes)
    });
    let needed = needed.map(|slot| (slot.name(hook), slot));
    let mut needed: HashMap<_, _> = needed
        .filter(|(name, _)| !taken.contains_key(name))
        .collect();
    let mut missing = Vec::new();
    for (name, program) in ebpf.programs_mut() {
        if let Some(slot) = needed.remove(name)
            && program.fd().is_err()
        {
            missing.push((slot, program));
        }
    }
    if let Some(name) = needed.into_keys().next() {
        return Err(Error::Missing(name));
    }
    let loaded = on_all_cores(missing, |(slot, program)| Ok((slot, load_one(program)?)))?;
    // Dropping the program array would empty it: the kernel clears a program array when its last descriptor
    // closes.
    let array = hook.array();
    let map = ebpf.map_mut(array).ok_or(Error::Missing(array))?;
    let mut array: ProgramArray<_> = map.try_into()?;
    for (slot, descriptor) in &loaded {
        array.set(*slot as u32, descriptor, 0)?;
    }
    let loaded = loaded.into_iter();
    Ok(loaded
        .map(|(slot, program)| (slot.name(hook), program))
        .collect())
}

/// Lets go of all programs that are loaded. Those on links, and in program arrays, stay until others take their places.
pub(super) fn unload(ebpf: &mut Ebpf) -> Result<(), Error> {
    for (_, program) in ebpf.programs_mut() {
        match program {
            Program::Xdp(program) if program.fd().is_ok() => program.unload()?,
            Program::SchedClassifier(program) if program.fd().is_ok() => program.unload()?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns the result of `work` for each, or the first error.
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

/// Loads a program. The verifier gives up with `EAGAIN` at a signal, which every thread has when the machine or the
/// container is suspended.
fn load_one(program: &mut Program) -> Result<ProgramFd, Error> {
    let mut tries = 1..TRIES;
    loop {
        let loaded = match program {
            Program::Xdp(program) => program.load(),
            Program::SchedClassifier(program) => program.load(),
            _ => return Err(Error::Missing("program of XDP or tc by this name")),
        };
        match loaded {
            Err(error) if is_interrupted(&error) && tries.next().is_some() => {}
            loaded => {
                loaded?;
                return Ok(program.fd()?.try_clone()?);
            }
        }
    }
}

/// Whether the verifier gave up because of a signal.
fn is_interrupted(error: &ProgramError) -> bool {
    matches!(error, ProgramError::LoadError { io_error, .. } if io_error.raw_os_error() == Some(libc::EAGAIN))
}
