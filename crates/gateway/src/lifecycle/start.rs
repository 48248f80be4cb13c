//! The first steps: from a file to a configuration that the engines take, and the engines.

use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Instant;

use isthmus_core::datagrams::BorderDatagrams;
use isthmus_core::nat::{self, Recovered};
use isthmus_engine::memory::Region;
use isthmus_engine::own::Services;
use isthmus_engine::ruleset::Ruleset;
use nix::sys::utsname::uname;

use super::UpError;
use super::described::{Described, described};
use super::kept::{Kind, Legacy, Store};
use super::placement::{self, Placement};
use super::tables::{self, Table};
use crate::config::{self, Compiled, Document, Interface, Report, Secrets};
use crate::engine::{Engine, KernelEngine, UserEngine};
use crate::records::{Recorder, Remark};
use crate::{hash, records};

/// Memory for sessions beyond what the first configuration needs, as a multiple of it, so that a
/// reload can make tables of other sizes. It costs nothing until it is used.
const SPARE: u32 = 2;

/// A configuration ready to be put in force.
pub(super) struct Prepared {
    pub(super) document: Document,
    pub(super) ruleset: Arc<Ruleset>,
    pub(super) tables: Vec<Table>,
    pub(super) placement: Placement,
    /// Lines that are to be cleared before the tables are in force.
    pub(super) again: Vec<Range<u32>>,
    pub(super) described: Vec<Described>,
}

/// Writes to the log what may not be meant as it stands in the file.
pub(super) fn warn(warnings: &Report) {
    for problem in warnings.problems() {
        tracing::warn!(
            file = problem.file,
            line = problem.line,
            "{}: {}",
            problem.message,
            problem.expected
        );
    }
}

/// A document with its tables where they belong.
pub(super) struct LaidOut {
    compiled: Compiled,
    pub(super) placement: Placement,
    again: Vec<Range<u32>>,
    pub(super) tables: Vec<Table>,
    pub(super) described: Vec<Described>,
}

/// Compiles a document and puts its tables where they belong among `lines` lines. Nothing is used yet.
pub(super) fn lay_out(
    document: &Document,
    secrets: &Secrets,
    before: &Placement,
    lines: u32,
) -> Result<LaidOut, UpError> {
    let mut compiled = document.compile(secrets)?;
    let (placement, again) = place(before, document, &mut compiled, lines)?;
    let tables = tables::tables(document, &compiled);
    let described = described(document, &compiled.instances, &tables);
    Ok(LaidOut {
        compiled,
        placement,
        again,
        tables,
        described,
    })
}

/// Makes a document ready to be put in force, with its tables among `lines` lines.
pub(super) fn prepare(
    document: Document,
    secrets: &Secrets,
    before: &Placement,
    lines: u32,
) -> Result<Prepared, UpError> {
    let LaidOut {
        compiled,
        placement,
        again,
        tables,
        described,
    } = lay_out(&document, secrets, before, lines)?;
    Ok(Prepared {
        tables,
        ruleset: Arc::new(
            compiled
                .ruleset()
                .map_err(UpError::system("memory for rules"))?,
        ),
        document,
        placement,
        again,
        described,
    })
}

/// Puts the tables of a document where they belong.
fn place(
    before: &Placement,
    document: &Document,
    compiled: &mut Compiled,
    lines: u32,
) -> Result<(Placement, Vec<Range<u32>>), UpError> {
    let placed = before.place(document, compiled, lines, Instant::now());
    placed.map_err(|error| UpError::System {
        what: "tables".into(),
        error: std::io::Error::other(error),
    })
}

/// The memory of sessions and, where it lies in BPF maps, the engine that has them.
pub(super) struct SessionMemory {
    pub(super) state: Arc<Region>,
    /// Where tables lie in it already.
    pub(super) before: Placement,
    kernel: Option<KernelEngine>,
}

/// Where the sessions of a document lie.
pub(super) fn kind(document: &Document) -> Kind {
    let in_kernel = |interface: &Interface| interface.engine.value != config::Engine::User;
    if document.interfaces.iter().any(in_kernel) {
        Kind::Map
    } else {
        Kind::Memory
    }
}

/// Memory for the sessions of this document: that of the process before, if it is large enough and of the same kind,
/// or else memory with the same in it. Where it costs nothing until it is used there is some more; the maps of BPF
/// programs take theirs at once.
pub(super) fn memory(
    document: &Document,
    secrets: &Secrets,
    store: &mut Store,
    legacy: Option<Legacy>,
) -> Result<SessionMemory, UpError> {
    let mut compiled = document.compile(secrets)?;
    let (before, legacy) = match legacy {
        Some(legacy) => (legacy.placement, Some((legacy.kind, legacy.memory))),
        None => (Placement::default(), None),
    };
    let (placed, _) = place(&before, document, &mut compiled, u32::MAX)?;
    let needed = placed.end();
    let kind = kind(document);
    // What is not used as it is goes away, but only when this process lets go of it.
    let (same, other) = match legacy {
        Some((there, memory)) if there == kind && memory.lines() >= needed => (Some(memory), None),
        Some((_, memory)) => (None, Some(memory)),
        None => (None, None),
    };
    if other.is_some() {
        store.let_go();
    }
    let (state, kernel) = match kind {
        Kind::Map => {
            let rules = compiled.rules.len() as u32;
            let lines = same.map_or(needed, |memory| memory.lines());
            let interfaces = &document.interfaces;
            let (kernel, state) = KernelEngine::new(interfaces, lines, rules, store.keeper())?;
            (state, Some(kernel))
        }
        Kind::Memory => match same {
            Some(memory) => (memory, None),
            None => (own_memory(needed, store)?, None),
        },
    };
    if let Some(memory) = other {
        memory.copy_to(&state);
    }
    Ok(SessionMemory {
        state: Arc::new(state),
        before,
        kernel,
    })
}

