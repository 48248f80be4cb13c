//! Tables in files of their own: one row a line.

use std::path::{Path, PathBuf};

use super::diagnose::Diagnostic;
use super::source::{At, Source, Span};
use super::table::Value;

/// The files of a configuration, the document itself being number 0.
pub(super) struct Files<'a> {
    /// The files that were read so far.
    pub(super) sources: Vec<Source>,
    /// The folder that paths in the document are relative to.
    pub(super) folder: &'a Path,
}

/// The kind of rows of a file.
pub(super) struct Rows {
    /// The name of one row.
    pub(super) what: &'static str,
    /// An example of one.
    pub(super) example: &'static str,
}

/// The mistake in a row, and what would be right.
pub(super) type Wrong = (String, String);

/// The rows of the file that a value names. Empty lines and what follows a `#` do not count.
pub(super) fn file<T>(
    value: &Value<'_>,
    files: &mut Files<'_>,
    rows: &Rows,
    read: impl Fn(&str) -> Result<T, Wrong>,
) -> Vec<At<T>> {
    let what = rows.what;
    let Some(name) = value.string(&format!("the path of a file of {what}s")) else {
        return Vec::new();
    };
    let path: PathBuf = files.folder.join(name);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let problem = format!(
                "is \"{name}\", and {} cannot be read: {error}",
                path.display()
            );
            let expected = format!("expected a readable file with `{}` a line", rows.example);
            value.refuse(problem, expected);
            return Vec::new();
        }
    };
    let source = files.sources.len() as u32;
    let mut found = Vec::new();
    for (span, row) in split(&text, source) {
        match read(row) {
            Ok(value) => found.push(At { value, span }),
            Err((problem, expected)) => {
                let message = format!("this row is not a {what}: {problem}");
                value.sink.push(Diagnostic::error(span, message, expected));
            }
        }
    }
    files.sources.push(Source {
        path: path.display().to_string(),
        text,
    });
    found
}

/// The rows of a text and their places.
fn split(text: &str, source: u32) -> impl Iterator<Item = (Span, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |whole| {
        let content = whole.split('#').next().unwrap_or_default();
        let row = content.trim();
        let indent = content.len() - content.trim_start().len();
        let span = Span::new(source, start + indent..start + indent + row.len());
        start += whole.len();
        (!row.is_empty()).then_some((span, row))
    })
}
