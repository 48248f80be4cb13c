//! A gateway as the control socket and the metrics see it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use isthmus_core::nat;
use isthmus_core::reason::Counter;
use isthmus_engine::counters::{Counters, Owner};
use isthmus_engine::memory::Region;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::dns::Figures;
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
            engines: self
                .engines
                .iter()
                .flat_map(|engine| engine.status())
                .collect(),
            instances: current
                .document
                .instances
                .iter()
                .map(|instance| InstanceStatus {
                    prefix: lock(&self.prefixes).prefix(&instance.name.value),
                    ..instance_status(instance, rows)
                })
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

fn instance_status(instance: &config::Instance, rows: &[CounterRow]) -> InstanceStatus {
    let name = &instance.name.value;
    let sum = |wanted: &dyn Fn(&CounterRow) -> bool| -> u64 {
        rows.iter()
            .filter(|row| row.instance == *name && wanted(row))
            .map(|row| row.value)
            .sum()
    };
    let counted = |counter: Counter| sum(&|row| row.counter == counter.name());
    let used = |made, ended| counted(made).saturating_sub(counted(ended));
    let table = |table: &str, used, limit: u32| TableStatus {
        table: table.into(),
        used,
        limit: limit.into(),
    };
    let tables = match instance.mechanism.nat() {
        None => match &instance.mechanism {
            config::Mechanism::Composed(composed) if !composed.softwires.is_empty() => {
                let count = composed.softwires.len() as u32;
                vec![table("softwires", count.into(), count)]
            }
            _ => Vec::new(),
        },
        Some(nat) => vec![
            table(
                "sessions",
                used(Counter::SessionCreated, Counter::SessionRemoved),
                nat.max_sessions,
            ),
            table(
                "bindings",
                used(Counter::BindingCreated, Counter::BindingRemoved),
                nat.max_bindings,
            ),
        ],
    };
    InstanceStatus {
        name: name.clone(),
        mechanism: instance.mechanism.name().into(),
        translated: sum(&|row| row.kind == "forwarded"),
        dropped: sum(&|row| row.kind == "dropped"),
        tables,
        prefix: None,
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
