//! Devices under test, as arithmetic.

use isthmus_lab::{
    Result,
    network::random::Random,
    traffic::tester::{Arrivals, StreamResult, TrialResult, Void, search::Offer},
};

/// Returns the result of a trial with these frames sent and received.
pub(crate) fn result(rate: f64, duration: f64, sent: u64, received: u64) -> TrialResult {
    let arrivals = Arrivals {
        received,
        ..Arrivals::default()
    };
    let stream = StreamResult {
        sent,
        sent_rate: rate,
        received_rate: received as f64 / duration,
        arrivals,
        ..StreamResult::default()
    };
    TrialResult {
        rate,
        size: 64,
        streams: vec![stream],
        void: None,
    }
}

/// A device with a capacity in frames per second and a buffer in frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device {
    pub(crate) capacity: f64,
    pub(crate) buffer: f64,
}

impl Device {
    pub(crate) fn of(capacity: f64) -> Self {
        Self {
            capacity,
            buffer: 0.0,
        }
    }

    pub(crate) fn trial(&self, offer: Offer) -> Result<TrialResult> {
        let seconds = offer.duration.as_secs_f64();
        let sent = (offer.rate * seconds).round();
        // A load beyond the capacity fills the buffer, and then is lost.
        let lost = ((offer.rate - self.capacity) * seconds - self.buffer)
            .max(0.0)
            .ceil();
        let received = sent - lost.min(sent);
        Ok(result(offer.rate, seconds, sent as u64, received as u64))
    }

    /// Sends a burst of this many frames at this rate per second.
    pub(crate) fn burst(&self, frames: u64, rate: f64) -> Result<TrialResult> {
        let held = frames as f64 * (1.0 - self.capacity / rate);
        let lost = (held - self.buffer).max(0.0).ceil() as u64;
        Ok(result(rate, frames as f64 / rate, frames, frames - lost))
    }
}

/// A device whose capacity varies from trial to trial, by a share.
pub(crate) struct Noisy {
    pub(crate) capacity: f64,
    pub(crate) spread: f64,
    pub(crate) random: Random,
}

impl Noisy {
    pub(crate) fn trial(&mut self, offer: Offer) -> Result<TrialResult> {
        let part = self.random.below(2_000_001) as f64 / 1e6 - 1.0;
        Device::of(self.capacity * (1.0 + self.spread * part)).trial(offer)
    }
}

/// Returns the result of a device without loss, whose sender is late above a rate.
pub(crate) fn late_sender(most: f64, offer: Offer) -> Result<TrialResult> {
    let mut result = Device::of(f64::INFINITY).trial(offer)?;
    if offer.rate > most {
        result.void = Some(Void::SentLate {
            late: result.sent(),
            sent: result.sent(),
            latest_ns: 5_000_000,
        });
        result.streams[0].received_rate = most;
    }
    Ok(result)
}
