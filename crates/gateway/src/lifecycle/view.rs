//! A gateway as the control socket and the metrics see it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use isthmus_core::nat;
use isthmus_core::reason::Kind;
use isthmus_engine::counters::{Counters, Owner};
use isthmus_engine::memory::Region;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::dns::Figures;
use super::fills;
use super::ledger::{Ledger, Reading};
use super::outcomes::Outcomes;
use super::port_use::PortUse;
use super::prefixes;
use super::proxy;
use super::sweeper::Sweeper;
use super::tables::Table;
use super::top;
use super::trace;
use crate::config::{self, Document};
use crate::control::{
    CounterRow, Filter, HostStatus, InForceStatus, InstanceStatus, Listed, Order, RecordsStatus,
    Reply, Service, Status, TableStatus, Top, TopRequest, TraceRequest, Tracing,
};
use crate::engine::Engine;
use crate::health::{Finding, Health, Patient, Verdict};
use crate::metrics::{self, Sample};
use crate::records::{Record, Recorder};

/// The end at which a client of the control socket waits for the answer to an order.
pub(super) type Answer = oneshot::Sender<Result<Reply, String>>;

/// The parts of a gateway that others see.
pub(super) struct View {
    pub(super) file: PathBuf,
    pub(super) started: Instant,
    pub(super) outcomes: Mutex<Outcomes>,
    pub(super) in_force: Mutex<InForceStatus>,
    /// The reasons of the verdict, and since when each holds.
    pub(super) patient: Mutex<Patient>,
    pub(super) port_use: PortUse,
    /// Things that are not as configured.
    pub(super) troubles: Mutex<Vec<String>>,
    pub(super) current: Mutex<Arc<Current>>,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) engines: Vec<Box<dyn Engine>>,
    pub(super) state: Arc<Region>,
    pub(super) sweeper: Sweeper,
    pub(super) recorder: Arc<Recorder>,
    /// Why sessions end with this process.
    pub(super) ephemeral: Option<String>,
    pub(super) dns: Arc<Mutex<Figures>>,
    pub(super) proxy: Arc<Mutex<proxy::Figures>>,
    pub(super) pcp: Arc<Counters>,
    pub(super) prefixes: Arc<Mutex<prefixes::Figures>>,
    pub(super) orders: mpsc::Sender<(Order, Answer)>,
}

