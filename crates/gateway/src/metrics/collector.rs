//! From the state of the gateway to OpenMetrics text.

use std::sync::Arc;

use isthmus_core::reason::{Counter, Kind};

use super::openmetrics::{Exposition, Type};
use crate::control::{CounterRow, Status, TableStatus};
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

/// Returns the sample of now as OpenMetrics text, with its `# EOF`.
pub fn encode<S: Source>(source: &Arc<S>) -> String {
    let sample = source.sample();
    let mut text = Exposition::default();
    sample.gateway(&mut text);
    sample.explanations(&mut text);
    sample.data_plane(&mut text);
    sample.tables(&mut text);
    sample.records(&mut text);
    sample.dns64(&mut text);
    text.finish()
}

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

impl Sample {
    fn gateway(&self, text: &mut Exposition) {
        let status = &self.status;
        text.family("build", "The program and the gateway", Type::Info)
            .info(&[("gateway", &status.name), ("version", &status.version)]);
        text.family("uptime_seconds", "Seconds since the start", Type::Gauge)
            .sample(&[], status.uptime);
        let help = "Configurations that took effect since the start";
        text.family("reloads", help, Type::Counter)
            .sample(&[], status.reloads);
        let help = "Parts of the machine that are not as configured, and could not be put back";
        text.family("troubles", help, Type::Gauge)
            .sample(&[], status.troubles.len() as u64);
    }

    fn explanations(&self, text: &mut Exposition) {
        let help = "Counters of the data plane, and of prefix discovery and announcement";
        let mut explanations = text.family("counter", help, Type::Info);
        let mut explain = |counter, kind, explanation| {
            explanations.info(&[
                ("counter", counter),
                ("kind", kind),
                ("explanation", explanation),
            ]);
        };
        for counter in Counter::ALL {
            explain(counter.name(), counter.kind().name(), counter.explanation());
        }
        for counter in pref64::Counter::ALL {
            explain(counter.name(), counter.kind().name(), counter.explanation());
        }
    }

    fn data_plane(&self, text: &mut Exposition) {
        for &kind in Kind::ALL {
            let mut rows = text.family(family(kind), kind.explanation(), Type::Counter);
            for row in self.counters.iter().filter(|row| row.kind == kind.name()) {
                let labels = [
                    ("instance", row.instance.as_str()),
                    ("engine", &row.engine),
                    ("counter", &row.counter),
                ];
                rows.sample(&labels, row.value);
            }
        }
    }

    fn tables(&self, text: &mut Exposition) {
        let mut table = |name, help, kind, number: fn(&TableStatus) -> u64| {
            let mut family = text.family(name, help, kind);
            for instance in &self.status.instances {
                for table in &instance.tables {
                    let labels = [("instance", &*instance.name), ("table", &*table.table)];
                    family.sample(&labels, number(table));
                }
            }
        };
        let help = "Entries of a table in use";
        table("table_entries", help, Type::Gauge, |it| it.used);
        let help = "Limit of the entries of a table";
        table("table_limit", help, Type::Gauge, |it| it.limit);
        let help = "Entries that found no room in a table, or whose network had its share";
        table("table_refused", help, Type::Counter, |it| it.refused);
    }

    fn records(&self, text: &mut Exposition) {
        let help = "Records of sessions and port blocks, by outcome";
        let mut records = text.family("records", help, Type::Counter);
        records.sample(&[("outcome", "written")], self.status.records.written);
        records.sample(&[("outcome", "suppressed")], self.status.records.suppressed);
    }

    fn dns64(&self, text: &mut Exposition) {
        if self.dns64.is_empty() {
            return;
        }
        let help = "Counters of the DNS64 service";
        let mut explanations = text.family("dns64_counter", help, Type::Info);
        for (name, explanation, _) in &self.dns64 {
            explanations.info(&[("counter", name), ("explanation", explanation)]);
        }
        let help = "Events of the DNS64 service";
        let mut events = text.family(DNS64_FAMILY, help, Type::Counter);
        for (name, _, value) in &self.dns64 {
            events.sample(&[("counter", name)], *value);
        }
    }
}
