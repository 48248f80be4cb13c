//! Reading a TOML table: every key that is asked for is known, all others are mistakes.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnose::{Diagnostic, Sink};
use super::source::{At, Span};

/// A table while it is being read.
pub(super) struct Reader<'t> {
    table: &'t DeTable<'t>,
    /// The place of its heading, for missing keys.
    pub(super) span: Span,
    /// Its name in messages, such as `[gateway]`.
    name: &'static str,
    known: RefCell<Vec<&'static str>>,
    pub(super) sink: &'t Sink,
}

/// A value of a table or of an array.
#[derive(Clone, Copy)]
pub(super) struct Value<'t> {
    /// The key that it belongs to.
    pub(super) key: &'static str,
    pub(super) value: &'t DeValue<'t>,
    pub(super) span: Span,
    pub(super) sink: &'t Sink,
}

impl<'t> Reader<'t> {
    pub(super) fn new(
        table: &'t DeTable<'t>,
        span: Span,
        name: &'static str,
        sink: &'t Sink,
    ) -> Self {
        Self {
            table,
            span,
            name,
            known: RefCell::default(),
            sink,
        }
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&self, key: &'static str) -> Option<Value<'t>> {
        self.known.borrow_mut().push(key);
        let value = self.table.get(key)?;
        Some(Value::new(key, value, self.span.source, self.sink))
    }

    /// The value of a key, if it is there and `read` accepts it.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(Value<'t>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).and_then(read)
    }

    /// A value that no key has, such as a default.
    pub(super) fn at<T>(&self, value: T) -> At<T> {
        At {
            value,
            span: self.span,
        }
    }

    /// The value of a key that has to be there.
    pub(super) fn require(&self, key: &'static str, example: &str) -> Option<Value<'t>> {
        let value = self.get(key);
        if value.is_none() {
            self.missing(key, example);
        }
        value
    }

    /// The value of a key that has to be there, if `read` accepts it.
    pub(super) fn needs<T>(
        &self,
        key: &'static str,
        example: &str,
        read: impl FnOnce(Value<'t>) -> Option<T>,
    ) -> Option<T> {
        self.require(key, example).and_then(read)
    }

    /// Says that a key is missing.
    pub(super) fn missing(&self, key: &str, example: &str) {
        let message = format!("{} has no `{key}`", self.name);
        let label = format!("needs `{key} = {example}`");
        self.sink.push(Diagnostic::error(self.span, message, label));
    }

    /// Reports the keys that were not read. `elsewhere` says where such a key would be right.
    pub(super) fn finish(self, elsewhere: impl Fn(&str) -> Option<String>) {
        let known = self.known.into_inner();
        for (key, _) in self.table {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let span = Span::new(self.span.source, key.span());
            let message = format!("unknown key `{name}` in {}", self.name);
            let diagnostic = if let Some(place) = elsewhere(name) {
                Diagnostic::error(span, message, place)
            } else if let Some(similar) = similar(name, known.iter().copied()) {
                Diagnostic::error(span, message, format!("did you mean `{similar}`?"))
            } else {
                let mut all: Vec<_> = known.iter().map(|key| format!("`{key}`")).collect();
                all.sort_unstable();
                all.dedup();
                Diagnostic::error(span, message, "not a key of this table")
                    .help(format!("the keys here are {}", all.join(", ")))
            };
            self.sink.push_aside(diagnostic);
        }
    }
}

impl<'t> Value<'t> {
    fn new(
        key: &'static str,
        value: &'t Spanned<DeValue<'t>>,
        source: u32,
        sink: &'t Sink,
    ) -> Self {
        Self {
            key,
            value: value.get_ref(),
            span: Span::new(source, value.span()),
            sink,
        }
    }

    /// The same for messages about another place.
    pub(super) const fn spanning(self, span: Span) -> Self {
        Self { span, ..self }
    }

    /// This value has the wrong type or content.
    pub(super) fn refuse(&self, problem: impl Display, expected: impl Into<String>) {
        let message = format!("`{}` {problem}", self.key);
        let diagnostic = Diagnostic::error(self.span, message, expected);
        self.sink.push(diagnostic);
    }

    fn refuse_type(&self, expected: &str) {
        let is = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or a time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.refuse(format_args!("is {is}"), format!("expected {expected}"));
    }

    /// This value at its place.
    pub(super) fn at<T>(&self, value: T) -> At<T> {
        At {
            value,
            span: self.span,
        }
    }

    pub(super) fn string(&self, expected: &str) -> Option<&'t str> {
        let text = self.value.as_str();
        if text.is_none() {
            self.refuse_type(expected);
        }
        text
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        let value = self.value.as_bool();
        if value.is_none() {
            self.refuse_type("`true` or `false`");
        }
        value
    }

    /// A whole number within limits.
    pub(super) fn integer<T>(&self, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i64> + PartialOrd + Display + Copy,
    {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let Some(digits) = self.value.as_integer() else {
            self.refuse_type(&expected);
            return None;
        };
        let number = i64::from_str_radix(digits.as_str(), digits.radix());
        let value = number.ok().and_then(|n| T::try_from(n).ok());
        let value = value.filter(|value| range.contains(value));
        if value.is_none() {
            let problem = format!("is {}", digits.as_str());
            self.refuse(problem, format!("expected {expected}"));
        }
        value
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let all: Vec<_> = words.iter().map(|(w, _)| format!("\"{w}\"")).collect();
        let expected = all.join(" or ");
        let text = self.string(&expected)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let expected = match similar(text, words.iter().map(|(word, _)| *word)) {
                Some(word) => format!("expected {expected}; did you mean \"{word}\"?"),
                None => format!("expected {expected}"),
            };
            self.refuse(format_args!("is \"{}\"", shortened(text)), expected);
        }
        found.map(|(_, value)| *value)
    }

    /// Reads a string that `parse` converts. The error of `parse` is the problem.
    pub(super) fn parse<T, E: Display>(
        &self,
        expected: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.string(expected)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                let problem = format!("is \"{}\": {error}", shortened(text));
                self.refuse(problem, format!("expected {expected}"));
                None
            }
        }
    }

    /// The elements of a list.
    pub(super) fn list(&self, expected: &str) -> Vec<Value<'t>> {
        let Some(array) = self.value.as_array() else {
            self.refuse_type(expected);
            return Vec::new();
        };
        let (key, source, sink) = (self.key, self.span.source, self.sink);
        array
            .iter()
            .map(|value| Value::new(key, value, source, sink))
            .collect()
    }

    /// A table to read.
    pub(super) fn table(&self, name: &'static str, expected: &str) -> Option<Reader<'t>> {
        let Some(table) = self.value.as_table() else {
            self.refuse_type(expected);
            return None;
        };
        Some(Reader::new(table, self.span, name, self.sink))
    }
}

/// The word that someone may have meant.
fn similar<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let distance = |other: &&str| strsim::damerau_levenshtein(&word.to_lowercase(), other);
    let closest = words.min_by_key(distance)?;
    (word.len() < 64 && distance(&closest) <= closest.len() / 3).then_some(closest)
}

/// The beginning of a text that may be of any length.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