/// Memory of this process, kept for the next one if that can be.
fn own_memory(needed: u32, store: &mut Store) -> Result<Region, UpError> {
    let sizes = [needed.saturating_mul(SPARE), needed];
    if let Some(keeper) = store.keeper() {
        let kept = |lines: u32| {
            let memory = keeper.allocate(u64::from(lines) * 64)?;
            Region::of_map(memory.as_fd(), lines)
        };
        match sizes.into_iter().find_map(|lines| kept(lines).ok()) {
            Some(memory) => return Ok(memory),
            None => store.give_up("there is not enough memory that could be kept".into()),
        }
    }
    let anonymous = Region::anonymous(sizes[0]).or_else(|_| Region::anonymous(needed));
    anonymous.map_err(UpError::system(format!(
        "{} bytes of memory for sessions: smaller `max-bindings` and `max-sessions` take less",
        u64::from(needed) * 64
    )))
}

/// Puts the tables in order that an earlier process left, and clears what was used for others. Nobody uses the
/// memory yet.
pub(super) fn recover(memory: &SessionMemory, prepared: &Prepared) {
    let state = &*memory.state;
    // Datagrams of borders are of moments ago, and may be half written.
    for lines in prepared.again.iter().chain([&BorderDatagrams::LINES]) {
        placement::clear(state, lines.clone());
    }
    let after = &prepared.placement;
    for name in after.staying(&memory.before) {
        for table in prepared.tables.iter().filter(|table| &*table.name == name) {
            let Recovered { sessions, bindings } = nat::recover(state, &table.config);
            tracing::info!(
                instance = name,
                sessions,
                bindings,
                "goes on where the run before ended"
            );
        }
    }
    for instance in after.gone(&memory.before) {
        tracing::warn!(
            instance,
            "its tables are others now: its sessions ended without records"
        );
    }
}

/// Records which tables begin empty, so that nothing of an earlier process counts as open.
pub(super) fn record_empty(recorder: &Recorder, memory: &SessionMemory, prepared: &Prepared) {
    let stays = |name: &str| {
        let mut staying = prepared.placement.staying(&memory.before);
        staying.any(|stays| stays == name)
    };
    for table in prepared.tables.iter().filter(|table| !stays(&table.name)) {
        recorder.remark(Remark::TablesEmpty {
            instance: Arc::clone(&table.name),
        });
    }
}

/// Starts the engines of the document. They pass packets for the gateway itself to `services`.
pub(super) fn engines(
    prepared: &Prepared,
    memory: SessionMemory,
    services: Arc<dyn Services>,
) -> Result<Vec<Box<dyn Engine>>, UpError> {
    let document = &prepared.document;
    // First the one that takes what the others hand on.
    let shares = match &memory.kernel {
        Some(kernel) => kernel.shares()?,
        None => None,
    };
    let (ruleset, state) = (&prepared.ruleset, &memory.state);
    let user = UserEngine::start(document, ruleset, state, services, shares)?;
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(user)];
    if let Some(mut kernel) = memory.kernel {
        kernel.attach(&prepared.ruleset)?;
        engines.push(Box::new(kernel));
    }
    Ok(engines)
}

/// New secrets.
pub(super) fn secrets() -> Result<Secrets, UpError> {
    let mut bytes = [0; 64];
    getrandom::fill(&mut bytes).map_err(|error| UpError::system("random numbers")(error.into()))?;
    let (words, _) = bytes.as_chunks();
    let words: [u64; 8] = std::array::from_fn(|index| u64::from_ne_bytes(words[index]));
    Ok(words.into())
}

/// Where records go.
pub(super) fn record_settings(document: &Document) -> records::Settings {
    let config::Records {
        json,
        syslog,
        ipfix,
        carrier,
        rate,
        destinations,
        heading: _,
    } = &document.records;
    records::Settings {
        gateway: document.gateway.name.clone(),
        host: uname().map_or_else(
            |_| String::new(),
            |uname| uname.nodename().to_string_lossy().into_owned(),
        ),
        domain: domain(&document.gateway.name),
        json: json.as_ref().map(|path| path.value.clone()),
        syslog: *syslog,
        ipfix: *ipfix,
        carrier: *carrier,
        rate: *rate,
        destinations: *destinations,
    }
}

/// The observation domain of a gateway: the same for the same name, never 0.
fn domain(name: &str) -> u32 {
    hash::of_name(name).max(1)
}
