//! Where in which file something stands.

use std::ops::{Deref, Range};

/// A file that was read, kept for the sake of messages about it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path, as the user gave it.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// A place in one of the files of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the file, in the order in which they were read.
    pub(super) source: u32,
    start: usize,
    end: usize,
}

impl Span {
    /// The bytes `range` of the file with this number.
    pub(super) fn new(source: u32, range: Range<usize>) -> Self {
        Self {
            source,
            start: range.start,
            end: range.end,
        }
    }

    /// The bytes within the file.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// A value and the place where it stands.
#[derive(Clone, Copy, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub span: Span,
}

/// Compares the values alone: the place is for messages.
impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for At<T> {}

impl<T> Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Source {
    /// The lines that a range of bytes touches: their bytes, and the number of the first (from 1).
    pub(super) fn lines(&self, range: &Range<usize>) -> (Range<usize>, usize) {
        let text = self.text.as_bytes();
        let first = range.start.min(text.len());
        let last = range.end.clamp(first, text.len());
        let start = text[..first]
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        let end = text[last..]
            .iter()
            .position(|&b| b == b'\n')
            .map_or(text.len(), |at| last + at);
        let number = text[..start].iter().filter(|&&b| b == b'\n').count() + 1;
        (start..end, number)
    }

    /// Line and column (both from 1, in characters) of a byte.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        let (line, number) = self.lines(&(at..at));
        let before = self.text.get(line.start..at).unwrap_or_default();
        (number, before.chars().count() + 1)
    }
}
