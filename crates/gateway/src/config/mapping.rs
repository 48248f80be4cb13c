//! Tables of explicit address mappings in files of their own: one `IPv4,IPv6` a line.

use std::path::{Path, PathBuf};

use isthmus_core::address::eam::Mapping;
use isthmus_core::address::{V4, V6};

use super::diagnose::{Diagnostic, Sink};
use super::source::{At, Source, Span};
use super::table::Value;
use super::value::{v4_net, v6_net};

/// What would be right where two prefixes are no mapping.
pub(super) const ADVICE: &str = "expected a pair such as 192.0.2.0/28 and 2001:db8::/124";

/// The files of a configuration, the document itself being number 0.
pub(super) struct Files<'a> {
    /// What was read so far.
    pub(super) sources: Vec<Source>,
    /// The folder that paths in the document are relative to.
    pub(super) folder: &'a Path,
}

/// The mappings in the file that `eam-file` names.
pub(super) fn file(value: &Value<'_>, files: &mut Files<'_>) -> Vec<At<Mapping>> {
    let Some(name) = value.string("the path of a file of mappings") else {
        return Vec::new();
    };
    let path: PathBuf = files.folder.join(name);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let problem = format!(
                "is \"{name}\", and {} can not be read: {error}",
                path.display()
            );
            value.refuse(
                problem,
                "expected a readable file with `192.0.2.1,2001:db8::1` a line",
            );
            return Vec::new();
        }
    };
    let number = files.sources.len() as u32;
    let mappings = parse(&text, number, value.sink);
    files.sources.push(Source {
        path: path.display().to_string(),
        text,
    });
    mappings
}

/// The mappings of a text. Empty lines and what follows a `#` do not count.
fn parse(text: &str, source: u32, sink: &Sink) -> Vec<At<Mapping>> {
    let mut mappings = Vec::new();
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let content = whole.split('#').next().unwrap_or_default();
        let row = content.trim();
        let indent = content.len() - content.trim_start().len();
        let span = Span::new(source, start + indent..start + indent + row.len());
        start += whole.len();
        if row.is_empty() {
            continue;
        }
        match mapping(row) {
            Ok(value) => mappings.push(At { value, span }),
            Err((problem, expected)) => {
                let message = format!("this row is no mapping: {problem}");
                sink.push(Diagnostic::error(span, message, expected));
            }
        }
    }
    mappings
}

/// One row, or what is wrong with it and what would be right.
fn mapping(row: &str) -> Result<Mapping, (String, &'static str)> {
    const ROW: &str = "expected `192.0.2.0/28,2001:db8::/124`";
    let Some((left, right)) = row.split_once(',') else {
        return Err(("it has no comma".to_owned(), ROW));
    };
    let (left, right) = (left.trim(), right.trim());
    let v4 = v4_net(left).map_err(|error| (format!("\"{left}\": {error}"), ROW))?;
    let v6 = v6_net(right).map_err(|error| (format!("\"{right}\": {error}"), ROW))?;
    Mapping::new(
        V4::from(v4.addr()),
        v4.prefix_len(),
        V6::from(v6.addr()),
        v6.prefix_len(),
    )
    .map_err(|error| (error.to_string(), ADVICE))
}
