//! The tester: what it says of paths that are known to do right, or a
//! known thing wrong.

mod connections;
mod faults;
mod long_timed;
mod paths;
mod standards;

use std::time::Duration;

use isthmus_lab::{
    LabError, Result,
    network::device::Device,
    traffic::{
        generator::FrameSize,
        packet::Form,
        tester::{
            Arrivals, Extent, Flows, Phases, SingleDevice, StreamResult, Streams, Tolerance,
            Traffic, Trial, TrialResult, flows,
        },
    },
};

/// Runs a test alone, or says why it cannot run here.
fn alone(task: impl FnOnce() -> Result<()>) {
    let _turn = super::turn();
    match task() {
        Ok(()) => {}
        Err(
            reason @ (LabError::NotRoot | LabError::Missing { .. } | LabError::TooFewCores { .. }),
        ) => {
            println!("skipped: {reason}");
        }
        Err(error) => panic!("{error}"),
    }
}

const TIMEOUT: Duration = Duration::from_secs(2);

/// Returns short phases, without learning frames.
fn phases() -> Phases {
    Phases {
        learning: 0,
        ..Phases::shortened(50)
    }
}

/// Other work on the machine may make frames late; these tests are not about that.
const PATIENT: Tolerance = Tolerance {
    by: Duration::from_secs(10),
    share: 1.0,
    rate: 1.0,
};

fn ipv4(count: u32, octets: u16) -> Traffic {
    Traffic {
        packets: Flows::many(count).packets(flows::ipv4),
        size: FrameSize::new(octets, Form::V4).unwrap(),
        arrives: Form::V4,
    }
}

fn build(device: &dyn Device, streams: Streams) -> Result<SingleDevice> {
    SingleDevice::build(device, streams, phases(), PATIENT)
}

fn frames(rate: f64, frames: u64) -> Trial {
    Trial {
        rate,
        extent: Extent::Frames(frames),
        timeout: TIMEOUT,
    }
}

/// Returns the only stream of a trial.
fn only(result: TrialResult) -> StreamResult {
    let [stream] = <[StreamResult; 1]>::try_from(result.streams).unwrap();
    stream
}

/// Checks that `arrivals` is all that arrived.
fn check(stream: &StreamResult, sent: u64, arrivals: Arrivals) {
    let expected = Arrivals {
        silence_ns: stream.arrivals.silence_ns,
        other: stream.arrivals.other,
        ..arrivals
    };
    assert_eq!((stream.sent, &stream.arrivals), (sent, &expected));
}

fn whole(stream: &StreamResult, sent: u64) {
    let received = sent;
    check(
        stream,
        sent,
        Arrivals {
            received,
            ..Arrivals::default()
        },
    );
}
