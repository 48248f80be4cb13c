//! The configuration that is written, line by line.

use std::fmt::{Display, Write as _};

use super::sink::printable;

/// A TOML document that grows.
#[derive(Default)]
pub(super) struct Draft {
    text: String,
}

impl Draft {
    /// A comment on lines of its own, each of which becomes one.
    pub(super) fn comment(&mut self, text: &str) {
        for line in text.lines() {
            self.line(format_args!("# {}", printable(line)));
        }
    }

    /// A heading such as `[[instance]]`, with an empty line before it.
    pub(super) fn heading(&mut self, heading: &str) {
        self.line(format_args!("\n{heading}"));
    }

    /// A key with a number or a truth value.
    pub(super) fn set(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    /// A key with a text.
    pub(super) fn quote(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {}", quoted(value)));
    }

    /// A key with a list, one element a line if there are several: each is TOML already.
    pub(super) fn list(&mut self, key: &str, elements: impl IntoIterator<Item = String>) {
        let elements: Vec<String> = elements.into_iter().collect();
        if let [element] = &elements[..] {
            return self.line(format_args!("{key} = [{element}]"));
        }
        self.line(format_args!("{key} = ["));
        for element in elements {
            self.line(format_args!("  {element},"));
        }
        self.line("]");
    }

    fn line(&mut self, line: impl Display) {
        writeln!(self.text, "{line}").expect("memory takes it");
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// A text as TOML. It is printable, so that a quotation mark and a backslash are all that needs care.
pub(super) fn quoted(text: impl Display) -> String {
    let text = printable(&text.to_string());
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The name of an instance as Isthmus takes it: every other character becomes a hyphen.
pub(super) fn name(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = text
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .take(64)
        .collect();
    match name.strip_prefix('.') {
        Some(rest) => format!("-{rest}"),
        None if name.is_empty() => "-".to_owned(),
        None => name,
    }
}
