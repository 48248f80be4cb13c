//! Paths with a known fault: the tester must report it, and nothing else.

use std::time::Duration;

use isthmus_lab::{
    Result,
    subjects::peers::{Fault, Faulty},
    traffic::tester::{
        Arrivals, SingleDevice, StreamResult, Streams, Tolerance, Trial, search::recovery,
    },
};

use super::{TIMEOUT, alone, build, check, frames, ipv4, only, phases};

/// Returns the result of a path with a fault, for this many frames at 100,000 per second.
fn through(fault: Fault, count: u64) -> Result<StreamResult> {
    let mut path = build(&Faulty(fault), Streams::Rightward(ipv4(1, 64)))?;
    Ok(only(path.run(&frames(1e5, count))?))
}

#[test]
fn one_lost_frame_in_a_thousand() {
    alone(|| {
        let stream = through(Fault::Drop(1000), 200_000)?;
        check(
            &stream,
            200_000,
            Arrivals {
                received: 199_800,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

#[test]
fn all_frames_and_every_other_one() {
    alone(|| {
        for (every, received) in [(1, 0), (2, 2500)] {
            let stream = through(Fault::Drop(every), 5000)?;
            assert_eq!(stream.arrivals.received, received);
            assert_eq!(stream.delay.is_some(), received > 0);
        }
        Ok(())
    });
}

#[test]
fn changed_bits() {
    alone(|| {
        let stream = through(Fault::Corrupt(50), 10_000)?;
        check(
            &stream,
            10_000,
            Arrivals {
                received: 9800,
                corrupt: 200,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

#[test]
fn shortened_frames() {
    alone(|| {
        let mut path = build(&Faulty(Fault::Shorten(10)), Streams::Rightward(ipv4(1, 64)))?;
        // One batch, with each frame in a page of its own.
        let stream = only(path.run(&frames(f64::INFINITY, 64))?);
        check(
            &stream,
            64,
            Arrivals {
                received: 58,
                resized: 6,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

#[test]
fn frames_that_come_twice() {
    alone(|| {
        let stream = through(Fault::Duplicate(100), 10_000)?;
        check(
            &stream,
            10_000,
            Arrivals {
                received: 10_000,
                duplicates: 100,
                ..Arrivals::default()
            },
        );
        assert_eq!(stream.lost(), 0);
        Ok(())
    });
}

/// One frame is still held when the trial ends.
#[test]
fn frames_that_overtake() {
    alone(|| {
        let stream = through(Fault::Swap(100), 9999)?;
        check(
            &stream,
            9999,
            Arrivals {
                received: 9998,
                reordered: 99,
                ..Arrivals::default()
            },
        );
        Ok(())
    });
}

/// Each frame waits for a hundred others, which are 10 us apart.
#[test]
fn a_delay_of_a_millisecond() {
    alone(|| {
        let punctual = Tolerance {
            by: Duration::from_micros(20),
            share: 0.1,
            rate: 0.01,
        };
        let streams = Streams::Rightward(ipv4(1, 64));
        let held = Faulty(Fault::Hold(100));
        let mut path = SingleDevice::build(&held, streams, phases(), punctual)?;
        for _ in 0..20 {
            let result = path.run(&frames(1e5, 20_000))?;
            if result.void.is_none() {
                let stream = only(result);
                assert_eq!(stream.arrivals.received, 19_900);
                let median = stream.delay.unwrap().median;
                assert!((median / 1e6 - 1.0).abs() < 0.02, "{median} ns");
                return Ok(());
            }
        }
        println!("skipped: other work on this machine made every trial late");
        Ok(())
    });
}

#[test]
fn frames_that_are_held_back() {
    alone(|| {
        let mut path = build(&Faulty(Fault::Hold(500)), Streams::Rightward(ipv4(1, 64)))?;
        // 50 ms.
        let soon = Trial {
            timeout: Duration::from_millis(25),
            ..frames(1e4, 2000)
        };
        let stream = only(path.run(&soon)?);
        let Arrivals {
            received, expired, ..
        } = stream.arrivals;
        assert_eq!(received + expired, 1500);
        // Frames that catch up after a pause are closer together.
        assert!(received == 0 || stream.latest_ns > 20_000_000, "{stream:?}");
        assert_eq!(stream.lost(), 2000 - received);
        // The held frames come in the next trial, which does not count them.
        let stream = only(path.run(&frames(1e4, 2000))?);
        let Arrivals {
            received,
            strange,
            expired,
            ..
        } = stream.arrivals;
        assert_eq!((received, strange, expired), (1500, 500, 0));
        Ok(())
    });
}

/// A device that loses frames at every rate does not recover before the last of them.
#[test]
fn recovery_lasts_until_the_last_loss() {
    alone(|| {
        let half_a_second = Duration::from_millis(500);
        let legs = recovery::legs(1e5, 1e6, half_a_second);
        let time = |fault| {
            let mut path = build(&Faulty(fault), Streams::Rightward(ipv4(1, 64)))?;
            let times = path.tester().recovery(&legs, TIMEOUT)?;
            Ok(times.unwrap()[0])
        };
        // 1000 frames at half of 110,000 per second are 18 ms.
        assert!(time(Fault::Drop(1000))? > Duration::from_millis(400));
        // The only loss is during the overload.
        assert_eq!(time(Fault::Drop(50_000))?, Duration::ZERO);
        Ok(())
    });
}
