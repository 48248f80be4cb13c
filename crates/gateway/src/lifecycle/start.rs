//! The first steps: from a file to a configuration that the engines take, and the engines.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use isthmus_engine::memory::Region;
use isthmus_engine::own::Services;
use isthmus_engine::ruleset::Ruleset;
use nix::sys::utsname::uname;

use super::UpError;
use super::described::{Described, described};
use super::placement::Placement;
use super::tables::{self, Table};
use crate::config::{self, Document, Interface, Report, Secrets};
use crate::engine::{Engine, KernelEngine, UserEngine};
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

/// Compiles a document and puts its tables where they belong among `lines` lines.
pub(super) fn prepare(
    document: Document,
    secrets: &Secrets,
    before: &Placement,
    lines: u32,
) -> Result<Prepared, UpError> {
    let mut compiled = document.compile(secrets)?;
    let (placement, again) = before
        .place(&document, &mut compiled, lines, Instant::now())
        .map_err(|error| UpError::System {
            what: "tables".into(),
            error: std::io::Error::other(error),
        })?;
    let tables = tables::tables(&document, &compiled);
    let described = described(&document, &compiled.instances, &tables);
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

/// The memory of sessions and, where it lies in BPF maps, the engine that has them.
pub(super) struct SessionMemory {
    pub(super) state: Arc<Region>,
    kernel: Option<KernelEngine>,
}

/// Memory for the sessions of this document. Where it costs nothing until it is used there is some
/// more; the maps of BPF programs take theirs at once.
pub(super) fn memory(document: &Document, secrets: &Secrets) -> Result<SessionMemory, UpError> {
    let compiled = document.compile(secrets)?;
    let needed = compiled.state_lines;
    let in_kernel = |interface: &Interface| interface.engine.value != config::Engine::User;
    if document.interfaces.iter().any(in_kernel) {
        let rules = compiled.rules.len() as u32;
        let (kernel, state) = KernelEngine::new(&document.interfaces, needed, rules)?;
        return Ok(SessionMemory {
            state: Arc::new(state),
            kernel: Some(kernel),
        });
    }
    let state = Region::anonymous(needed.saturating_mul(SPARE))
        .or_else(|_| Region::anonymous(needed))
        .map_err(UpError::system(format!(
            "{} bytes of memory for sessions: smaller `max-bindings` and `max-sessions` take less",
            u64::from(needed) * 64
        )))?;
    Ok(SessionMemory {
        state: Arc::new(state),
        kernel: None,
    })
}

/// Starts the engines of the document. They pass packets for the gateway itself to `services`.
pub(super) fn engines(
    prepared: &Prepared,
    memory: SessionMemory,
    services: Arc<dyn Services>,
) -> Result<Vec<Box<dyn Engine>>, UpError> {
    let document = &prepared.document;
    // First the one that takes what the others hand on.
    let user = UserEngine::start(&document.tun, &prepared.ruleset, &memory.state, services)?;
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(user)];
    if let Some(mut kernel) = memory.kernel {
        kernel.attach(&document.interfaces, &prepared.ruleset)?;
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
        rate,
        destinations,
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
        rate: *rate,
        destinations: *destinations,
    }
}

/// The observation domain of a gateway: the same for the same name, never 0.
fn domain(name: &str) -> u32 {
    hash::of_name(name).max(1)
}
