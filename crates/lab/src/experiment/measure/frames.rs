//! Frames per second without loss, by the tester of RFC 8219.

use std::time::Duration;

use super::super::{
    candidate::{Candidate, Middle, Site},
    profile::Profile,
};
use crate::{
    Result,
    generator::FrameSize,
    isthmus::Mechanism,
    measure::{Load, Side},
    plan,
    results::Point,
    tester::{
        Ceiling, Extent, Phases, SingleDevice, Streams, Tolerance, Traffic, Trial,
        search::{
            Limit, Offer, Range,
            mlr::{self, Goal},
        },
    },
};

/// Ethernet frames of RFC 8219 section 5.1.1 that links of 1500 bytes carry, in octets with check sequence. The
/// smallest is as large as its form allows.
pub(crate) const SIZES: [u16; 8] = [64, 128, 256, 512, 768, 1024, 1280, 1518];
/// A packet of 1024 octets in its frame.
const PAPER_001: u16 = 1024 + 18;
/// Flows.
const FLOWS: u32 = 100;
/// Where rates are searched, in frames per second.
const LEAST: f64 = 5_000.0;
/// A frame that takes longer is lost.
const TIMEOUT: Duration = Duration::from_millis(100);

/// Whose frames the tester knows: who stands between two hosts.
pub(crate) fn is_known(candidate: &Candidate) -> bool {
    !directions(candidate).is_empty()
}

/// The directions that can be sent in without anything before.
fn directions(candidate: &Candidate) -> Vec<(&'static str, Load)> {
    let Site::Middle(middle, target) = candidate.site else {
        return Vec::new();
    };
    let there = || ("6to4", Load::six_to_four(FLOWS));
    let back = || ("4to6", Load::four_to_six(FLOWS));
    match middle {
        Middle::Forwarding if target == plan::HOST4 => vec![("forward", Load::routed4(FLOWS))],
        Middle::Forwarding => vec![("forward", Load::routed6(FLOWS))],
        Middle::Nftables(_) => vec![("forward", Load::routed4(FLOWS))],
        Middle::Isthmus(isthmus) if isthmus.mechanism == Mechanism::Siit => vec![there(), back()],
        Middle::Tayga => vec![there(), back()],
        // What comes back needs a session.
        Middle::Isthmus(_) if target == plan::embed(plan::HOST4) => vec![there()],
        Middle::Isthmus(_) | Middle::Unbound(_) | Middle::Bind(_) | Middle::Proxy => Vec::new(),
    }
}

/// By the size of frames.
pub(crate) fn by_size(candidate: &Candidate, profile: Profile) -> Result<Vec<Point>> {
    let sizes = match profile {
        // The smallest frames tell most.
        Profile::Smoke => &SIZES[..1],
        Profile::Standard | Profile::Rfc => &SIZES[..],
    };
    let mut points = Vec::new();
    for size in sizes {
        points.extend(rates(candidate, profile, *size)?);
    }
    Ok(points)
}

/// At the size of paper 001.
pub(crate) fn of_1024(candidate: &Candidate, profile: Profile) -> Result<Vec<Point>> {
    let mut points = rates(candidate, profile, PAPER_001)?;
    for point in &mut points {
        point.at = 0.0;
    }
    Ok(points)
}

/// The highest rate without loss (NDR) in each direction.
fn rates(candidate: &Candidate, profile: Profile, octets: u16) -> Result<Vec<Point>> {
    let Site::Middle(middle, _) = candidate.site else {
        return Ok(Vec::new());
    };
    // Of 2 seconds and 21 in all, by the goals of CSIT; the rest of phases goes with it.
    let hurry = match profile {
        Profile::Smoke => 20,
        Profile::Standard => 5,
        Profile::Rfc => 1,
    };
    let mut points = Vec::new();
    for (series, load) in directions(candidate) {
        let streams = streams(&load, octets)?;
        let ceiling = Ceiling::measure(&streams)?;
        let phases = Phases {
            learning: u64::from(FLOWS),
            ..Phases::shortened(50 * hurry)
        };
        // What the sender shares its core with makes single frames late, and trials are short.
        let tolerance = Tolerance {
            share: 0.01,
            rate: 0.005,
            ..Tolerance::default()
        };
        let mut device = SingleDevice::build(middle.subject(), streams, phases, tolerance)?;
        let range = Range {
            least: LEAST,
            most: ceiling.rate().max(2.0 * LEAST),
        };
        let goal = Goal::ndr().shortened(hurry);
        let (found, _) = mlr::search(range, &[goal], |offer: Offer| {
            device.run(&Trial {
                rate: offer.rate,
                extent: Extent::Time(offer.duration),
                timeout: TIMEOUT,
            })
        })?;
        let rate = found[0].rate.unwrap_or(0.0);
        let most = match found[0].limit {
            // It is the sender that could not do more.
            Limit::Sender => rate,
            _ => ceiling.rate(),
        };
        points.push(Point::new(series, f64::from(octets), rate).with_ceiling(most));
    }
    Ok(points)
}

fn streams(load: &Load, octets: u16) -> Result<Streams> {
    let form = load.packets[0].form();
    let least = FrameSize::least(form);
    // RFC 8219 section 5.1.1: 84 octets in place of 64 where 64 are too few.
    let size = FrameSize::new(octets, form).unwrap_or(least);
    let traffic = Traffic {
        packets: load.packets.clone(),
        size,
        arrives: load.arrives,
    };
    Ok(match load.side {
        Side::Six => Streams::Rightward(traffic),
        Side::Four => Streams::Leftward(traffic),
    })
}
