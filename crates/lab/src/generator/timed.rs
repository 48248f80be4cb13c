//! Sending a given number of frames at a given rate, and telling how punctually.
//!
//! The load is open: when a frame is due does not depend on what became of those before, and each is
//! sent, if late. So what is offered is what was asked for, or the trial says that it was not.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use super::{BATCH, Generator, Pace, Progress, Target, interval, live_frames, pin};
use crate::{
    Result,
    programs::{self, bpf},
};

/// Runs of the program, few and many, by which it is found out what one takes at least, and how often that is done.
const PROBE: [u32; 2] = [1 << 16, 1 << 20];
const PROBES: usize = 3;
/// The share of that which one may take once more, 0 to 1.
const SURE: f64 = 0.8;
/// Above this rate a batch is as long as can be. Below, where some frames of a batch would wait for
/// runs without a frame, it is short: a frame leaves at the end of its batch.
const LONG_BATCHES: f64 = 500e3;
const SHORT_BATCH: u32 = 8;

/// Frames at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leg {
    /// Frames per second; infinite: as fast as the core can.
    pub rate: f64,
    /// How many.
    pub frames: u64,
}

/// What was sent in a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The number of the first frame, which its tag has.
    pub first: u64,
    /// How many.
    pub frames: u64,
    /// How many were later than tolerated.
    pub late: u64,
    /// How late the latest was.
    pub latest: Duration,
    /// When the first was sent, in nanoseconds of the monotonic clock.
    pub begun: u64,
    /// When the last was.
    pub ended: u64,
}

impl Sent {
    /// Frames per second from the first to the last; zero if there are not two.
    pub fn rate(&self) -> f64 {
        match self.ended - self.begun {
            0 => 0.0,
            time => (self.frames.saturating_sub(1)) as f64 * 1e9 / time as f64,
        }
    }
}

impl Generator {
    /// The number of the next frame.
    pub fn next_number(&self) -> Result<u64> {
        let [sent, ..] = self.progress_here()?;
        Ok(sent)
    }

    /// Sends tagged frames, one leg after the other without a pause, and returns when they are out. Frames
    /// that are later than `tolerated` are counted.
    pub fn send(&mut self, legs: &[Leg], tolerated: Duration) -> Result<Vec<Sent>> {
        let place = self.place.clone();
        place.enter(|| {
            pin(self.cpu)?;
            let each = legs.iter().map(|leg| self.send_leg(*leg, tolerated));
            each.collect()
        })
    }

    fn send_leg(&mut self, leg: Leg, tolerated: Duration) -> Result<Sent> {
        let first = self.next_number()?;
        self.set_progress(self.progress_of_a_leg()?)?;
        let until = first + leg.frames;
        let (interval, batch) = if leg.rate.is_finite() {
            let batch = if leg.rate < LONG_BATCHES {
                SHORT_BATCH
            } else {
                BATCH
            };
            (interval(leg.rate), batch)
        } else {
            (0, BATCH)
        };
        let least = self.least_run()?;
        let tolerated = tolerated.as_nanos() as u64;
        let timing = [interval, until, tolerated, u64::MAX];
        Target::write(self.target, &mut self.configuration, timing)?;
        let frame = vec![0; self.stream.length()];
        let program = &*programs::program(&mut self.object, self.program)?;
        let mut left = leg.frames;
        while left > 0 {
            // Without a pause between frames every run sends one. Else one call has to last for all frames: between
            // calls the kernel may wait for those that are still on their way, for tens of milliseconds.
            let runs = if interval == 0 {
                left as f64
            } else {
                left as f64 / leg.rate * 1e9 / least
            };
            live_frames(program, &frame, runs.ceil() as u32, batch)?;
            let [sent, ..] = here(&self.progress, self.cpu)?;
            left = until.saturating_sub(sent);
        }
        let [sent, _, _, late, latest, begun, ended] = self.progress_here()?;
        Ok(Sent {
            first,
            frames: sent - first,
            late,
            latest: Duration::from_nanos(latest),
            begun,
            ended,
        })
    }

    /// What a run of the program takes at least, in nanoseconds: one that has nothing to send any more. Who waits
    /// for the time of a frame takes longer, and who sends one much longer.
    fn least_run(&mut self) -> Result<f64> {
        static LEAST: OnceLock<f64> = OnceLock::new();
        if let Some(least) = LEAST.get() {
            return Ok(*least);
        }
        self.pace(Pace::Stopped)?;
        let frame = vec![0; self.stream.length()];
        let program = &*programs::program(&mut self.object, self.program)?;
        let take = |runs| {
            let begun = Instant::now();
            live_frames(program, &frame, runs, BATCH)?;
            Ok(begun.elapsed().as_nanos() as f64)
        };
        let [few, many] = PROBE;
        let mut least = f64::INFINITY;
        for _ in 0..PROBES {
            // A call has its own time besides, short or long.
            let more = take(many)? - take(few)?;
            least = least.min(more / f64::from(many - few));
        }
        let least = SURE * least.max(1.0);
        Ok(*LEAST.get_or_init(|| least))
    }

    /// The progress with which a leg begins: numbers and flows go on, times do not.
    fn progress_of_a_leg(&self) -> Result<[u64; 7]> {
        let [sent, next, ..] = self.progress_here()?;
        Ok([sent, next, 0, 0, 0, 0, 0])
    }

    fn progress_here(&self) -> Result<[u64; 7]> {
        here(&self.progress, self.cpu)
    }
}

/// The progress of one CPU.
fn here(progress: &Progress, cpu: usize) -> Result<[u64; 7]> {
    let values = progress
        .get(&0, 0)
        .map_err(|problem| bpf("PROGRESS", problem))?;
    let here = values.get(cpu).copied();
    here.ok_or_else(|| bpf("PROGRESS", format!("there is no CPU {cpu}")))
}
