//! The gateway while it runs: how its parts are put together and taken apart.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use isthmus_engine::memory::Region;
use isthmus_engine::own::Services;
use isthmus_engine::ruleset::Ruleset;
use tokio::sync::mpsc;
use tokio::task::{self, JoinHandle};
use tokio::time::Interval;

use super::UpError;
use super::described::Described;
use super::dns::Dns;
use super::fills::Crowding;
use super::history::{History, Version};
use super::kept::{Leave, Store};
use super::ledger::Ledger;
use super::locals::Locals;
use super::logging::Logging;
use super::outcomes::Outcomes;
use super::pcp::{Own, Pcp};
use super::placement::Placement;
use super::port_use::PortUse;
use super::prefixes::Prefixes;
use super::proxy::Proxy;
use super::start::{self, Prepared};
use super::sweeper::Sweeper;
use super::tables::Table;
use super::view::{Answer, Current, View};
use crate::config::{self, Document, Secrets};
use crate::control::{self, ControlSocket, EngineStatus, Lock, Order};
use crate::doctor;
use crate::engine::Engine;
use crate::isatap::{RouterLists, Solicitors};
use crate::link::{Answers, Link, LinkError, Monitor, Sysctls, Wanted};
use crate::metrics::Endpoint;
use crate::records::{Recorder, Remark};

/// Time between two looks at the machine.
const PULSE: Duration = Duration::from_secs(1);

/// Everything that a gateway has; each part is taken back by [`stop`](Self::stop).
pub(super) struct Running {
    pub(super) history: History,
    pub(super) logging: Logging,
    pub(super) secrets: Secrets,
    pub(super) placement: Placement,
    pub(super) described: Vec<Described>,
    /// The rules in force.
    pub(super) ruleset: Arc<Ruleset>,
    pub(super) link: Option<Link>,
    monitor: Option<Monitor>,
    /// When the machine is looked at.
    pulse: Interval,
    pub(super) sysctls: Sysctls,
    /// The ports that the machine's sockets do not get; `None` before it was tried.
    pub(super) reserved: Option<BTreeSet<(u16, u16)>>,
    pub(super) answers: Answers,
    pub(super) crowding: Crowding,
    pub(super) dns: Dns,
    pub(super) proxy: Proxy,
    pub(super) pcp: Pcp,
    pub(super) solicitors: Solicitors,
    pub(super) router_lists: RouterLists,
    pub(super) locals: Locals,
    pub(super) prefixes: Prefixes,
    pub(super) view: Arc<View>,
    pub(super) metrics: Option<JoinHandle<()>>,
    control: Option<JoinHandle<()>>,
    ordered: mpsc::Receiver<(Order, Answer)>,
    pub(super) store: Store,
    // Held until nothing of this process uses the memory of sessions any more.
    _lock: Arc<Lock>,
}

