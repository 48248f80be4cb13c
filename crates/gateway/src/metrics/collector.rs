//! From the state of the gateway to OpenMetrics text.

use std::fmt;
use std::sync::Arc;

use isthmus_core::reason::{Counter, Kind};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType::{self, Gauge, Info};
use prometheus_client::registry::Registry;

use crate::control::{CounterRow, Status};
use crate::pref64;

/// The content of a scrape.
#[derive(Clone, Debug)]
pub struct Sample {
    /// How the gateway is.
    pub status: Status,
    /// All counters of the data plane.
    pub counters: Vec<CounterRow>,
    /// Name, explanation and value of the counters of the DNS64 service.
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
        self.gateway(&mut encoder)?;
        self.counters(&mut encoder)?;
        self.tables(&mut encoder)?;
        self.records(&mut encoder)?;
        if self.0.dns64.is_empty() {
            return Ok(());
        }
        self.dns64(&mut encoder)
    }
}

impl Scrape {
    fn gateway(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let status = &self.0.status;
        describe(encoder, "build", "The program and the gateway", Info)?.encode_info(&[
            ("gateway", status.name.as_str()),
            ("version", status.version.as_str()),
        ])?;
        describe(encoder, "uptime_seconds", "Seconds since the start", Gauge)?
            .encode_gauge(&status.uptime)?;
        let help = "Configurations that took effect since the start";
        describe(encoder, "reloads", help, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, u64>(&status.reloads, None)
    }

    fn counters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "What each counter of the data plane, and of prefixes that are found and announced, counts";
        let mut explanations = describe(encoder, "counter", help, Info)?;
        let of_core = Counter::ALL
            .iter()
            .map(|it| (it.name(), it.kind().name(), it.explanation()));
        let of_prefixes = pref64::Counter::ALL.iter();
        let of_prefixes = of_prefixes.map(|it| (it.name(), it.kind().name(), it.explanation()));
        for (counter, kind, explanation) in of_core.chain(of_prefixes) {
            explanations.encode_info(&[
                ("counter", counter),
                ("kind", kind),
                ("explanation", explanation),
            ])?;
        }
        for &kind in Kind::ALL {
            let help = kind.explanation();
            let mut rows = describe(encoder, family(kind), help, MetricType::Counter)?;
            let counters = self.0.counters.iter();
            for row in counters.filter(|row| row.kind == kind.name()) {
                let labels = [
                    ("instance", row.instance.as_str()),
                    ("engine", row.engine.as_str()),
                    ("counter", row.counter.as_str()),
                ];
                count(&mut rows, &labels, row.value)?;
            }
        }
        Ok(())
    }

    fn records(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let records = &self.0.status.records;
        let help = "Records of sessions and port blocks, by what became of them";
        let mut family = describe(encoder, "records", help, MetricType::Counter)?;
        count(&mut family, &[("outcome", "written")], records.written)?;
        count(
            &mut family,
            &[("outcome", "suppressed")],
            records.suppressed,
        )
    }

    fn dns64(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "What each counter of the DNS64 service counts";
        let mut explanations = describe(encoder, "dns64_counter", help, Info)?;
        for (name, explanation, _) in &self.0.dns64 {
            explanations.encode_info(&[("counter", *name), ("explanation", *explanation)])?;
        }
        let help = "What happened in the DNS64 service";
        let mut family = describe(encoder, DNS64_FAMILY, help, MetricType::Counter)?;
        for (name, _, value) in &self.0.dns64 {
            count(&mut family, &[("counter", name)], *value)?;
        }
        Ok(())
    }

    fn tables(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = || {
            self.0.status.instances.iter().flat_map(|instance| {
                instance
                    .tables
                    .iter()
                    .map(move |table| (instance.name.as_str(), table))
            })
        };
        let mut used = describe(encoder, "table_entries", "Entries of a table in use", Gauge)?;
        for (instance, table) in rows() {
            used.encode_family(&[("instance", instance), ("table", table.table.as_str())])?
                .encode_gauge(&table.used)?;
        }
        let mut limit = describe(encoder, "table_limit", "Most entries of a table", Gauge)?;
        for (instance, table) in rows() {
            limit
                .encode_family(&[("instance", instance), ("table", table.table.as_str())])?
                .encode_gauge(&table.limit)?;
        }
        Ok(())
    }
}

/// Begins a metric family without a unit.
fn describe<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &str,
    kind: MetricType,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, kind)
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
