//! The exact cost of a packet: the time that a machine takes for it whose clock advances a nanosecond with each
//! instruction (`tests/guest/run --exact`). It is the same to a tenth of a per cent in every run, on a busy machine
//! too. It counts work, not cache misses.
//!
//! Where packets stay in the kernel, it is the time from one to the next at full rate. A process takes turns with the
//! sender on the only processor, which would leave packets lost: there it is the time that the processor works for a
//! few hundred packets more.

use std::{fs, time::Duration};

use rustix::process::Signal;

use super::{
    crossings::{self, CROSSINGS},
    packets,
    rows::{Make, Row},
};
use crate::{
    LabError, Result,
    experiments::measure::steps,
    figures::statistics::median,
    subjects::peers::{Forwarding, Jool, KernelTunnel, Nftables, Tayga, Tundra},
    traffic::{
        generator::Pace,
        path::{Load, Path, Rate},
        redirect::Redirect,
    },
};

/// The times of sending before the first count, which fills caches, and of a count. The clock's time is the processor's
/// as long as there is work: a count lies within the time of sending, whose end is an idle wait.
const WARM_UP: Duration = Duration::from_millis(20);
const WINDOW: Duration = Duration::from_millis(100);
/// The time before the first count, in which the kernel takes down the network before.
const SETTLE: Duration = Duration::from_secs(3);
/// The most by which two counts that agree differ, as a share.
const REPEATS: f64 = 0.003;
/// The same where each packet opens a session: the table is fuller from count to count.
const FILLS: f64 = 0.01;
/// The share of packets that has to arrive: a count begins and ends within batches of 64, of some thousands of packets.
const WHOLE: f64 = 0.95;
/// The number of counts of which two in a row have to agree.
const TRIES: u32 = 5;

/// The packets that a process is sent at once, fewer and more. All of them have room in the queue of a TUN link, which
/// takes 500.
const FEW: u32 = 64;
const MANY: u32 = 384;
/// The time after which a process has done with them.
const DONE: Duration = Duration::from_millis(50);
/// How often it is sent each number for a count.
const TURNS: u32 = 11;

/// Counts the instructions of a packet on the path of the row of this name until two counts agree to this share.
type Count = fn(&str, f64, &mut Path) -> Result<f64>;

/// A row, and how it is counted.
struct Counted {
    name: &'static str,
    make: Make,
    count: Count,
    /// The most by which two counts that agree differ, as a share.
    repeats: f64,
}

impl Counted {
    /// A row whose network is not that of the row before it.
    fn alone((name, build): (&'static str, Build), count: Count, repeats: f64) -> Self {
        let make = Box::new(move |last| {
            drop(last);
            build()
        });
        Self {
            name,
            make,
            count,
            repeats,
        }
    }

    /// Builds the row's path, counts, and leaves the path for the row after it.
    ///
    /// # Errors
    /// The path cannot be built or loses packets, or no two counts agree.
    fn count(self, last: &mut Option<Path>) -> Result<f64> {
        let mut path = (self.make)(last.take())?;
        // Idle time takes the emulated machine no time.
        std::thread::sleep(SETTLE);
        let counted = (self.count)(self.name, self.repeats, &mut path);
        *last = Some(path);
        counted
    }
}

/// The name of the rows of the steps of a translation, each of which has a name of its own.
const STEPS: &str = "steps";
/// Programs of tests are not optimised as a release is: what is ours in user space is counted as it is released.
const IS_RELEASED: bool = !cfg!(debug_assertions);

/// Returns the names of all rows.
pub fn names() -> Vec<&'static str> {
    let paths = rows().into_iter().map(|row| row.name);
    paths.chain(IS_RELEASED.then_some(STEPS)).collect()
}

/// Returns the rows: references, every row of the benchmark whose path is in XDP, and what has a process. A million
/// sessions or softwires are left out: to open them takes the emulated machine minutes.
fn rows() -> Vec<Counted> {
    let first: [(_, Build); 2] = [
        ("bare-xdp-redirect", || {
            Path::build(&Redirect, &Load::routed6(1000))
        }),
        ("kernel-forwarding-ipv6", || {
            Path::build(&Forwarding, &Load::routed6(1000))
        }),
    ];
    let openings: [(_, Build); 4] = [
        ("nat64-new-session-xdp", packets::opening),
        ("nat64-new-session-in-block-xdp", packets::opening_in_blocks),
        ("clat-new-session-xdp", crossings::opening),
        (
            "ds-lite-aftr-new-session-xdp",
            crossings::opening_in_softwires,
        ),
    ];
    let steady = |row| Counted::alone(row, instructions, REPEATS);
    let mut rows: Vec<_> = first.into_iter().map(steady).collect();
    rows.extend(openings.map(|row| Counted::alone(row, instructions, FILLS)));
    rows.extend(others().map(steady));
    let all = Row::all().into_iter();
    let counted = all.filter(|row| !row.name.ends_with("-1m"));
    rows.extend(counted.filter_map(|row| {
        Some(Counted {
            name: row.name,
            make: row.path_after()?,
            count: instructions,
            repeats: REPEATS,
        })
    }));
    rows.extend(processes().map(|row| Counted::alone(row, instructions_more, REPEATS)));
    rows
}

