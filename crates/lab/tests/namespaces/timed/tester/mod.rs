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
    generator::FrameSize,
    packet::Form,
    subject::Subject,
    tester::{
        Arrivals, Extent, Flows, Phases, SingleDevice, StreamResult, Streams, Tolerance, Traffic,
        Trial, TrialResult, flows,
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

/// Short, and without frames before the trial's.
fn phases() -> Phases {
    Phases {
        learning: 0,
        ..Phases::shortened(50)
    }
}

/// Other work on the machine may make frames late: that is not what these tests are about.
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

fn build(subject: &dyn Subject, streams: Streams) -> Result<SingleDevice> {
    SingleDevice::build(subject, streams, phases(), PATIENT)
}

fn frames(rate: f64, frames: u64) -> Trial {
    Trial {
        rate,
        extent: Extent::Frames(frames),
        timeout: TIMEOUT,
    }
}

/// The only stream of a trial.
fn only(result: TrialResult) -> StreamResult {
    let [stream] = <[StreamResult; 1]>::try_from(result.streams).unwrap();
    stream
}

/// Nothing is wrong with these but what `arrivals` names.
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