impl Running {
    /// Reads the file and starts everything that it asks for.
    ///
    /// # Errors
    ///
    /// The step that failed; those before it were undone.
    pub(super) async fn start(file: PathBuf) -> Result<Self, UpError> {
        let loaded = config::load(&file)?.on_this_machine()?;
        let document = loaded.document.clone();
        let logging = Logging::start(document.log.level, document.log.format)
            .map_err(|error| UpError::system("log")(std::io::Error::other(error)))?;
        start::warn(&loaded.warnings);
        doctor::warn(&loaded).await;
        let history = History::new(Version::of(loaded));
        // First the socket: it shows whether this gateway runs already.
        let socket = ControlSocket::bind(
            &document.gateway.control,
            document.gateway.view_group.as_deref(),
        )?;
        let sysctls = Sysctls::new(document.gateway.control.with_extension("state"))?;
        let metrics = match document.gateway.metrics {
            Some(address) => Some(endpoint(address).await?),
            None => None,
        };
        let mut store = Store::open(&document.gateway.control, start::kind(&document));
        let legacy = store.legacy();
        let mut secrets = start::secrets()?;
        if let Some(legacy) = &legacy {
            secrets.tables = legacy.seed;
        }
        let memory = start::memory(&document, &secrets, &mut store, legacy)?;
        let state = Arc::clone(&memory.state);
        let prepared = start::prepare(document, &secrets, &memory.before, state.lines())?;
        start::recover(&memory, &prepared);
        // Before packets write where the note before has other tables.
        store.write(&secrets.tables, &prepared.placement, state.lines());
        let recorder = Recorder::start(&start::record_settings(&prepared.document));
        let recorder = Arc::new(recorder.map_err(UpError::system("records"))?);
        recorder.remark(Remark::Started {
            version: env!("CARGO_PKG_VERSION"),
        });
        start::record_empty(&recorder, &memory, &prepared);
        let own = Arc::new(Own::default());
        let services: Arc<dyn Services> = Arc::<Own>::clone(&own);
        let engines = start::engines(&prepared, memory, services)?;
        let pcp = Pcp::new(Arc::clone(&state), own);
        let place = (store, socket.lock());
        let mut running = Self::assemble(
            file, history, logging, secrets, sysctls, state, recorder, engines, pcp, prepared,
            place,
        )?;
        match running.connect(socket, metrics).await {
            Ok(()) => {
                running.record_configuration();
                running.leave(Leave::Sessions);
                Ok(running)
            }
            Err(error) => {
                running.stop().await;
                Err(error)
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a gateway, each named by its type, in one place"
    )]
    fn assemble(
        file: PathBuf,
        mut history: History,
        logging: Logging,
        secrets: Secrets,
        sysctls: Sysctls,
        state: Arc<Region>,
        recorder: Arc<Recorder>,
        engines: Vec<Box<dyn Engine>>,
        pcp: Pcp,
        prepared: Prepared,
        (store, lock): (Store, Arc<Lock>),
    ) -> Result<Self, UpError> {
        let Prepared {
            document,
            tables,
            placement,
            again: _,
            described,
            ruleset,
        } = prepared;
        let sweeper = sweeper(&state, &recorder, &tables)?;
        let (dns, prefixes, proxy) = (Dns::default(), Prefixes::default(), Proxy::default());
        let (orders, ordered) = mpsc::channel(1);
        let view = View {
            file,
            started: Instant::now(),
            outcomes: Mutex::new(Outcomes::new()),
            in_force: Mutex::new(history.status()),
            patient: Mutex::default(),
            port_use: PortUse::default(),
            troubles: Mutex::default(),
            ledger: Mutex::new(Ledger::new(names(&document))),
            current: Mutex::new(Arc::new(Current { document, tables })),
            engines,
            state,
            sweeper,
            recorder,
            ephemeral: store.trouble(),
            dns: dns.figures(),
            proxy: proxy.figures(),
            pcp: pcp.counters(),
            prefixes: prefixes.figures(),
            orders,
        };
        Ok(Self {
            history,
            logging,
            secrets,
            placement,
            described,
            ruleset,
            link: None,
            monitor: None,
            pulse: tokio::time::interval(PULSE),
            sysctls,
            reserved: None,
            answers: Answers::default(),
            crowding: Crowding::default(),
            dns,
            proxy,
            pcp,
            solicitors: Solicitors::default(),
            router_lists: RouterLists::new(prefixes.news()),
            locals: Locals::new(prefixes.news()),
            prefixes,
            view: Arc::new(view),
            metrics: None,
            control: None,
            ordered,
            store,
            _lock: lock,
        })
    }

    /// Opens the gateway to packets and to people.
    async fn connect(
        &mut self,
        socket: ControlSocket,
        metrics: Option<Endpoint>,
    ) -> Result<(), UpError> {
        let current = self.view.current();
        let wanted = Wanted::of(&current.document);
        self.configure_link(&wanted).await?;
        self.sysctls.forward(&wanted)?;
        let troubles = self.settle().await;
        self.report(troubles);
        self.dns.apply(&current.document).await?;
        self.proxy.apply(&current.document).await?;
        let opened = self.pcp.open(&current.document, &self.described).await?;
        self.pcp
            .apply(opened, &current.document, &current.tables, &self.described)
            .await;
        self.solicit(&current.document).await;
        let ready = self.prefixes.prepare(&current.document)?;
        self.prefixes.apply(&current.document, ready);
        self.router_lists.apply(&current.document);
        self.locals.apply(&current.document);
        self.complete_engines().await?;
        self.serve_metrics(metrics);
        self.control = Some(tokio::spawn(control::serve(socket, Arc::clone(&self.view))));
        for status in self.view.engines.iter().flat_map(|engine| engine.status()) {
            let EngineStatus {
                engine,
                interface,
                detail,
            } = status;
            tracing::info!(engine, interface, detail, "translating");
        }
        tracing::info!(
            gateway = current.document.gateway.name,
            instances = current.document.instances.len(),
            control = %current.document.gateway.control.display(),
            "up"
        );
        Ok(())
    }

    /// Gives rare packets their programs as well. Packets pass already, and on a small machine that takes many seconds.
    async fn complete_engines(&self) -> Result<(), UpError> {
        let view = Arc::clone(&self.view);
        let completed = task::spawn_blocking(move || {
            let mut engines = view.engines.iter();
            engines.try_for_each(|engine| engine.complete())
        });
        let completed = completed.await;
        Ok(completed.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic()))?)
    }

    /// Makes the link as wanted, and listens for its losses.
    pub(super) async fn configure_link(&mut self, wanted: &Wanted) -> Result<(), LinkError> {
        let link = Link::configure(wanted).await?;
        self.monitor = Monitor::start(link.index())
            .map(Some)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "losses of routes will not be heard of");
                None
            });
        self.link = Some(link);
        Ok(())
    }

    /// Has the hosts of ISATAP links ask for their addresses.
    pub(super) async fn solicit(&mut self, document: &Document) {
        if let Some(link) = &self.link {
            let name = &document.tun.name.value;
            self.solicitors.apply(document, link.index(), name).await;
        }
    }

    /// Replaces the metrics server.
    pub(super) fn serve_metrics(&mut self, endpoint: Option<Endpoint>) {
        if let Some(task) = self.metrics.take() {
            task.abort();
        }
        self.metrics = endpoint.map(|endpoint| {
            if let Ok(address) = endpoint.address() {
                tracing::info!("metrics at http://{address}/metrics");
            }
            tokio::spawn(endpoint.serve(Arc::clone(&self.view)))
        });
    }

    /// One line for the service manager.
    pub(super) fn summary(&self) -> String {
        let current = self.view.current();
        let instances: Vec<&str> = current
            .document
            .instances
            .iter()
            .map(|instance| instance.name.value.as_str())
            .collect();
        format!(
            "{}: {}",
            current.document.gateway.name,
            instances.join(", ")
        )
    }

    /// Waits for the next request to the gateway.
    pub(super) async fn wish(&mut self) -> Wish {
        let news = self.prefixes.news();
        let losses = self.monitor.as_ref().map(Monitor::changed);
        let lost = async {
            match &losses {
                Some(losses) => losses.notified().await,
                None => std::future::pending().await,
            }
        };
        let deadline = self.history.deadline();
        let unconfirmed = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some((order, answer)) = self.ordered.recv() => Wish::Obey(order, answer),
            () = unconfirmed => Wish::Undo,
            () = news.notified() => Wish::Follow,
            () = lost => Wish::Heal,
            _ = self.pulse.tick() => Wish::Look,
        }
    }

    /// Opens files again that a log rotation has moved away.
    pub(super) fn reopen(&self) {
        self.view.recorder.reopen();
    }

    /// An engine that does not run any more, and its link.
    pub(super) fn failed_engine(&self) -> Option<(String, String)> {
        let mut engines = self.view.engines.iter();
        let failed = engines.find(|engine| !engine.is_running())?;
        let links = failed.status().into_iter().map(|status| status.interface);
        Some((failed.name().into(), links.collect::<Vec<_>>().join(", ")))
    }

    /// Says what to leave to the next process.
    pub(super) fn leave(&mut self, leave: Leave) {
        self.store.leave(leave);
    }

    /// Ends everything: first the parts that receive packets and requests, last those that are shared.
    pub(super) async fn stop(mut self) {
        for task in [self.control.take(), self.metrics.take()]
            .into_iter()
            .flatten()
        {
            task.abort();
            // A task that was aborted has dropped what it held.
            let _ = task.await;
        }
        // While what hosts still send is translated.
        self.prefixes.stop().await;
        self.proxy.stop().await;
        self.dns.stop().await;
        self.pcp.stop().await;
        self.solicitors.stop().await;
        self.router_lists.stop();
        self.locals.stop();
        self.monitor = None;
        self.answers = Answers::default();
        if let Some(link) = self.link.take() {
            link.remove().await;
        }
        for engine in &self.view.engines {
            engine.stop();
        }
        if let Err(error) = self.sysctls.restore() {
            tracing::error!(%error, "forwarding could not be restored");
        }
        self.view.sweeper.stop();
        self.view.recorder.stop();
    }
}

fn sweeper(
    state: &Arc<Region>,
    recorder: &Arc<Recorder>,
    tables: &[Table],
) -> Result<Sweeper, UpError> {
    Sweeper::start(Arc::clone(state), Arc::clone(recorder), tables.to_vec())
        .map_err(UpError::system("sweeper"))
}

/// A request to the gateway while it runs.
pub(super) enum Wish {
    /// A client orders a change of the configuration.
    Obey(Order, Answer),
    /// Nobody has confirmed the configuration in force.
    Undo,
    /// Something else was found out.
    Follow,
    /// Something of the link was taken away.
    Heal,
    /// It is time to look at the machine.
    Look,
}

/// A listening metrics server.
pub(super) async fn endpoint(address: std::net::SocketAddr) -> Result<Endpoint, UpError> {
    Endpoint::bind(address)
        .await
        .map_err(UpError::system(format!("metrics at {address}")))
}

/// Names of the instances, in order.
pub(super) fn names(document: &Document) -> Vec<String> {
    document
        .instances
        .iter()
        .map(|instance| instance.name.value.clone())
        .collect()
}
