//! From the state of the gateway to the text of its metrics.

use std::sync::Arc;

use isthmus_core::reason::{Counter, Kind};
use jiff::Timestamp;

use super::exposition::{Exposition, Format, Type};
use super::process;
use crate::control::{CounterRow, Outcome, PoolStatus, ReloadStatus, Status, TableStatus};
use crate::health::{Health, Verdict};
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
    /// The same of the proxy.
    pub proxy: Vec<(&'static str, &'static str, u64)>,
    /// When a configuration took effect last.
    pub configured: Timestamp,
}

/// Where samples come from.
pub trait Source: Send + Sync + 'static {
    /// The state of now.
    fn sample(&self) -> Sample;

    /// The verdict of now.
    fn health(&self) -> Health;
}

/// The label with the name of an instance.
const INSTANCE: &str = "instance_name";

/// Returns the sample of now in a text format.
pub fn encode<S: Source>(source: &Arc<S>, format: Format) -> String {
    let sample = source.sample();
    let mut text = Exposition::new(format);
    sample.gateway(&mut text);
    sample.configuration(&mut text);
    sample.explanations(&mut text);
    sample.data_plane(&mut text);
    sample.tables(&mut text);
    sample.pools(&mut text);
    sample.records(&mut text);
    let [dns64, proxy] = [&sample.dns64, &sample.proxy];
    service(
        &mut text,
        "DNS64 service",
        ["dns64_explanation", DNS64_FAMILY],
        dns64,
    );
    service(
        &mut text,
        "proxy",
        ["proxy_explanation", PROXY_FAMILY],
        proxy,
    );
    process::add(&mut text);
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

/// The metric family of what the proxy counts, likewise.
pub const PROXY_FAMILY: &str = "proxy_events";

/// The metric family of what the DNS64 service counts, likewise.
pub const DNS64_FAMILY: &str = "dns64_events";

impl Sample {
    fn gateway(&self, text: &mut Exposition) {
        let status = &self.status;
        text.family("build", "The program and the gateway", Type::Info)
            .info(&[("gateway", &status.name), ("version", &status.version)]);
        text.family("uptime_seconds", "Seconds since the start", Type::Gauge)
            .sample(&[], status.uptime);
        let help = "Parts of the machine that are not as configured, and could not be put back";
        text.family("troubles", help, Type::Gauge)
            .sample(&[], status.troubles.len());
        let help = "1 if packets are translated as configured, else 0";
        text.family("ready", help, Type::Gauge)
            .sample(&[], u8::from(status.health.is_ready()));
        let help = "1 if nothing at all is wrong, else 0";
        text.family("healthy", help, Type::Gauge)
            .sample(&[], u8::from(status.health.verdict == Verdict::Healthy));
    }

    fn configuration(&self, text: &mut Exposition) {
        let status = &self.status;
        let help = "Configurations that took effect since the start";
        text.family("reloads", help, Type::Counter)
            .sample(&[], status.reloads);
        let help = "Configurations that did not take effect since the start";
        text.family("failed_reloads", help, Type::Counter)
            .sample(&[], status.failed_reloads);
        let failed = |last: &ReloadStatus| last.outcome == Outcome::Failed;
        let help = "0 if the last configuration did not take effect, else 1";
        text.family("last_reload_successful", help, Type::Gauge)
            .sample(
                &[],
                u8::from(!status.last_reload.as_ref().is_some_and(failed)),
            );
        let help = "Time since the epoch at which a configuration took effect last";
        let name = "last_reload_success_timestamp_seconds";
        text.family(name, help, Type::Gauge)
            .sample(&[], self.configured.as_second());
        let help = "1 if the configuration in force is undone unless somebody confirms it, else 0";
        text.family("configuration_unconfirmed", help, Type::Gauge)
            .sample(&[], u8::from(status.in_force.undone_at.is_some()));
        let help = "1 if the files say something else than the configuration in force, else 0";
        text.family("configuration_differs", help, Type::Gauge)
            .sample(&[], u8::from(status.in_force.differs));
    }

    fn explanations(&self, text: &mut Exposition) {
        let help = "Counters of the data plane, and of prefix discovery and announcement";
        let mut explanations = text.family("explanation", help, Type::Info);
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
                    (INSTANCE, row.instance.as_str()),
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
                    let labels = [(INSTANCE, &*instance.name), ("table", &*table.table)];
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

    fn pools(&self, text: &mut Exposition) {
        let instances = self.status.instances.iter();
        let pools: Vec<(&str, PoolStatus)> = instances
            .filter_map(|instance| Some((&*instance.name, instance.pool?)))
            .collect();
        let mut addresses = text.family("pool_addresses", "Addresses of a pool", Type::Gauge);
        for (name, pool) in &pools {
            addresses.sample(&[(INSTANCE, name)], pool.addresses);
        }
        let mut ports = |family, help, number: fn(&PoolStatus) -> [u64; 2]| {
            let mut family = text.family(family, help, Type::Gauge);
            for (name, pool) in &pools {
                let [tcp, udp] = number(pool);
                for (protocol, value) in [("tcp", tcp), ("udp", udp)] {
                    family.sample(&[(INSTANCE, name), ("protocol", protocol)], value);
                }
            }
        };
        let help = "Ports of all addresses of a pool that bindings have, as counted within the last seconds";
        ports("pool_ports_used", help, |pool| [pool.tcp, pool.udp]);
        let help = "Ports of all addresses of a pool";
        ports("pool_ports_limit", help, |pool| [pool.ports; 2]);
    }

    fn records(&self, text: &mut Exposition) {
        let help = "Records of sessions and port blocks, by outcome";
        let mut records = text.family("records", help, Type::Counter);
        records.sample(&[("outcome", "written")], self.status.records.written);
        records.sample(&[("outcome", "suppressed")], self.status.records.suppressed);
    }
}

/// What a service of the gateway counts, if it runs.
fn service(
    text: &mut Exposition,
    name: &str,
    [explanation_family, family]: [&str; 2],
    counters: &[(&'static str, &'static str, u64)],
) {
    if counters.is_empty() {
        return;
    }
    let help = format!("Counters of the {name}");
    let mut explanations = text.family(explanation_family, &help, Type::Info);
    for (name, explanation, _) in counters {
        explanations.info(&[("counter", name), ("explanation", explanation)]);
    }
    let help = format!("Events of the {name}");
    let mut events = text.family(family, &help, Type::Counter);
    for (name, _, value) in counters {
        events.sample(&[("counter", name)], *value);
    }
}