/// Builds the path of a row.
type Build = fn() -> Result<Path>;

/// Returns the rows of others that have no process.
fn others() -> impl Iterator<Item = (&'static str, Build)> {
    let all: [(&'static str, Build); 6] = [
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
    ];
    all.into_iter()
}

/// Returns the rows of what has a process, and of Jool, whose counts at full rate differ from run to run.
fn processes() -> impl Iterator<Item = (&'static str, Build)> {
    let all: [(&'static str, Build); 7] = [
        // It has none: both ways to count have to agree.
        ("kernel-forwarding-ipv6-batches", || {
            Path::build(&Forwarding, &Load::routed6(1000))
        }),
        ("siit-6to4-user", packets::siit_user),
        ("siit-6to4-tayga", || {
            Path::build(&Tayga, &Load::six_to_four(1000))
        }),
        ("siit-4to6-tayga", || {
            Path::build(&Tayga, &Load::four_to_six(1000))
        }),
        ("siit-6to4-tundra", || {
            Path::build(&Tundra::SIIT, &Load::six_to_four(1000))
        }),
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
        .filter(|(name, _)| IS_RELEASED || !name.ends_with("-user"))
}

/// Returns the path of a crossing through the kernel's tunnel in place of ours.
fn tunnel(kernel: KernelTunnel, crossing: usize) -> Result<Path> {
    kernel.require()?;
    CROSSINGS[crossing].path_through(&kernel)
}

/// Counts the instructions of a packet for each of these rows, and calls `progress` with each, or with the reason why it has no
/// count: something is not installed here, its path loses packets, or the machine's clock does not count instructions.
///
/// # Errors
/// The steps of a translation cannot be counted.
pub fn count(
    wanted: impl Fn(&str) -> bool,
    mut progress: impl FnMut(&str, Result<f64>),
) -> Result<()> {
    let mut last = None;
    for row in rows().into_iter().filter(|row| wanted(row.name)) {
        progress(row.name, row.count(&mut last));
    }
    if IS_RELEASED && wanted(STEPS) {
        for (name, count) in steps::exact()? {
            progress(&name, Ok(count));
        }
    }
    Ok(())
}

/// Returns the instructions that each packet adds, of all that the processor does: the sender, the kernel and the
/// process. What it does for any number of packets, and now and then, is not in it.
fn instructions_more(name: &str, repeats: f64, path: &mut Path) -> Result<f64> {
    let mut work = |count| {
        let before = worked()?;
        let arrived = path.send(count, DONE)?;
        packets::complete(name, count, arrived)?;
        Ok::<_, LabError>(worked()?.saturating_sub(before).as_nanos() as f64)
    };
    agreed(name, repeats, || {
        let mut turns = Vec::new();
        for _ in 0..TURNS {
            turns.push((work(MANY)? - work(FEW)?) / f64::from(MANY - FEW));
        }
        // What a process does now and then falls into few of them.
        Ok(median(&mut turns))
    })
}

/// Returns the time that tasks have had on the first processor.
fn worked() -> Result<Duration> {
    const FILE: &str = "/proc/schedstat";
    let output = fs::read_to_string(FILE).map_err(|_| LabError::NoModule {
        module: FILE,
        from: "CONFIG_SCHEDSTATS; `tests/guest/run --exact` has it",
    })?;
    on_first(&output).ok_or(LabError::Output { tool: FILE, output })
}

/// The same, of what the kernel says (`Documentation/scheduler/sched-stats.rst`, the seventh number of a processor).
fn on_first(schedstat: &str) -> Option<Duration> {
    let numbers = schedstat
        .lines()
        .find_map(|line| line.strip_prefix("cpu0 "))?;
    let nanos = numbers.split_whitespace().nth(6)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// Returns the instructions of a packet at full rate.
///
/// The gateway's process has the same processor, and what it does now and then is none of a packet's: it is held.
fn instructions(name: &str, repeats: f64, path: &mut Path) -> Result<f64> {
    hold(path, Signal::STOP);
    let counted = agreed(name, repeats, || {
        let rate = path.rate(WARM_UP, WINDOW, Pace::Full)?;
        whole(name, rate)?;
        Ok(1e9 / rate.received)
    });
    hold(path, Signal::CONT);
    counted
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

/// Counts until two counts in a row agree to this share, and returns the lesser of them: what the kernel does now and then
/// adds to a count.
fn agreed(name: &str, repeats: f64, mut count: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut before = count()?;
    for _ in 1..TRIES {
        let now = count()?;
        if (now - before).abs() <= repeats * now {
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
        assert!(packets::complete("row", 64, 64).is_ok());
        assert!(packets::complete("row", 64, 63).is_err());
    }

    #[test]
    fn the_time_of_tasks_is_read_of_the_first_processor() {
        let said = "version 15\ntimestamp 4295\ncpu0 1 0 3 4 5 6 7000000001 8 9\n\
                    domain0 3 1 2\ncpu1 1 0 3 4 5 6 9 8 9\n";
        assert_eq!(on_first(said), Some(Duration::from_nanos(7_000_000_001)));
        assert_eq!(on_first("version 15\n"), None);
    }
}
