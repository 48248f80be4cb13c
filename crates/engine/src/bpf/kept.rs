//! Programs and maps that an earlier process left with a [`Keeper`], so that the kernel need not verify the
//! programs again.
//!
//! The memory of sessions has a name of its own: another build's programs go on with it. Everything else has the
//! hash of the object in its name, and a program the mechanisms that it is loaded for. Maps take the places of those that the loader has just made, by their
//! descriptors. Programs that are loaded afterwards refer to them as well.

use std::collections::HashMap as Names;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use aya::Ebpf;
use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, PerCpuValues};
use aya::util::nr_cpus;
use isthmus_abi::banks::{ACTIVE, Active, INSTANCES};
use isthmus_abi::clock::CLOCK;
use isthmus_abi::counts::{self, COUNTS};
use isthmus_abi::lines::{RULES, SHARES, STATE};
use isthmus_abi::links::{LINKS, OWN, OWN_PLACES, STATIONS, VLANS};
use isthmus_abi::programs::{Hook, Mechanisms, Slot};
use isthmus_abi::routes::{EPOCH, RANGES};
use isthmus_core::table::Memory as _;

use super::{Error, OBJECT, attached, map, mechanisms};
use crate::keeper::Keeper;
use crate::sys;

/// The maps of the object, without those of constants and variables.
pub(super) const MAPS: [&str; 20] = [
    STATE,
    RULES,
    SHARES,
    INSTANCES,
    ACTIVE,
    CLOCK,
    COUNTS,
    LINKS,
    VLANS,
    STATIONS,
    OWN,
    EPOCH,
    RANGES,
    Hook::Xdp.array(),
    Hook::Tc.array(),
    "KEPT",
    "SUMMED",
    "ICMP_ERRORS",
    "FIB_LOOKUP",
    "NEXT_HOPS",
];

/// What an earlier process left.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The memory of sessions.
    state: Option<OwnedFd>,
    /// All other maps of this object; none if one is missing.
    maps: Names<&'static str, OwnedFd>,
}

/// The hash of the object.
static HASH: LazyLock<u64> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    OBJECT.hash(&mut hasher);
    hasher.finish()
});

/// The name under which a map or program of this object is kept.
fn label(name: &str) -> String {
    if name == STATE {
        return STATE.into();
    }
    format!("{:016x}-{name}", *HASH)
}

/// The number of entries of a map.
fn entries(map: &OwnedFd) -> Option<u32> {
    let map = MapData::from_fd(map.try_clone().ok()?).ok()?;
    Some(map.info().ok()?.max_entries())
}

/// The name under which a program of this object is kept that is loaded for these mechanisms.
fn program(name: &str, mechanisms: &Mechanisms) -> String {
    format!("{}-{}", label(name), mechanisms::label(mechanisms))
}

impl Kept {
    /// Looks for what is there. The memory has room for `state_lines`, or is not taken; the rules for
    /// `rule_lines`, or nothing but the memory is taken.
    pub(super) fn find(keeper: &dyn Keeper, state_lines: u32, rule_lines: u32) -> Self {
        let has_room = |map: &OwnedFd, lines| entries(map).is_some_and(|there| there >= lines);
        let state = keeper
            .get(STATE)
            .filter(|state| has_room(state, state_lines));
        if state.is_none() {
            // The programs refer to it.
            return Self::default();
        }
        let others = MAPS.into_iter().filter(|name| *name != STATE);
        let maps: Option<Names<_, _>> = others
            .map(|name| {
                let map = keeper.get(&label(name))?;
                let fits = name != RULES || has_room(&map, rule_lines);
                fits.then_some((name, map))
            })
            .collect();
        Self {
            state,
            maps: maps.unwrap_or_default(),
        }
    }

    /// How many entries the loader's own maps of memory and rules need, and how many lines of rules there are.
    pub(super) fn sizes(&self, state_lines: u32, rule_lines: u32) -> (u32, u32, u32) {
        let state = if self.state.is_some() { 1 } else { state_lines };
        match self.maps.get(RULES).and_then(entries) {
            Some(there) => (state, 1, there),
            None => (state, rule_lines, rule_lines),
        }
    }

