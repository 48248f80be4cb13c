//! Timed sending: a given number of frames at a given rate, with a record of how punctual it was.
//!
//! The load is open. The time at which a frame is due does not depend on earlier frames, and a late frame is still
//! sent. The offered load is therefore the configured one, or the trial says that it was not.

use std::{
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use bytemuck::Zeroable as _;
use isthmus_abi::lab::generator::Progress;

use super::{BATCH, Controls, Generator, Live, Pace, interval};
use crate::Result;

/// The two numbers of runs, few and many, by which the least time of a run is measured, and the number of attempts.
const PROBE: [u32; 2] = [1 << 16, 1 << 20];
const PROBES: usize = 3;
/// The factor of safety for that time, 0 to 1.
const SURE: f64 = 0.8;
/// The interval at which the end of a leg is awaited, if another one follows.
const LOOK: Duration = Duration::from_micros(50);
/// The interval at which the end of the last leg is awaited, from the time on at which it is due.
const DUE: Duration = Duration::from_millis(1);
/// The rate above which batches have full length, where delays do not matter. Below it, batches are short.
const LONG_BATCHES: f64 = 500e3;
const SHORT_BATCH: u32 = 8;

/// The moment at which a frame leaves the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// When it is due, alone. A delay is then the path's, at every rate. The sender reaches lower rates.
    EachFrame,
    /// With others of its batch, at the end of that: for loss and throughput. How long a frame waits is the sender's
    /// matter and depends on the rate, so that such delays say nothing about the path.
    Batches,
}

impl Flush {
    /// Returns the runs of the program after which their frames leave.
    fn batch(self, legs: &[Leg]) -> u32 {
        match self {
            Self::EachFrame => 1,
            Self::Batches if legs.iter().all(|leg| leg.rate >= LONG_BATCHES) => BATCH,
            Self::Batches => SHORT_BATCH,
        }
    }
}

/// Frames at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leg {
    /// Frames per second; infinite: as fast as the core can.
    pub rate: f64,
    /// The number of frames.
    pub frames: u64,
}

/// The frames that were sent in a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The number of the first frame, as in its tag.
    pub first: u64,
    /// The number of frames.
    pub frames: u64,
    /// The number of frames that were later than tolerated.
    pub late: u64,
    /// The lateness of the latest.
    pub latest: Duration,
    /// The time at which the first was sent, in nanoseconds of the monotonic clock.
    pub begun: u64,
    /// The time at which the last was sent.
    pub ended: u64,
}

impl Sent {
    /// Returns the frames per second from the first to the last; zero if there are fewer than two.
    pub fn rate(&self) -> f64 {
        match self.ended - self.begun {
            0 => 0.0,
            time => (self.frames.saturating_sub(1)) as f64 * 1e9 / time as f64,
        }
    }
}

impl Generator {
    /// Returns the number of the next frame.
    pub fn next_number(&self) -> Result<u64> {
        self.controls.sent()
    }

    /// Sends tagged frames, one leg after the other without a pause, and returns when all are sent. Frames that are
    /// later than `tolerated` are counted.
    pub fn send(&mut self, legs: &[Leg], tolerated: Duration, flush: Flush) -> Result<Vec<Sent>> {
        let mut all = Vec::with_capacity(legs.len());
        let Some((first, following)) = legs.split_first() else {
            return Ok(all);
        };
        let least = self.least_run(flush)?;
        let batch = flush.batch(legs);
        let mut following = following.iter();
        let mut leg = self.controls.begin(first, tolerated)?;
        loop {
            // One call has to cover all frames: between calls the kernel may wait for frames in flight, for tens of
            // milliseconds.
            let mut runs = leg.leg.runs(self.controls.left(&leg)?, least);
            runs += following
                .clone()
                .map(|leg| leg.runs(leg.frames, least))
                .sum::<f64>();
            self.live(runs.ceil() as u32, batch, |controls, live| {
                while following.len() > 0 && (live.is_on)() {
                    if controls.left(&leg)? > 0 {
                        thread::sleep(LOOK);
                    } else if let Some(next) = following.next() {
                        all.push(controls.sent_of(&leg)?);
                        leg = controls.begin(next, tolerated)?;
                    }
                }
                controls.end_after(&leg, &live)
            })?;
            while self.controls.left(&leg)? == 0 {
                all.push(self.controls.sent_of(&leg)?);
                let Some(next) = following.next() else {
                    return Ok(all);
                };
                leg = self.controls.begin(next, tolerated)?;
            }
        }
    }

    /// Returns the least time of a run of the program, in nanoseconds: of one that has nothing to send. A run that
    /// sends takes much longer.
    fn least_run(&mut self, flush: Flush) -> Result<f64> {
        static ALONE: OnceLock<f64> = OnceLock::new();
        static TOGETHER: OnceLock<f64> = OnceLock::new();
        let (known, batch) = match flush {
            Flush::EachFrame => (&ALONE, 1),
            Flush::Batches => (&TOGETHER, BATCH),
        };
        if let Some(least) = known.get() {
            return Ok(*least);
        }
        self.pace(Pace::Stopped)?;
        let mut take = |runs| {
            let begun = Instant::now();
            self.live(runs, batch, |_, _| Ok(()))?;
            Ok(begun.elapsed().as_nanos() as f64)
        };
        let mut least = PROBE.map(|_| f64::INFINITY);
        for _ in 0..PROBES {
            for (least, runs) in least.iter_mut().zip(PROBE) {
                *least = least.min(take(runs)?);
            }
        }
        // A call also has a constant cost, which the difference cancels.
        let [few, many] = least;
        let [fewer, more] = PROBE.map(f64::from);
        let least = SURE * ((many - few) / (more - fewer)).max(1.0);
        Ok(*known.get_or_init(|| least))
    }
}

