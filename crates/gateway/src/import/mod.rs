//! Configurations of other translators, written as one of ours that translates the same packets.
//!
//! A key is carried over, or it is named with what to do instead: nothing is lost silently. What is written passes the
//! checks of `isthmus check`.

mod draft;
mod jool;
mod json;
mod sink;
mod tayga;

use std::fmt;
use std::path::Path;

use crate::config::{self, Report};
use sink::Sink;

pub use sink::{LeftOut, Mistake, Place};

/// The translator whose configuration is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translator {
    /// Jool, NAT64 and SIIT: the file of `jool file handle`.
    Jool,
    /// TAYGA: `tayga.conf`.
    Tayga,
}

/// A configuration that was carried over.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The TOML document, with comments.
    pub configuration: String,
    /// What it does not have, in the order in which it was found.
    pub left_out: Vec<LeftOut>,
}

/// Why nothing was carried over.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The file is wrong, or says too little.
    Mistakes(Vec<Mistake>),
    /// Isthmus refuses what would be written.
    Refused {
        /// The file that was read.
        file: String,
        /// Why.
        report: Report,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistakes(mistakes) => {
                let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Refused { file, report } => {
                write!(f, "{file}: what would be written cannot be used:\n{report}")
            }
        }
    }
}

impl std::error::Error for Failure {}

/// Carries the text of a configuration over. Files that it names are read as the translator would read them; `path` is
/// its name in comments.
///
/// # Errors
/// See [`Failure`].
pub fn import(translator: Translator, path: &Path, text: &str) -> Result<Imported, Failure> {
    let sink = Sink::new(path.display().to_string());
    let draft = match translator {
        Translator::Jool => jool::import(path, text, &sink),
        Translator::Tayga => tayga::import(path, text, &sink),
    };
    let (left_out, mistakes) = sink.into_parts();
    let Some(draft) = draft.filter(|_| mistakes.is_empty()) else {
        return Err(Failure::Mistakes(mistakes));
    };
    let configuration = draft.into_text();
    let (name, folder) = ("the result", Path::new(""));
    if let Err(report) = config::parse(name, "imported", configuration.clone(), folder) {
        let file = path.display().to_string();
        return Err(Failure::Refused { file, report });
    }
    Ok(Imported {
        configuration,
        left_out,
    })
}
