//! The exact cost of a packet: the time that a machine takes for it whose clock advances a nanosecond with each
//! instruction (`tests/guest/run --exact`). It is the same to a tenth of a per cent in every run, on a busy machine
//! too. It counts work, not cache misses.

use super::{packets, rows::Row};
use crate::{
    LabError, Result,
    device::Device,
    measure::{Load, Path},
    peers::{Forwarding, Redirect},
};

/// Frames before the first count: they fill caches, and open sessions.
const WARM_UP: u32 = 4_096;
/// Frames of a short and of a long count. Their difference is free of what a count costs itself.
const SHORT: u32 = 2_048;
const LONG: u32 = 10_240;
/// The most by which two counts of the same row may differ, as a share. A clock that counts instructions repeats
/// itself to a tenth of a per cent.
const REPEATS: f64 = 0.01;

/// A row: its name and its path.
type Entry = (&'static str, Box<dyn Fn() -> Result<Path>>);

/// Returns the names of all rows.
pub fn names() -> Vec<&'static str> {
    entries().into_iter().map(|(name, _)| name).collect()
}

/// Returns the rows: references, and every row of the benchmark whose path is in XDP. A million sessions or softwires
/// are left out: to open them takes the emulated machine minutes.
fn entries() -> Vec<Entry> {
    let reference = |name, device: &'static dyn Device| -> Entry {
        (
            name,
            Box::new(move || Path::build(device, &Load::routed6(1000))),
        )
    };
    let mut entries = vec![
        reference("bare-xdp-redirect", &Redirect),
        reference("kernel-forwarding-ipv6", &Forwarding),
        (
            "nat64-new-session-xdp",
            Box::new(packets::opening) as Box<_>,
        ),
    ];
    let rows = Row::all()
        .into_iter()
        .filter(|row| !row.name.ends_with("-1m"));
    entries.extend(rows.filter_map(|row| Some((row.name, row.path()?))));
    entries
}

/// Counts the instructions of a packet for each of these rows, and calls `progress` with each.
///
/// # Errors
/// A path loses packets, or the machine's clock does not count instructions.
pub fn count(
    wanted: impl Fn(&str) -> bool,
    mut progress: impl FnMut(&'static str, f64),
) -> Result<()> {
    for (name, path) in entries() {
        if wanted(name) {
            progress(name, instructions(name, &mut path()?)?);
        }
    }
    Ok(())
}

/// Returns the instructions of a packet: the mean of two counts, which have to agree.
fn instructions(name: &str, path: &mut Path) -> Result<f64> {
    path.time_of(WARM_UP)?;
    let mut once = || -> Result<f64> {
        let short = path.time_of(SHORT)?;
        let long = path.time_of(LONG)?;
        Ok((long - short).as_nanos() as f64 / f64::from(LONG - SHORT))
    };
    let (first, second) = (once()?, once()?);
    let mean = (first + second) / 2.0;
    if (first - second).abs() > REPEATS * mean {
        return Err(LabError::InexactClock {
            row: name.to_owned(),
            first,
            second,
        });
    }
    Ok(mean)
}
