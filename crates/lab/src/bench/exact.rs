//! The exact cost of a packet: the time that a machine takes for it whose clock advances a nanosecond with each
//! instruction (`tests/guest/run --exact`). It is the same to a tenth of a per cent in every run, on a busy machine
//! too. It counts work, not cache misses.

use std::time::Duration;

use rustix::process::Signal;

use super::{
    crossings::{self, CROSSINGS},
    packets,
    rows::{Make, Row},
};
use crate::{
    LabError, Result,
    generator::Pace,
    measure::{Load, Path, Rate},
    peers::{Forwarding, Jool, KernelTunnel, Nftables, Redirect},
};

/// The times of sending before the first count, which fills caches, and of a count. The clock's time is the processor's
/// as long as there is work: a count lies within the time of sending, whose end is an idle wait.
const WARM_UP: Duration = Duration::from_millis(20);
const WINDOW: Duration = Duration::from_millis(100);
/// The time before the first count.
const SETTLE: Duration = Duration::from_secs(1);
/// The most by which two counts that agree differ, as a share.
const REPEATS: f64 = 0.003;
/// The share of packets that has to arrive: a count begins and ends within batches of 64, of some thousands of packets.
const WHOLE: f64 = 0.95;
/// The number of counts of which two in a row have to agree.
const TRIES: u32 = 5;

/// Returns the names of all rows.
pub fn names() -> Vec<&'static str> {
    rows().into_iter().map(|(name, _)| name).collect()
}

/// Returns the rows: references, and every row of the benchmark whose path is in XDP. A million sessions or softwires
/// are left out: to open them takes the emulated machine minutes.
fn rows() -> Vec<(&'static str, Make)> {
    let alone = |name, path: Build| -> (&'static str, Make) {
        let make = move |last| {
            drop(last);
            path()
        };
        (name, Box::new(make))
    };
    let mut rows = vec![
        alone("bare-xdp-redirect", || {
            Path::build(&Redirect, &Load::routed6(1000))
        }),
        alone("kernel-forwarding-ipv6", || {
            Path::build(&Forwarding, &Load::routed6(1000))
        }),
        alone("nat64-new-session-xdp", packets::opening),
        alone("clat-new-session-xdp", crossings::opening),
    ];
    rows.extend(others().map(|(name, path)| alone(name, path)));
    let all = Row::all().into_iter();
    let counted = all.filter(|row| !row.name.ends_with("-1m"));
    rows.extend(counted.filter_map(|row| Some((row.name, row.path_after()?))));
    rows
}

/// Builds the path of a row.
type Build = fn() -> Result<Path>;

/// Returns the rows of others that have no process: what has one takes turns with the sender on the only processor, and
/// its count would be that of the packets that are lost meanwhile.
fn others() -> impl Iterator<Item = (&'static str, Build)> {
    let all: [(&'static str, Build); 8] = [
        ("kernel-forwarding-ipv4", || {
            Path::build(&Forwarding, &Load::routed4(1000))
        }),
        ("nat44-nftables", || {
            Path::build(&Nftables::Masquerade, &Load::routed4(1000))
        }),
        ("6in4-encap-kernel", || tunnel(KernelTunnel::Sit, 0)),
        ("6in4-decap-kernel", || tunnel(KernelTunnel::Sit, 1)),
        ("4in6-encap-kernel", || tunnel(KernelTunnel::Ip6tnl, 2)),
        ("4in6-decap-kernel", || tunnel(KernelTunnel::Ip6tnl, 3)),
        ("nat64-jool", || {
            Jool::Nat64.require()?;
            Path::build(&Jool::Nat64, &Load::six_to_four(1000))
        }),
        ("siit-jool", || {
            Jool::Siit.require()?;
            Path::build(&Jool::Siit, &Load::six_to_four(1000))
        }),
    ];
    all.into_iter()
}

/// Returns the path of a crossing through the kernel's tunnel in place of ours.
fn tunnel(kernel: KernelTunnel, crossing: usize) -> Result<Path> {
    kernel.require()?;
    CROSSINGS[crossing].path_through(&kernel)
}

/// Counts the instructions of a packet for each of these rows, and calls `progress` with each. The error of a row is that
/// something is not installed here.
///
/// # Errors
/// A path loses packets, or the machine's clock does not count instructions.
pub fn count(
    wanted: impl Fn(&str) -> bool,
    mut progress: impl FnMut(&'static str, Result<f64>),
) -> Result<()> {
    let mut last = None;
    for (name, make) in rows().into_iter().filter(|(name, _)| wanted(name)) {
        match make(last.take()) {
            Ok(mut path) => {
                progress(name, Ok(instructions(name, &mut path)?));
                last = Some(path);
            }
            Err(error @ (LabError::NoModule { .. } | LabError::Missing { .. })) => {
                progress(name, Err(error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the instructions of a packet: the lesser of two counts in a row that agree.
///
/// The gateway's process has the same processor, and what it does now and then is none of a packet's: it is held. What
/// the kernel does now and then, such as to take down the network before this one, adds to a count.
fn instructions(name: &str, path: &mut Path) -> Result<f64> {
    // Idle time takes the emulated machine no time.
    std::thread::sleep(SETTLE);
    hold(path, Signal::STOP);
    let count = || {
        let rate = path.rate(WARM_UP, WINDOW, Pace::Full)?;
        whole(name, rate)?;
        Ok(1e9 / rate.received)
    };
    let agreed = agreed(name, count);
    hold(path, Signal::CONT);
    agreed
}

/// Checks that a path loses nothing: what is lost takes instructions as well, and the count would be another thing's.
///
/// # Errors
/// Less than nearly all arrives.
fn whole(name: &str, rate: Rate) -> Result<()> {
    if rate.received >= WHOLE * rate.sent {
        return Ok(());
    }
    Err(LabError::SelfCheck {
        what: name.to_owned(),
        sent: rate.sent as u64,
        received: rate.received as u64,
        invalid: 0,
    })
}

/// Counts until two counts in a row agree, and returns the lesser of them.
fn agreed(name: &str, mut count: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut before = count()?;
    for _ in 1..TRIES {
        let now = count()?;
        if (now - before).abs() <= REPEATS * now {
            return Ok(now.min(before));
        }
        before = now;
    }
    Err(LabError::InexactClock {
        row: name.to_owned(),
        counts: TRIES,
        last: before,
    })
}

/// Stops or continues the processes of a path.
fn hold(path: &Path, signal: Signal) {
    for process in &path.started().processes {
        process.signal(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_loses_packets_has_no_count() {
        let rate = |received| Rate {
            sent: 100_000.0,
            received,
        };
        assert!(whole("row", rate(99_950.0)).is_ok());
        assert!(whole("row", rate(60_000.0)).is_err());
    }
}
