//! The vectors as stored on disk. `vectors/README.md` describes the format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

/// One vector with its configuration.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) requirement: String,
    pub(crate) configuration: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) counters: BTreeMap<String, u64>,
    pub(crate) choices: BTreeMap<String, Rule>,
    /// The configuration is refused with an error that contains this text.
    pub(crate) refused: Option<String>,
    engines: Option<Vec<String>>,
}

/// An input packet and the packets that it causes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Step {
    /// Arrival time in microseconds since the epoch.
    pub(crate) at: u64,
    #[serde(rename = "in")]
    pub(crate) input: Packet,
    #[serde(rename = "out")]
    pub(crate) outputs: Vec<Packet>,
    /// Whether the outputs may come in another order.
    #[serde(default)]
    pub(crate) any_order: bool,
}

/// An IP packet and the parts of it that are not fixed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Packet {
    #[serde(rename = "packet", deserialize_with = "hex")]
    pub(crate) bytes: Vec<u8>,
    /// Places of chosen values, which are zero here.
    #[serde(default)]
    pub(crate) choices: Vec<Place>,
    /// Offset and length of ranges whose bytes are not compared.
    #[serde(default)]
    pub(crate) free: Vec<(usize, usize)>,
    /// The packet may end anywhere after this length.
    pub(crate) shortest: Option<usize>,
    /// Offset of an IPv4 address and the prefix that must contain it.
    #[serde(default)]
    pub(crate) within: Vec<(usize, String)>,
    /// The packet may be missing.
    #[serde(default)]
    pub(crate) optional: bool,
}

/// The place of a chosen value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// Length in bytes: 1 or 2.
    pub(crate) size: usize,
    pub(crate) at: usize,
    /// Checksums that cover the value.
    pub(crate) fix: Vec<usize>,
}

/// The conditions on a chosen value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) low: u16,
    pub(crate) high: u16,
    pub(crate) parity: Option<Parity>,
    /// Choices that must differ from this one.
    #[serde(default)]
    pub(crate) differs: Vec<String>,
}

/// The parity of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Parity {
    Even,
    Odd,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    configurations: BTreeMap<String, String>,
    vectors: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: String,
    requirement: String,
    configuration: String,
    steps: Vec<Step>,
    counters: BTreeMap<String, u64>,
    #[serde(default)]
    choices: BTreeMap<String, Rule>,
    refused: Option<String>,
    engines: Option<Vec<String>>,
    /// The reason for leaving out engines, for people.
    #[serde(rename = "engines-reason")]
    _engines_reason: Option<String>,
}

/// All vectors, and the list of those that cannot pass yet.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) cases: Vec<Arc<Case>>,
    /// Name and reason.
    pub(crate) known_failing: BTreeMap<String, String>,
}

impl Collection {
    /// Reads the folder `vectors`.
    pub(crate) fn load() -> Result<Self, String> {
        let folder = folder();
        let problem =
            |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut files: Vec<PathBuf> = fs::read_dir(&folder)
            .map_err(|e| problem(&folder, &e))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .collect();
        files.sort();
        let mut cases = Vec::new();
        for path in files {
            let text = fs::read_to_string(&path).map_err(|e| problem(&path, &e))?;
            let document: Document = serde_json::from_str(&text).map_err(|e| problem(&path, &e))?;
            for entry in document.vectors {
                let configuration = document.configurations.get(&entry.configuration);
                cases.push(Arc::new(Case {
                    configuration: configuration
                        .ok_or_else(|| {
                            problem(&path, &format!("no configuration {}", entry.configuration))
                        })?
                        .clone(),
                    name: entry.name,
                    requirement: entry.requirement,
                    steps: entry.steps,
                    counters: entry.counters,
                    choices: entry.choices,
                    refused: entry.refused,
                    engines: entry.engines,
                }));
            }
        }
        if cases.is_empty() {
            return Err(problem(&folder, &"no vectors"));
        }
        let path = folder.join("known-failing.txt");
        let text = fs::read_to_string(&path).map_err(|e| problem(&path, &e))?;
        Ok(Self {
            cases,
            known_failing: known_failing(&text)?,
        })
    }
}

/// Returns the folder of the vectors.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// Parses `name: reason` lines; `#` starts a comment.
fn known_failing(text: &str) -> Result<BTreeMap<String, String>, String> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (name, reason) = line
                .split_once(": ")
                .ok_or_else(|| format!("known-failing.txt: `{line}` has no reason"))?;
            Ok((name.trim().to_owned(), reason.trim().to_owned()))
        })
        .collect()
}

fn hex<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    use serde::de::Error;
    let text = String::deserialize(deserializer)?;
    (0..text.len())
        .step_by(2)
        .map(|at| {
            text.get(at..at + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect::<Option<_>>()
        .ok_or_else(|| D::Error::custom("not pairs of hexadecimal digits"))
}

impl Case {
    /// Whether this vector is for the engine.
    pub(crate) fn runs_on(&self, engine: &str) -> bool {
        self.engines
            .as_ref()
            .is_none_or(|engines| engines.iter().any(|e| e == engine))
    }
}