/// The configuration in force.
pub(super) struct Current {
    pub(super) document: Document,
    pub(super) tables: Vec<Table>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl View {
    /// The configuration in force.
    pub(super) fn current(&self) -> Arc<Current> {
        Arc::clone(&lock(&self.current))
    }

    /// The counters of every engine, of the sweeper and of PCP.
    pub(super) fn readings(&self) -> Vec<(String, Reading)> {
        let instances = 0..self.current().document.instances.len() as u32;
        let mut readings: Vec<(String, Reading)> = Vec::new();
        for engine in &self.engines {
            readings.push((engine.name().into(), engine.counters()));
        }
        let owners = || instances.clone().map(Owner::Instance);
        let swept = owners().map(|owner| (owner, self.sweeper.counters(owner)));
        readings.push(("sweeper".into(), swept.collect()));
        let asked = owners().map(|owner| (owner, self.pcp.read(owner)));
        readings.push(("pcp".into(), asked.collect()));
        readings
    }

    fn rows(&self) -> Vec<CounterRow> {
        let mut rows = lock(&self.ledger).rows(&self.readings());
        rows.extend(lock(&self.prefixes).rows());
        rows
    }

    fn status_with(&self, rows: &[CounterRow]) -> Status {
        let current = self.current();
        let health = self.judge();
        let outcomes = lock(&self.outcomes);
        Status {
            name: current.document.gateway.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            process: std::process::id(),
            uptime: self.started.elapsed().as_secs(),
            configuration: self.file.clone(),
            in_force: lock(&self.in_force).clone(),
            reloads: outcomes.effective,
            failed_reloads: outcomes.failed,
            last_reload: outcomes.last.clone(),
            troubles: lock(&self.troubles).clone(),
            ephemeral: self.ephemeral.clone(),
            engines: self
                .engines
                .iter()
                .flat_map(|engine| engine.status())
                .collect(),
            instances: current
                .document
                .instances
                .iter()
                .map(|instance| self.instance_status(&current, instance, rows))
                .collect(),
            dns64: lock(&self.dns).addresses(),
            proxy: lock(&self.proxy).addresses(),
            announcements: lock(&self.prefixes).announcements(),
            records: RecordsStatus {
                written: self.recorder.written(),
                suppressed: self.recorder.suppressed(),
            },
            health,
        }
    }

    /// Judges how the gateway is, by everything that is wrong now.
    pub(super) fn judge(&self) -> Health {
        let ill = |what| Finding {
            verdict: Verdict::Ill,
            what,
        };
        let mut findings: Vec<Finding> = lock(&self.troubles).iter().cloned().map(ill).collect();
        let ended = self.engines.iter().filter(|engine| !engine.is_running());
        findings.extend(ended.map(|engine| ill(format!("the engine {} has ended", engine.name()))));
        findings.extend(lock(&self.prefixes).waiting().map(|instance| {
            ill(format!(
                "instance {instance} waits for a prefix, and translates nothing"
            ))
        }));
        findings.extend(lock(&self.outcomes).finding());
        lock(&self.patient).judge(findings, jiff::Timestamp::now())
    }
}

impl View {
    fn instance_status(
        &self,
        current: &Current,
        instance: &config::Instance,
        rows: &[CounterRow],
    ) -> InstanceStatus {
        let name = &instance.name.value;
        let packets = |kind: Kind| {
            let of_kind = |row: &&CounterRow| row.instance == *name && row.kind == kind.name();
            rows.iter().filter(of_kind).map(|row| row.value).sum()
        };
        let table = current.tables.iter().find(|table| *table.name == **name);
        InstanceStatus {
            name: name.clone(),
            mechanism: instance.mechanism.name().into(),
            translated: packets(Kind::Forwarded),
            dropped: packets(Kind::Dropped),
            tables: match table {
                Some(table) => fills::of(&*self.state, table),
                None => softwires(instance),
            },
            pool: table.map(|table| self.port_use.pool(&self.state, table, Instant::now())),
            prefix: lock(&self.prefixes).prefix(name),
            host: host(instance),
        }
    }
}

fn host(instance: &config::Instance) -> Option<HostStatus> {
    let config::Mechanism::Composed(composed) = &instance.mechanism else {
        return None;
    };
    let host = composed.host.as_ref()?;
    Some(HostStatus {
        uplink: host.uplink.value.clone(),
        address: host.address.to_string(),
        local: host.local.map(|local| local.to_string()),
    })
}

/// The table of softwires, which is as full as the configuration says.
fn softwires(instance: &config::Instance) -> Vec<TableStatus> {
    match &instance.mechanism {
        config::Mechanism::Composed(composed) if !composed.softwires.is_empty() => {
            let count = composed.softwires.len() as u64;
            vec![TableStatus {
                table: "softwires".into(),
                used: count,
                limit: count,
                refused: 0,
            }]
        }
        _ => Vec::new(),
    }
}

impl Service for View {
    fn status(&self) -> Status {
        self.status_with(&self.rows())
    }

    fn counters(&self) -> Vec<CounterRow> {
        self.rows()
    }

    fn sessions(&self, visit: &mut dyn FnMut(Listed) -> ControlFlow<()>) {
        for table in &self.current().tables {
            let all = 0..table.config.layout.buckets();
            let flow = nat::sessions(&*self.state, &table.config, all, |session| {
                visit(table.listed(&session))
            });
            if flow.is_break() {
                return;
            }
        }
    }

    fn top(&self, request: TopRequest) -> Top {
        top::top(&self.state, &self.current().tables, request)
    }

    fn delete(&self, filter: &Filter) -> u64 {
        let ended = self
            .sweeper
            .delete(|table, session| filter.admits(&table.name, &table.session(session)));
        tracing::info!(ended, ?filter, "sessions were ended by order");
        ended
    }

    fn follow(&self) -> broadcast::Receiver<Arc<Record>> {
        self.recorder.follow()
    }

    fn trace(&self, request: &TraceRequest, lines: mpsc::Sender<Reply>) -> Result<Tracing, String> {
        trace::begin(self, request, &lines)
    }

    fn name(&self) -> String {
        self.current().document.gateway.name.clone()
    }

    async fn change(&self, order: Order) -> Result<Reply, String> {
        let ended = || "the gateway is ending".to_owned();
        let (reply, answer) = oneshot::channel();
        let sent = self.orders.send((order, reply)).await;
        sent.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl metrics::Source for View {
    fn sample(&self) -> Sample {
        let counters = self.rows();
        Sample {
            status: self.status_with(&counters),
            counters,
            dns64: lock(&self.dns).counters(),
            proxy: lock(&self.proxy).counters(),
            configured: lock(&self.outcomes).success,
        }
    }

    fn health(&self) -> Health {
        self.judge()
    }
}
