//! A gateway as the control socket and the metrics see it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
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
use super::prefixes;
use super::sweeper::Sweeper;
use super::tables::Table;
use crate::config::{self, Document};
use crate::control::{
    CounterRow, InstanceStatus, Listed, RecordsStatus, Service, Status, TableStatus,
};
use crate::engine::Engine;
use crate::metrics::{self, Sample};
use crate::records::{Record, Recorder};

/// A reload that a client of the control socket waits for.
pub(super) type ReloadReply = oneshot::Sender<Result<Vec<String>, String>>;

/// The parts of a gateway that others see.
pub(super) struct View {
    pub(super) file: PathBuf,
    pub(super) started: Instant,
    pub(super) reloads: AtomicU64,
    pub(super) reload_error: Mutex<Option<String>>,
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
    pub(super) pcp: Arc<Counters>,
    pub(super) prefixes: Arc<Mutex<prefixes::Figures>>,
    pub(super) reload: mpsc::Sender<ReloadReply>,
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
        Status {
            name: current.document.gateway.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            process: std::process::id(),
            uptime: self.started.elapsed().as_secs(),
            configuration: self.file.clone(),
            reloads: self.reloads.load(Ordering::Relaxed),
            reload_error: lock(&self.reload_error).clone(),
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
            announcements: lock(&self.prefixes).announcements(),
            records: RecordsStatus {
                written: self.recorder.written(),
                suppressed: self.recorder.suppressed(),
            },
        }
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
            prefix: lock(&self.prefixes).prefix(name),
        }
    }
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

    fn follow(&self) -> broadcast::Receiver<Arc<Record>> {
        self.recorder.follow()
    }

    fn name(&self) -> String {
        self.current().document.gateway.name.clone()
    }

    async fn reload(&self) -> Result<Vec<String>, String> {
        let ended = || "the gateway is ending".to_owned();
        let (reply, outcome) = oneshot::channel();
        self.reload.send(reply).await.map_err(|_| ended())?;
        outcome.await.map_err(|_| ended())?
    }
}

impl metrics::Source for View {
    fn sample(&self) -> Sample {
        let counters = self.rows();
        Sample {
            status: self.status_with(&counters),
            counters,
            dns64: lock(&self.dns).counters(),
        }
    }
}
