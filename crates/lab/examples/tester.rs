//! Measures the tester on this machine: its ceilings, and the repeatability of a rate. Needs root, and the machine
//! for itself.
//!
//!     cargo run --release -p isthmus-lab --example tester

use std::time::Duration;

use isthmus_lab::{
    Result,
    network::{
        device::Device,
        topology::{HOST4, HOST6, Neighbours, Offloads, Topology},
    },
    subjects::peers::{Fault, Faulty, Forwarding},
    traffic::{
        generator::{FrameSize, Pace},
        packet::Form,
        path::{Load, Path},
        redirect::Redirect,
        tester::{
            Ceiling, Extent, Flows, Phases, Port, SingleDevice, Streams, Summary, Tester,
            Tolerance, Traffic, Trial, flows,
            search::{
                Offer, Range,
                mlr::{self, Goal},
            },
        },
    },
};

fn main() -> Result<()> {
    ceilings()?;
    cable()?;
    // One has a known rate, the other forwards whatever the machine can at the time.
    repeatability(&Faulty(Fault::Police(100_000)))?;
    repeatability(&Forwarding)
}

fn ipv4(count: u32, octets: u16) -> Traffic {
    let size = FrameSize::new(octets, Form::V4);
    Traffic {
        packets: Flows::many(count).packets(flows::ipv4),
        size: size.unwrap_or(FrameSize::least(Form::V4)),
        arrives: Form::V4,
    }
}

fn phases() -> Phases {
    Phases {
        learning: 0,
        ..Phases::shortened(1000)
    }
}

/// Measures the path through a gateway that does nothing.
fn ceilings() -> Result<()> {
    for count in [1, 1000, 1_000_000] {
        let ceiling = Ceiling::measure(&Streams::Rightward(ipv4(count, 64)))?;
        println!("{count} flows, 64 octets: {:.3} Mpps", ceiling.rate() / 1e6);
    }
    for octets in [512, 1518, 3072] {
        let ceiling = Ceiling::measure(&Streams::Rightward(ipv4(1, octets)))?;
        println!("1 flow, {octets} octets: {:.3} Mpps", ceiling.rate() / 1e6);
    }
    let load = Load::routed4(1);
    let window = Duration::from_secs(1);
    let untagged = Path::build(&Redirect, &load)?.rate(window / 4, window, Pace::Full)?;
    println!("the same without tags: {:.3} Mpps", untagged.received / 1e6);
    let both = Ceiling::measure(&Streams::Both(ipv4(1, 64), ipv4(1, 64)))?;
    println!("both directions, 64 octets: {:.3} Mpps", both.rate() / 1e6);
    Ok(())
}

/// Measures a cable with nothing between.
fn cable() -> Result<()> {
    let cable = Topology::direct(Neighbours::Static, Offloads::Off);
    let network = cable.build()?;
    let (left, right) = (
        Port::of(&network, HOST6, 0, 0)?,
        Port::of(&network, HOST4, 0, 1)?,
    );
    let streams = Streams::Rightward(ipv4(1000, 64));
    let mut tester = Tester::new(&left, &right, streams, phases(), Tolerance::default())?;
    for _ in 0..3 {
        let result = tester.run(&Trial {
            rate: f64::INFINITY,
            extent: Extent::Frames(3_000_000),
            timeout: Duration::from_secs(1),
        })?;
        let (lost, rate) = (result.lost(), result.streams[0].received_rate);
        println!("a cable: {:.3} Mpps, {lost} lost", rate / 1e6);
    }
    Ok(())
}

/// Measures the non-drop rate of the same gateway five times.
fn repeatability(gateway: &dyn Device) -> Result<()> {
    println!("{}:", gateway.name());
    let streams = Streams::Rightward(ipv4(100, 64));
    let ceiling = Ceiling::measure(&streams)?;
    // Other work on the sender's core makes single frames late, and trials are short.
    //
    let tolerance = Tolerance {
        share: 0.01,
        rate: 0.005,
        ..Tolerance::default()
    };
    let mut path = SingleDevice::build(gateway, streams, phases(), tolerance)?;
    let range = Range {
        least: 10_000.0,
        most: ceiling.rate(),
    };
    let mut rates = Vec::new();
    for _ in 0..5 {
        let trial = |offer: Offer| {
            path.run(&Trial {
                rate: offer.rate,
                extent: Extent::Time(offer.duration),
                timeout: Duration::from_millis(100),
            })
        };
        let (found, points) = mlr::search(range, &[Goal::ndr().shortened(20)], trial)?;
        let rate = found[0].rate.unwrap_or(0.0);
        let judged = ceiling.judge(rate);
        let (limit, trials) = (found[0].limit, points.len());
        println!("NDR {rate:.0} fps, {limit:?}, {trials} trials, {judged:?}");
        rates.push(rate);
    }
    let spread = Summary::spread(&rates).unwrap_or(0.0);
    println!("spread {:.2} %", spread * 100.0);
    Ok(())
}
