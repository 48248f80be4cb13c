//! The configuration of a gateway: one TOML document, read, checked as a whole and turned into
//! what the data plane takes.
//!
//! A mistake anywhere means that there is no configuration at all; everything that is wrong is
//! reported at once, each with its place in the file ([`Report`]). [`Document`] has the content of the file,
//! [`Compiled`] the form that the core takes.
//!
//! `docs/configuration.md` is the description for users.

mod alg;
mod announce;
mod bare;
mod card;
mod check;
mod choice;
mod compile;
mod composed;
mod diagnose;
mod discovery;
mod document;
mod engines;
mod host;
mod instance;
mod isatap;
pub(crate) mod local_ports;
mod lwaftr;
mod machine;
mod map_rules;
mod mapping;
mod nat;
mod nat_pt;
mod overlap;
mod own_limits;
mod pcp;
mod plan;
mod prefix;
mod proxy;
mod route;
mod rows;
mod section;
mod sharing;
mod source;
mod table;
mod tunnel;
mod value;

use std::io;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

pub use bare::{Chance, PackError};
pub use choice::Choice;
pub(crate) use choice::by_name;
pub use compile::{CompileError, Compiled, Secrets};
pub use diagnose::{Diagnostic, Problem, Report, Severity, Style};
pub use document::*;
pub(crate) use host::METRIC;
pub use host::{Clat, Host};
pub use instance::keys_of_mechanisms;
pub use isatap::PotentialRouters;
pub use machine::Lack;
pub use plan::{Plan, Section};
pub use source::{At, Source, Span};

use diagnose::Sink;
use rows::Files;
use table::Reader;

/// A configuration that can be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub document: Document,
    /// Warnings about what may not be meant as it stands there.
    pub warnings: Report,
}

impl Loaded {
    /// A number for the text of the configuration and of all files that it names, by which records say which one was in
    /// force. It is the same in every version of the program.
    #[must_use]
    pub fn digest(&self) -> String {
        let texts = self.warnings.sources().iter().map(|source| &*source.text);
        format!("{:016x}", crate::hash::of_texts(texts))
    }
}

/// Why there is no configuration.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Read {
        /// Its path.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It says something wrong.
    Invalid(Report),
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read { path, error } => {
                write!(
                    f,
                    "cannot read the configuration {}: {error}",
                    path.display()
                )?;
                if error.kind() == io::ErrorKind::InvalidData {
                    f.write_str("; save it as UTF-8")?;
                }
                Ok(())
            }
            Self::Invalid(report) => report.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

/// Reads and checks a configuration. Files that it names are looked for beside it.
///
/// # Errors
/// See [`LoadError`].
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    load_for(path, path)
}

/// The same for the gateway of the file `place`, whose name it has unless it says another one.
///
/// # Errors
/// See [`LoadError`].
pub fn load_for(path: &Path, place: &Path) -> Result<Loaded, LoadError> {
    let text = std::fs::read_to_string(path).map_err(|error| LoadError::Read {
        path: path.to_owned(),
        error,
    })?;
    let stem = place.file_stem().and_then(|stem| stem.to_str());
    let name = stem.filter(|stem| is_name(stem)).unwrap_or("isthmus");
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&path.display().to_string(), name, text, folder).map_err(LoadError::Invalid)
}

/// Whether a text would do as the name of a gateway.
fn is_name(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('.')
}

/// Checks a configuration that was read already. `path` is its name in messages, `name`
/// the name of the gateway if the text has none, `folder` the folder that its paths are relative
/// to.
///
/// # Errors
/// Everything that is wrong.
pub fn parse(path: &str, name: &str, text: String, folder: &Path) -> Result<Loaded, Report> {
    let sink = Sink::default();
    let (table, errors) = DeTable::parse_recoverable(&text);
    for error in &errors {
        let span = Span::new(0, error.span().unwrap_or(0..0));
        let message = format!("this is not TOML: {}", error.message());
        sink.push(Diagnostic::error(span, message, "here"));
    }
    let mut files = Files {
        sources: vec![Source {
            path: path.to_owned(),
            text: String::new(),
        }],
        folder,
    };
    // With the syntax broken, what was understood of the rest is a guess.
    let document = errors
        .is_empty()
        .then(|| document(table.get_ref(), name, &sink, &mut files));
    files.sources[0].text.clone_from(&text);
    if let Some(document) = &document
        && !sink.is_incomplete()
    {
        check::check(document, &sink);
    }
    let failed = sink.has_errors();
    let report = sink.into_report(files.sources);
    match document {
        Some(document) if !failed => Ok(Loaded {
            document,
            warnings: report,
        }),
        _ => Err(report),
    }
}

/// Reads all sections. Mistakes go to the sink, and what cannot be read is replaced or left out.
fn document(table: &DeTable<'_>, name: &str, sink: &Sink, files: &mut Files<'_>) -> Document {
    let start = Span::new(0, 0..0);
    let top = Reader::new(table, start, "the document", sink);
    let section = |key, heading| top.read(key, |v| v.table(heading, "a table"));
    let gateway = section::gateway(section("gateway", "[gateway]"), name);
    let log = section::log(section("log", "[log]"));
    let link = section::link(section("link", "[link]"));
    let tun = section::tun(section("tun", "[tun]"), start);
    let records = section::records(section("records", "[records]"));
    let dns64 = section("dns64", "[dns64]").map(section::dns64);
    let proxy = section("proxy", "[proxy]").map(|reader| proxy::proxy(reader, files));
    let announcements = many(&top, "announce", "[[announce]]")
        .into_iter()
        .filter_map(announce::announce)
        .collect();
    let interfaces = many(&top, "interface", "[[interface]]")
        .into_iter()
        .filter_map(section::interface)
        .collect();
    let cards = many(&top, "card", "[[card]]")
        .into_iter()
        .map(card::card)
        .collect();
    let instances = many(&top, "instance", "[[instance]]")
        .into_iter()
        .filter_map(|reader| instance::instance(reader, files))
        .collect();
    top.finish(|key| {
        let (right, _) = [("interfaces", ()), ("instances", ()), ("cards", ())]
            .into_iter()
            .find(|(name, ())| *name == key)?;
        Some(format!(
            "each has its own `[[{}]]`",
            right.trim_end_matches('s')
        ))
    });
    Document {
        gateway,
        log,
        link,
        interfaces,
        cards,
        tun,
        instances,
        records,
        dns64,
        proxy,
        announcements,
    }
}

/// The tables of a list of tables. A single table in its place is a frequent mistake.
fn many<'t>(top: &Reader<'t>, key: &'static str, heading: &'static str) -> Vec<Reader<'t>> {
    let Some(value) = top.get(key) else {
        return Vec::new();
    };
    if let DeValue::Table(_) = value.value {
        let expected = format!("write `{heading}`, with two brackets: there can be several");
        value.refuse("is a single table", expected);
        return Vec::new();
    }
    let expected = format!("tables headed `{heading}`");
    value
        .list(&expected)
        .into_iter()
        .filter_map(|value| value.table(heading, &expected))
        .collect()
}