    /// Puts the maps that were kept in the places of those that the loader has made, and has those kept that were
    /// not.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn take(self, ebpf: &mut Ebpf, keeper: &dyn Keeper) -> Result<(), Error> {
        let known = !self.maps.is_empty();
        if !known {
            let stays = self.state.is_some();
            keeper.retain(&|name| stays && name == STATE);
        }
        for name in MAPS {
            let made = ebpf.map(name).and_then(descriptor);
            let made = made.ok_or(Error::Missing(name))?;
            let kept = if name == STATE {
                self.state.as_ref()
            } else {
                self.maps.get(name)
            };
            match kept {
                Some(kept) => sys::replace(made, kept.as_fd())?,
                None => keeper.put(&label(name), made),
            }
        }
        if !known {
            return Ok(());
        }
        reset(ebpf)?;
        // A program that is still on a link, because its process could not take it off, sees no instance now.
        map::activate(ebpf, Active::new(0, 0))?;
        Ok(sys::wait_for_bpf_programs()?)
    }
}

/// The programs of this object that are kept for these mechanisms. Those for others are let go.
pub(super) fn programs(
    keeper: &dyn Keeper,
    mechanisms: &Mechanisms,
) -> Names<&'static str, OwnedFd> {
    let all = [Hook::Xdp, Hook::Tc].into_iter();
    let all: Vec<_> = all
        .filter(|hook| attached::is_descriptor(*hook))
        .flat_map(|hook| Slot::ALL.map(|slot| slot.name(hook)))
        .collect();
    keeper.retain(&|there| {
        all.iter().all(|name| {
            let this = program(name, mechanisms);
            there == this || !there.starts_with(&format!("{}-", label(name)))
        })
    });
    all.into_iter()
        .filter_map(|name| Some((name, keeper.get(&program(name, mechanisms))?)))
        .collect()
}

/// Has a program of this object kept.
pub(super) fn keep(
    keeper: &dyn Keeper,
    mechanisms: &Mechanisms,
    name: &str,
    descriptor: BorrowedFd<'_>,
) {
    keeper.put(&program(name, mechanisms), descriptor);
}

/// The descriptor of a map.
pub(super) fn descriptor(map: &Map) -> Option<BorrowedFd<'_>> {
    match map {
        Map::Array(map)
        | Map::HashMap(map)
        | Map::PerCpuArray(map)
        | Map::ProgramArray(map)
        | Map::RingBuf(map) => Some(map.fd().as_fd()),
        _ => None,
    }
}

/// Empties what a process fills after its start and believes to be empty. The route cache is void by its
/// epochs.
fn reset(ebpf: &mut Ebpf) -> Result<(), Error> {
    fn map<'e>(ebpf: &'e mut Ebpf, name: &'static str) -> Result<&'e mut Map, Error> {
        ebpf.map_mut(name).ok_or(Error::Missing(name))
    }
    empty::<u32, u64>(map(ebpf, LINKS)?)?;
    empty::<u64, u32>(map(ebpf, VLANS)?)?;
    empty::<[u64; 2], u32>(map(ebpf, STATIONS)?)?;
    let mut own: Array<_, u64> = map(ebpf, OWN)?.try_into()?;
    for place in 0..OWN_PLACES as u32 {
        own.set(place, 0, 0)?;
    }
    let processors = nr_cpus().map_err(|(_, error)| error)?;
    let mut counts: PerCpuArray<_, u64> = map(ebpf, COUNTS)?.try_into()?;
    for place in 0..counts::ENTRIES {
        counts.set(place, PerCpuValues::try_from(vec![0; processors])?, 0)?;
    }
    let epoch = map::region(ebpf, EPOCH, 1)?;
    for word in epoch.line(0).into_iter().flatten() {
        word.store(0, Ordering::Relaxed);
    }
    Ok(())
}

/// Removes all entries of a hash map.
fn empty<K: aya::Pod, V: aya::Pod>(map: &mut Map) -> Result<(), Error> {
    let mut map: HashMap<_, K, V> = map.try_into()?;
    let keys: Vec<K> = map.keys().collect::<Result<_, _>>()?;
    for key in keys {
        map.remove(&key)?;
    }
    Ok(())
}
