//! When a measurement counts: every tolerance, the number of times that something void is tried again, and the rule for
//! work of others.
//!
//! A path in the kernel or in a BPF program runs on the sender's core, a gateway that is a process on another. Work of
//! others on either of them is measured as the subject's. So is the time for which a hypervisor takes a core away, and
//! that of interrupts. One rule is for all: too much of it on any core in use, and the measurement is void.

mod counters;
mod threads;

pub use counters::Snapshot;

use std::time::Duration;

use crate::{
    LabError, Result,
    figures::results::{Files, Pinned, Rules, Tolerances},
    network::cores::{GATEWAY_CPU, TESTER_CPU},
};

/// The number of times that a void measurement is tried.
pub const TRIES: u32 = 3;

/// The share by which a value may be better than its bound: the clock's own error, and not that of the model or of
/// the measurement.
pub const BEATEN: f64 = 0.01;

/// The share of a load that must have been sent.
pub const OFFERED: f64 = 0.99;

/// The timing error of a cable above which an exchange does not count, if it is also above this share of the round
/// trip.
pub const PUNCTUAL: Duration = Duration::from_micros(20);
/// See [`PUNCTUAL`].
pub const EXACT: f64 = 0.005;
/// The lateness above which a frame of a stream is late: the queue behind it does not make up for it.
pub const LATE: Duration = Duration::from_millis(1);
/// The share of frames that may be late.
pub const FEW: f64 = 0.01;

/// The share of a measurement's time for which others may run on the cores in use, or a hypervisor may have them.
pub const FOREIGN: f64 = 0.05;
/// The time of others that always may be: the counters have a resolution of a hundredth of a second.
pub const UNSEEN: Duration = Duration::from_millis(30);
/// The interrupts of devices in a second that a core in use may have: some microseconds for each.
pub const INTERRUPTS: f64 = 2000.0;

/// The cores on which testers, hosts and gateways have their places.
pub const CORES: [usize; 2] = [TESTER_CPU, GATEWAY_CPU];

/// The work of each core in use.
const WORK: [(usize, &str); 2] = [
    (
        TESTER_CPU,
        "the sender of frames, of both directions the one from the client; clients, servers, ping and iperf3; the thread that \
        moves the frames of links with a line rate; and all that the kernel and programs in XDP and tc do for their packets",
    ),
    (
        GATEWAY_CPU,
        "gateways that are processes, with all their threads; the sender of the server's frames if both hosts send; the \
        thread with both hosts' sockets where delay and throughput are measured between applications, at idle priority",
    ),
];

/// Returns the rules of a run by this program.
pub fn rules() -> Rules {
    let pinned = |(core, work): (usize, &str)| Pinned {
        core,
        work: work.into(),
    };
    Rules {
        files: Files::all(),
        pinning: WORK.map(pinned).into(),
        tolerances: Some(Tolerances {
            tries: TRIES,
            foreign_share: FOREIGN,
            foreign_seconds: UNSEEN.as_secs_f64(),
            interrupts_per_second: INTERRUPTS,
        }),
    }
}

/// The work of others during a measurement, on the cores in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disturbance {
    /// The length of the measurement.
    pub elapsed: Duration,
    /// The time for which other processes ran.
    pub foreign: Duration,
    /// The time for which a hypervisor had a core.
    pub stolen: Duration,
    /// The interrupts of devices on the core that had the most.
    pub interrupts: u64,
}

impl Disturbance {
    /// Returns why a measurement under it says nothing about the subject, if so.
    pub fn verdict(&self) -> Option<String> {
        let elapsed = self.elapsed.as_secs_f64();
        let tolerated = UNSEEN.as_secs_f64().max(FOREIGN * elapsed);
        let share = |time: Duration| 100.0 * time.as_secs_f64() / elapsed;
        if self.foreign.as_secs_f64() > tolerated {
            return Some(format!(
                "other processes ran on the cores in use, for {:.0} % of the time",
                share(self.foreign)
            ));
        }
        if self.stolen.as_secs_f64() > tolerated {
            return Some(format!(
                "the hypervisor took the cores in use away, for {:.0} % of the time",
                share(self.stolen)
            ));
        }
        let rate = self.interrupts as f64 / elapsed;
        (rate > INTERRUPTS && self.interrupts > 100)
            .then(|| format!("{rate:.0} interrupts of devices in a second came to a core in use"))
    }
}

/// Repeats what is void, which it is if the machine had other work.
///
/// # Errors
/// It fails, or is void every time.
pub fn persistent<T>(mut measure: impl FnMut() -> Result<T>) -> Result<T> {
    let mut result = measure();
    for _ in 1..TRIES {
        if !matches!(result, Err(LabError::Tester(_))) {
            break;
        }
        result = measure();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Disturbance = Disturbance {
        elapsed: Duration::from_secs(2),
        foreign: Duration::from_millis(20),
        stolen: Duration::ZERO,
        interrupts: 300,
    };

    #[test]
    fn work_of_others_voids_a_measurement_and_a_little_does_not() {
        assert_eq!(QUIET.verdict(), None);
        let with = |foreign| Disturbance {
            foreign: Duration::from_millis(foreign),
            ..QUIET
        };
        assert_eq!(with(99).verdict(), None);
        let why = with(500).verdict().unwrap();
        assert!(
            why.contains("other processes") && why.contains("25 %"),
            "{why}"
        );
    }

    #[test]
    fn stolen_time_and_interrupts_void_it_too() {
        let stolen = Disturbance {
            stolen: Duration::from_millis(300),
            ..QUIET
        };
        assert!(stolen.verdict().unwrap().contains("hypervisor"));
        let interrupted = Disturbance {
            interrupts: 9000,
            ..QUIET
        };
        assert!(interrupted.verdict().unwrap().contains("4500 interrupts"));
    }

    #[test]
    fn a_short_measurement_is_not_judged_by_what_the_counters_cannot_resolve() {
        let short = Disturbance {
            elapsed: Duration::from_millis(50),
            interrupts: 0,
            ..QUIET
        };
        assert_eq!(short.verdict(), None);
    }

    #[test]
    fn what_is_void_is_tried_again_and_what_fails_is_not() {
        let mut tried = 0;
        let void = persistent(|| {
            tried += 1;
            Err::<(), _>(LabError::Tester("late".into()))
        });
        assert!(void.is_err());
        assert_eq!(tried, TRIES);
        let failed = persistent(|| {
            tried += 1;
            Err::<(), _>(LabError::NoNode("host".into()))
        });
        assert!(failed.is_err());
        assert_eq!(tried, TRIES + 1);
    }
}
