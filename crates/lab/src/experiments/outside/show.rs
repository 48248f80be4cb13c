//! Figures of a device as text.

use std::fmt;

use super::Figures;
use crate::traffic::tester::{
    StreamResult, Summary, TrialResult,
    search::{Limit, Point, burst::BackToBack, delay::Delays, throughput::Throughput},
};

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trial(result) => trial(f, result),
            Self::Throughput(found) => throughput(f, found),
            Self::NoRate(found) => {
                throughput(f, found)?;
                writeln!(f, "so there is no rate at which to measure")
            }
            Self::Latency { rate, delays } => latency(f, *rate, delays),
            Self::Loss(points) => loss(f, points),
            Self::BackToBack(found) => bursts(f, found),
        }
    }
}

fn trial(f: &mut fmt::Formatter<'_>, result: &TrialResult) -> fmt::Result {
    for stream in &result.streams {
        let StreamResult {
            sent,
            sent_rate,
            received_rate,
            arrivals,
            ..
        } = stream;
        let received = arrivals.received;
        let loss = 100.0 * stream.lost() as f64 / (*sent).max(1) as f64;
        writeln!(f, "sent       {sent} frames, {sent_rate:.0} per second")?;
        writeln!(
            f,
            "received   {received} frames, {received_rate:.0} per second"
        )?;
        writeln!(f, "lost       {} frames, {loss:.4} %", stream.lost())?;
        let wrong = [
            ("changed", arrivals.corrupt),
            ("of another length", arrivals.resized),
            ("of another trial", arrivals.strange),
            ("twice", arrivals.duplicates),
            ("too late", arrivals.expired),
            ("out of order", arrivals.reordered),
        ];
        for (what, count) in wrong.iter().filter(|(_, count)| *count > 0) {
            writeln!(f, "           {count} {what}")?;
        }
        if let Some(delay) = &stream.delay {
            writeln!(
                f,
                "delay      least {}, median {}, 99.9 % {}, most {} us",
                micro(delay.least),
                micro(delay.median),
                micro(delay.p999),
                micro(delay.most)
            )?;
        }
    }
    match &result.void {
        Some(void) => writeln!(f, "void: {void}"),
        None => Ok(()),
    }
}

fn throughput(f: &mut fmt::Formatter<'_>, found: &Throughput) -> fmt::Result {
    let trials = found.points.len();
    match found.rate {
        Some(rate) => writeln!(
            f,
            "throughput {rate:.0} frames per second of each direction ({trials} trials); {}",
            limit(found.limit)
        ),
        None => writeln!(
            f,
            "throughput none ({trials} trials); {}",
            limit(found.limit)
        ),
    }
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Loss => "above it frames are lost",
        Limit::Sender => "above it this machine sends too late: the device may be better",
        Limit::Most => "more was not offered: the device may be better",
        Limit::Least => "even the least rate was too much",
    }
}

fn latency(f: &mut fmt::Formatter<'_>, rate: f64, delays: &[Delays]) -> fmt::Result {
    writeln!(f, "at {rate:.0} frames per second of each direction")?;
    if delays.is_empty() {
        return writeln!(f, "void: nothing arrived, or it was sent late every time");
    }
    for delays in delays {
        let row = |f: &mut fmt::Formatter<'_>, name: &str, summary: &Summary| {
            writeln!(
                f,
                "{name:<34} {} us (p1 {}, p99 {}, of {})",
                micro(summary.median),
                micro(summary.p1),
                micro(summary.p99),
                summary.count
            )
        };
        row(f, "typical latency", &delays.typical)?;
        row(f, "worst case latency", &delays.worst_case)?;
        row(f, "packet delay variation", &delays.pdv)?;
        if let Some([least, median, most]) = &delays.ipdv {
            row(f, "inter-packet delay variation, least", least)?;
            row(f, "  its median", median)?;
            row(f, "  its most", most)?;
        }
    }
    Ok(())
}

fn loss(f: &mut fmt::Formatter<'_>, points: &[Point]) -> fmt::Result {
    writeln!(f, "{:>16}  {:>10}", "frames/s", "loss")?;
    for point in points {
        let rate = point.rate;
        match &point.void {
            Some(void) => writeln!(f, "{rate:>16.0}  {:>10}  {void}", "void")?,
            None => writeln!(f, "{rate:>16.0}  {:>8.4} %", 100.0 * point.loss_ratio)?,
        }
    }
    Ok(())
}

fn bursts(f: &mut fmt::Formatter<'_>, found: &BackToBack) -> fmt::Result {
    let Summary { count, mean, .. } = found.summary;
    writeln!(
        f,
        "back-to-back {mean:.0} frames, the mean of {count}; within {}",
        found.step
    )?;
    if found.bursts.contains(&found.most) {
        writeln!(f, "{} frames are the longest that were tried", found.most)?;
    }
    Ok(())
}

/// Formats nanoseconds in microseconds.
fn micro(nanoseconds: f64) -> String {
    format!("{:.1}", nanoseconds / 1000.0)
}
