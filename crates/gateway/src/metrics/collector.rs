//! From the state of the gateway to OpenMetrics text.

use std::fmt;
use std::sync::Arc;

use isthmus_core::reason::{Counter, Kind};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::control::{CounterRow, Status};
use crate::pref64;

/// What a scrape shows.
#[derive(Clone, Debug)]
pub struct Sample {
    /// How the gateway is.
    pub status: Status,
    /// All counters of the data plane.
    pub counters: Vec<CounterRow>,
    /// Name, explanation and value of what the DNS64 service counts.
    pub dns64: Vec<(&'static str, &'static str, u64)>,
}

/// Where samples come from.
pub trait Source: Send + Sync + 'static {
    /// The state of now.
    fn sample(&self) -> Sample;
}

/// The sample of now as OpenMetrics text, with its `# EOF`.
///
/// # Errors
///
/// Never in practice: the text is written to memory.
pub fn encode<S: Source>(source: &Arc<S>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("isthmus");
    registry.register_collector(Box::new(Scrape(source.sample())));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Scrape(Sample);

/// The metric family of a kind of counters, without the prefix `isthmus_` and the suffix `_total`.
#[must_use]
pub const fn family(kind: Kind) -> &'static str {
    match kind {
        Kind::Forwarded => "packets_forwarded",
        Kind::Passed => "packets_passed",
        Kind::Dropped => "packets_dropped",
        Kind::Event => "events",
    }
}

/// The metric family of what the DNS64 service counts, likewise.
pub const DNS64_FAMILY: &str = "dns64_events";

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Sample {
            status,
            counters,
            dns64,
        } = &self.0;
        let mut build = encoder.encode_descriptor(
            "build",
            "The program and the gateway",
            None,
            MetricType::Info,
        )?;
        build.encode_info(&[
            ("gateway", status.name.as_str()),
            ("version", status.version.as_str()),
        ])?;
        let mut uptime = encoder.encode_descriptor(
            "uptime_seconds",
            "Seconds since the start",
            None,
            MetricType::Gauge,
        )?;
        uptime.encode_gauge(&status.uptime)?;
        let mut reloads = encoder.encode_descriptor(
            "reloads",
            "Configurations that took effect since the start",
            None,
            MetricType::Counter,
        )?;
        reloads.encode_counter::<NoLabelSet, _, u64>(&status.reloads, None)?;
        let mut explanations = encoder.encode_descriptor(
            "counter",
            "What each counter of the data plane, and of prefixes that are found and announced, counts",
            None,
            MetricType::Info,
        )?;
        for counter in Counter::ALL {
            explanations.encode_info(&[
                ("counter", counter.name()),
                ("kind", counter.kind().name()),
                ("explanation", counter.explanation()),
            ])?;
        }
        for counter in pref64::Counter::ALL {
            explanations.encode_info(&[
                ("counter", counter.name()),
                ("kind", counter.kind().name()),
                ("explanation", counter.explanation()),
            ])?;
        }
        for &kind in Kind::ALL {
            let mut rows = encoder.encode_descriptor(
                family(kind),
                kind.explanation(),
                None,
                MetricType::Counter,
            )?;
            for row in counters.iter().filter(|row| row.kind == kind.name()) {
                count(
                    &mut rows,
                    &[
                        ("instance", row.instance.as_str()),
                        ("engine", row.engine.as_str()),
                        ("counter", row.counter.as_str()),
                    ],
                    row.value,
                )?;
            }
        }
        self.tables(&mut encoder)?;
        let mut family = encoder.encode_descriptor(
            "records",
            "Records of sessions and port blocks, by what became of them",
            None,
            MetricType::Counter,
        )?;
        count(
            &mut family,
            &[("outcome", "written")],
            status.records.written,
        )?;
        count(
            &mut family,
            &[("outcome", "suppressed")],
            status.records.suppressed,
        )?;
        if dns64.is_empty() {
            return Ok(());
        }
        let mut explanations = encoder.encode_descriptor(
            "dns64_counter",
            "What each counter of the DNS64 service counts",
            None,
            MetricType::Info,
        )?;
        for (name, explanation, _) in dns64 {
            explanations.encode_info(&[("counter", *name), ("explanation", *explanation)])?;
        }
        let mut family = encoder.encode_descriptor(
            DNS64_FAMILY,
            "What happened in the DNS64 service",
            None,
            MetricType::Counter,
        )?;
        for (name, _, value) in dns64 {
            count(&mut family, &[("counter", name)], *value)?;
        }
        Ok(())
    }
}

impl Scrape {
    fn tables(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = || {
            self.0.status.instances.iter().flat_map(|instance| {
                instance
                    .tables
                    .iter()
                    .map(move |table| (instance.name.as_str(), table))
            })
        };
        let mut used = encoder.encode_descriptor(
            "table_entries",
            "Entries of a table in use",
            None,
            MetricType::Gauge,
        )?;
        for (instance, table) in rows() {
            used.encode_family(&[("instance", instance), ("table", table.table.as_str())])?
                .encode_gauge(&table.used)?;
        }
        let mut limit = encoder.encode_descriptor(
            "table_limit",
            "Most entries of a table",
            None,
            MetricType::Gauge,
        )?;
        for (instance, table) in rows() {
            limit
                .encode_family(&[("instance", instance), ("table", table.table.as_str())])?
                .encode_gauge(&table.limit)?;
        }
        Ok(())
    }
}

fn count<const N: usize>(
    family: &mut MetricEncoder<'_>,
    labels: &[(&str, &str); N],
    value: u64,
) -> fmt::Result {
    family
        .encode_family(labels)?
        .encode_counter::<NoLabelSet, _, u64>(&value, None)
}
