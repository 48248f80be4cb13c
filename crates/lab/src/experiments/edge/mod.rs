//! A slow edge: the CE of a provider's network as a small router, which packets overload.
//!
//! Paper 002 measured a home router with a MIPS processor of 400 MHz. Its place has a machine that is emulated in real
//! time and has the same 125 million instructions in each second, whatever this computer can do
//! ([`emulated`](crate::network::emulated)). The rest of the network is as fast as ever.

mod clock;
pub mod inside;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use self::clock::Tick;
use super::subject::{Endpoint, Subject};
use crate::{
    LabError, Result,
    network::{
        cores::{GATEWAY_CPU, cpu, pin},
        emulated::Emulated,
        threads::join,
        topology::Network,
    },
    subjects::isthmus,
};

/// The share by which the machine's clock may differ from this one's: it is late, or catches up.
const PUNCTUAL: f64 = 0.02;
/// The interval at which the machine's clock is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A running slow edge; dropping it ends the machine.
#[derive(Debug)]
pub struct Edge {
    machine: Emulated,
}

/// The machine's clock as it was printed, and when that was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Look {
    /// Seconds on this computer, since it began to look.
    seen: f64,
    tick: Tick,
}

impl Edge {
    /// Starts the edge of a subject, which is this endpoint, in a network that has left its place free.
    ///
    /// # Errors
    /// It does not run on this machine.
    pub fn start(subject: &Subject, endpoint: Endpoint, network: &mut Network) -> Result<Self> {
        let gateway = match endpoint {
            Endpoint::Isthmus(_) => Some(isthmus::program()?),
            Endpoint::Other(end) => end.program()?,
        };
        let programs: Vec<_> = gateway
            .into_iter()
            .chain([isthmus::laboratory()?])
            .collect();
        let command = ["isthmus-lab", "edge", &subject.name];
        let machine = Emulated::start(network.take_cards(), &programs, &command)?;
        Ok(Self { machine })
    }

    /// Checks that it runs.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&mut self) -> Result<()> {
        self.machine.check()
    }

    /// Measures with a load of this length, and returns the share of the time for which the machine's processor was busy
    /// meanwhile.
    ///
    /// # Errors
    /// The measurement fails, or the machine could not keep its pace: it is void.
    pub fn watch<T>(
        &self,
        length: Duration,
        measure: impl FnOnce() -> Result<T>,
    ) -> Result<(T, f64)> {
        let over = AtomicBool::new(false);
        let begun = Instant::now();
        let (measured, looks) = thread::scope(|scope| {
            let looks = scope.spawn(|| self.look(begun, &over));
            let measured = measure();
            over.store(true, Ordering::Relaxed);
            (measured, join(looks))
        });
        let measured = measured?;
        let busy = busy(&looks?, length.as_secs_f64()).map_err(LabError::Tester)?;
        Ok((measured, busy))
    }

    /// Looks at the machine's clock until the measurement is over, on the machine's core: the sender has the other one.
    fn look(&self, begun: Instant, over: &AtomicBool) -> Result<Vec<Look>> {
        pin(cpu(GATEWAY_CPU))?;
        let mut looks: Vec<Look> = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let last = self.machine.printed().lines().rev().find_map(Tick::parse);
            let is_new = |tick: &Tick| looks.last().is_none_or(|last| last.tick != *tick);
            if let Some(tick) = last.filter(is_new) {
                let seen = begun.elapsed().as_secs_f64();
                looks.push(Look { seen, tick });
            }
            thread::sleep(LOOK);
        }
        Ok(looks)
    }
}

