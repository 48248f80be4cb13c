//! The words of the report for quantities, axes and trials.

use crate::{
    figures::results::{Axis, Quantity},
    report::{amount, summary::Cause},
};

/// Returns a quantity's name.
pub(super) fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::RoundTrip => "Round trip",
        Quantity::OneWayDelay => "One-way delay",
        Quantity::Throughput => "Throughput",
        Quantity::FileThroughput => "File throughput",
        Quantity::PacketRate => "Packet rate",
        Quantity::Loss => "Loss",
        Quantity::Jitter => "Jitter",
        Quantity::DelayVariation => "Delay variation",
        Quantity::Cpu => "CPU",
        Quantity::Cost => "Cost per packet",
        Quantity::ConnectTime => "Connection time",
        Quantity::FileTime => "File time",
        Quantity::Outage => "Outage",
        Quantity::Burst => "Burst",
        Quantity::ConnectionRate => "New connections",
        Quantity::TearDownRate => "Connections removed",
        Quantity::Capacity => "Capacity",
        Quantity::QueryRate => "DNS queries",
        Quantity::Overhead => "Overhead",
        Quantity::Works => "Applications",
    }
}

/// Returns a place on an axis with its unit: `1000 bytes`.
pub(super) fn place(axis: &Axis, at: f64) -> String {
    format!("{} {}", amount::place(at), axis.unit)
        .trim_end()
        .to_owned()
}

/// Returns the outcome of trials and the reason.
pub(super) fn cause(cause: Cause<'_>) -> (&'static str, String) {
    match cause {
        Cause::NotRun(why) => ("not run", why.to_owned()),
        Cause::Void(why) => ("void", why.to_owned()),
        Cause::Empty => (
            "no figures",
            "the trial has no points, or run.json does not describe it".into(),
        ),
        Cause::Gap(at, why) => ("part", format!("at {at}: {why}")),
        Cause::Left => (
            "not yet run",
            "the run was stopped; it goes on by --resume".into(),
        ),
    }
}