impl Leg {
    /// Returns the most runs of the program that this many frames need, if a run takes at least this many
    /// nanoseconds.
    fn runs(&self, frames: u64, least: f64) -> f64 {
        // A run sends one frame at most. At full pace, and at rates that nothing reaches, every run does.
        let frames = frames as f64;
        frames.max(frames / self.rate * 1e9 / least)
    }
}

/// A leg that is being sent.
struct UnderWay<'a> {
    leg: &'a Leg,
    /// The number of its first frame.
    first: u64,
}

impl Controls {
    /// Starts a leg, if none is under way. Numbers and flows continue, times start again.
    fn begin<'l>(&mut self, leg: &'l Leg, tolerated: Duration) -> Result<UnderWay<'l>> {
        let Progress {
            sent: first, next, ..
        } = self.progress()?;
        self.set_progress(Progress {
            sent: first,
            next,
            ..Progress::zeroed()
        })?;
        let interval = if leg.rate.is_finite() {
            interval(leg.rate)
        } else {
            0
        };
        let tolerated = tolerated.as_nanos() as u64;
        self.write([interval, first + leg.frames, tolerated, u64::MAX])?;
        Ok(UnderWay { leg, first })
    }

    /// Ends the runs when the frames of the last leg are sent. There are more than enough of them, and the rest has nothing
    /// to send: a fifth of the time and more.
    fn end_after(&self, of: &UnderWay<'_>, live: &Live<'_>) -> Result<()> {
        if !of.leg.rate.is_finite() {
            return Ok(());
        }
        // Nobody looks meanwhile: that would take time on the gateway's core.
        let mut wait = Duration::from_secs_f64(self.left(of)? as f64 / of.leg.rate);
        while (live.is_on)() {
            thread::sleep(wait);
            wait = DUE;
            if self.left(of)? == 0 {
                return live.runner.end();
            }
        }
        Ok(())
    }

    /// Returns the number of frames that are still to be sent.
    fn left(&self, of: &UnderWay<'_>) -> Result<u64> {
        Ok((of.first + of.leg.frames).saturating_sub(self.sent()?))
    }

    fn sent_of(&self, of: &UnderWay<'_>) -> Result<Sent> {
        let progress = self.progress()?;
        Ok(Sent {
            first: of.first,
            frames: progress.sent - of.first,
            late: progress.late,
            latest: Duration::from_nanos(progress.latest),
            begun: progress.begun,
            ended: progress.ended,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of a run without a frame and of one with a frame, in nanoseconds.
    const RUN: [f64; 2] = [40.0, 200.0];

    /// Returns how much later than due each frame of a schedule leaves, in nanoseconds, if the program runs as the
    /// kernel runs it: one run after the other, and the frames of a batch leave at its end.
    fn waits(rate: f64, flush: Flush) -> Vec<f64> {
        let leg = Leg { rate, frames: 1000 };
        let batch = flush.batch(&[leg]);
        let due = |frame: usize| frame as f64 * 1e9 / rate;
        let mut waits = Vec::new();
        let (mut now, mut sent) = (0.0, 0);
        while waits.len() < leg.frames as usize {
            for _ in 0..batch {
                let is_due = due(sent) <= now;
                sent += usize::from(is_due);
                now += RUN[usize::from(is_due)];
            }
            waits.extend((waits.len()..sent).map(|frame| now - due(frame)));
        }
        waits
    }

    fn longest(waits: &[f64]) -> f64 {
        waits.iter().copied().fold(0.0, f64::max)
    }

    fn mean(waits: &[f64]) -> f64 {
        waits.iter().sum::<f64>() / waits.len() as f64
    }

    #[test]
    fn no_frame_waits_for_another_where_delays_are_measured() {
        for rate in [1e3, 490e3, 510e3, 2e6] {
            // The run before, which cannot be interrupted, and its own.
            let most = RUN.iter().sum::<f64>();
            let longest = longest(&waits(rate, Flush::EachFrame));
            assert!(longest <= most, "{rate}: {longest}");
        }
    }

    #[test]
    fn the_sender_s_part_of_a_delay_does_not_jump_with_the_rate() {
        let [below, above] = [490e3, 510e3].map(|rate| mean(&waits(rate, Flush::EachFrame)));
        assert!((above / below - 1.0).abs() < 0.1, "{below} {above}");
        // In batches it does, which is why they serve only to count.
        let [below, above] = [490e3, 510e3].map(|rate| mean(&waits(rate, Flush::Batches)));
        assert!(above > 3.0 * below, "{below} {above}");
    }
}