/// Returns the share of the time for which the processor was busy, in the second half of a load of this many seconds: it
/// begins later than the looks, by less than its half.
///
/// # Errors
/// The machine was not heard, or it did not keep its pace.
fn busy(looks: &[Look], seconds: f64) -> std::result::Result<f64, String> {
    let middle = 0.5 * seconds..seconds;
    let mut heard = looks.iter().filter(|look| middle.contains(&look.seen));
    let (Some(first), Some(last)) = (heard.next(), heard.next_back()) else {
        return Err("the emulated machine was not heard".into());
    };
    let took = last.seen - first.seen;
    let passed = last.tick.time - first.tick.time;
    if (passed / took - 1.0).abs() > PUNCTUAL {
        return Err(format!(
            "the emulated machine did not keep its pace: {passed:.3} s passed there in {took:.3} s"
        ));
    }
    let idle = last.tick.idle - first.tick.idle;
    Ok((1.0 - idle / passed).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every 100 ms at a machine whose clock runs at this rate, and which is busy for this share of its time.
    fn looks(rate: f64, busy: f64) -> Vec<Look> {
        (0..20)
            .map(|number| f64::from(number) / 10.0)
            .map(|seen| Look {
                seen,
                tick: Tick {
                    time: 50.0 + rate * seen,
                    idle: 9.0 + rate * seen * (1.0 - busy),
                },
            })
            .collect()
    }

    #[test]
    fn a_busy_processor_is_told_from_an_idle_one() {
        for share in [0.0, 0.3, 1.0] {
            let found = busy(&looks(1.0, share), 2.0).unwrap();
            assert!((found - share).abs() < 1e-6, "{found}");
        }
    }

    #[test]
    fn a_machine_that_is_late_or_silent_makes_the_measurement_void() {
        assert!(busy(&looks(0.9, 1.0), 2.0).unwrap_err().contains("pace"));
        assert!(busy(&looks(1.1, 1.0), 2.0).unwrap_err().contains("pace"));
        assert!(
            busy(&looks(1.0, 1.0)[..6], 2.0)
                .unwrap_err()
                .contains("heard")
        );
    }

    mod by_clock {
        use crate::{
            LabError,
            experiments::{
                Experiment, Journal, Profile, definition::How, experiments, links::Links, subjects,
                testbed::Testbed, validity::persistent,
            },
            figures::results::Point,
        };

        /// Returns the values of an experiment at 100 and at 1400 octets; nothing if this computer is too busy.
        fn ends(of: &str, testbed: &mut Testbed) -> Option<[f64; 2]> {
            let name = format!("paper-002/slow-edge-{of}");
            let experiment: &Experiment = experiments().find(|one| one.name == name).unwrap();
            let How::Live(Links::SlowEdge, measure) = experiment.how else {
                panic!("{name}: another testbed");
            };
            let measured = persistent(|| measure(testbed, Profile::Smoke));
            let points: Vec<Point> = match measured {
                Err(LabError::Tester(_)) => Vec::new(),
                measured => measured.unwrap(),
            };
            let at = |place| points.iter().find(|point| point.at == place);
            let ends = at(100.0).zip(at(1400.0));
            if ends.is_none() {
                println!("skipped: this machine is too busy to send a load in time");
            }
            ends.map(|(small, large)| [small.value, large.value])
        }

        /// The machine has as many instructions in a second on every computer, so that the figure is one for all: 39 Mb/s of
        /// the small ones were measured. A B4 is there soonest: the verifier has least to look at.
        #[test]
        #[ignore = "builds a network and emulates a machine, as root: of the tier timed"]
        fn a_slow_edge_loses_small_packets_and_no_large_ones() {
            let all = subjects();
            let subject = all.iter().find(|one| one.name == "ds-lite-isthmus-xdp");
            let mut testbed = Testbed::build(subject.unwrap(), Links::SlowEdge).unwrap();
            testbed.begin(&Journal::default());
            let Some([small, large]) = ends("throughput", &mut testbed) else {
                return;
            };
            assert!((34e6..44e6).contains(&small), "{small}");
            assert!(large > 99e6, "{large}");
            let [small, large] = ends("cpu", &mut testbed).unwrap();
            assert!(small > 0.9 && large < 0.6, "{small} {large}");
        }
    }
}
