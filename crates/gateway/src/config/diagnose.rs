//! Messages about a configuration: the problem, its place, and the correction.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::source::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It is valid, but perhaps not what the operator wants.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    severity: Severity,
    message: String,
    place: Span,
    label: String,
    also: Option<(Span, String)>,
    help: Option<String>,
}

impl Diagnostic {
    /// An error about a place. `label` is written under the place and says what would be right.
    pub(super) fn error(place: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            place,
            label: label.into(),
            also: None,
            help: None,
        }
    }

    /// The same as a warning.
    pub(super) fn warning(
        place: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(place, message, label)
        }
    }

    /// The same, but the configuration can be used.
    pub(super) fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Points to a second place, the other half of a contradiction.
    pub(super) fn also(mut self, place: Span, label: impl Into<String>) -> Self {
        self.also = Some((place, label.into()));
        self
    }

    /// Adds advice.
    pub(super) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// Collects messages while a configuration is read.
#[derive(Default)]
pub(super) struct Sink {
    diagnostics: RefCell<Vec<Diagnostic>>,
    incomplete: Cell<bool>,
}

impl Sink {
    pub(super) fn push(&self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.incomplete.set(true);
        }
        self.push_aside(diagnostic);
    }

    /// Says something because of which no value is missing.
    pub(super) fn push_aside(&self, diagnostic: Diagnostic) {
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    /// Whether values are missing because they were wrong: what they would be together with others
    /// is not known then.
    pub(super) fn is_incomplete(&self) -> bool {
        self.incomplete.get()
    }

    pub(super) fn has_errors(&self) -> bool {
        let error = |d: &Diagnostic| d.severity == Severity::Error;
        self.diagnostics.borrow().iter().any(error)
    }

    /// Everything said, in the order of the files.
    pub(super) fn into_report(self, sources: Vec<Source>) -> Report {
        let mut diagnostics = self.diagnostics.into_inner();
        diagnostics.sort_by_key(|d| (d.place.source, d.place.range().start));
        Report {
            sources,
            diagnostics,
        }
    }
}

/// All messages about a configuration. Its [`Display`](fmt::Display) shows each with its place in
/// the file, in plain text.
#[derive(Clone, Debug)]
pub struct Report {
    sources: Vec<Source>,
    diagnostics: Vec<Diagnostic>,
}

/// A message and its place, for programs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Problem {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The mistake.
    pub message: String,
    /// The advice: what would be right.
    pub expected: String,
    /// Advice.
    pub help: Option<String>,
}

/// Whether the text is for a terminal that knows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// ASCII text only.
    Plain,
    /// With ANSI colours.
    Colour,
}

impl Report {
    /// Messages that are shown at most; a broken table of a million mappings has more.
    const MOST: usize = 40;

    /// The same with more messages.
    #[must_use]
    pub(super) fn with(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.diagnostics.extend(diagnostics);
        self
    }

    /// The files that were read, the configuration itself first.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// The messages as data.
    pub fn problems(&self) -> impl Iterator<Item = Problem> {
        self.diagnostics.iter().map(|d| {
            let source = self.source(d.place);
            let (line, column) = source.position(d.place.range().start);
            Problem {
                severity: match d.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                },
                file: source.path.clone(),
                line,
                column,
                message: d.message.clone(),
                expected: d.label.clone(),
                help: d.help.clone(),
            }
        })
    }

    /// The messages as text for people, each with its place in the file.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Colour => Renderer::styled(),
        };
        let mut text = String::new();
        for diagnostic in self.diagnostics.iter().take(Self::MOST) {
            text.push_str(&renderer.render(&[self.group(diagnostic)]));
            text.push_str("\n\n");
        }
        let errors = self.count(Severity::Error);
        let warnings = self.count(Severity::Warning);
        let shown = self.diagnostics.len().min(Self::MOST);
        let left = self.diagnostics.len() - shown;
        if left > 0 {
            text.push_str(&format!("… and {left} more\n"));
        }
        match (errors, warnings) {
            (0, 0) => {}
            (0, w) => text.push_str(&plural(w, "warning")),
            (e, 0) => text.push_str(&plural(e, "error")),
            (e, w) => {
                text.push_str(&format!("{}, {}", plural(e, "error"), plural(w, "warning")));
            }
        }
        text
    }

    fn count(&self, severity: Severity) -> usize {
        let same = |d: &&Diagnostic| d.severity == severity;
        self.diagnostics.iter().filter(same).count()
    }

    fn source(&self, span: Span) -> &Source {
        &self.sources[span.source as usize]
    }

    fn group<'a>(&'a self, diagnostic: &'a Diagnostic) -> Group<'a> {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = level
            .primary_title(diagnostic.message.as_str())
            .element(self.snippet(diagnostic.place, &diagnostic.label, AnnotationKind::Primary));
        if let Some((place, label)) = &diagnostic.also {
            group = group.element(self.snippet(*place, label, AnnotationKind::Context));
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        group
    }

    /// The lines around a place. Only those are handed to the renderer, because a file of mappings
    /// can have many megabytes.
    fn snippet<'a>(
        &'a self,
        span: Span,
        label: &'a str,
        kind: AnnotationKind,
    ) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let source = self.source(span);
        let range = first_line(&source.text, span.range());
        let (lines, number) = source.lines(&range);
        let within = range.start - lines.start..range.end - lines.start;
        Snippet::source(&source.text[lines])
            .path(source.path.as_str())
            .line_start(number)
            .annotation(kind.span(within).label(label))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

impl std::error::Error for Report {}

/// The part of a range that is on its first line, on the boundaries of characters.
fn first_line(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(range.start);
    let end = text.ceil_char_boundary(range.end).max(start);
    let line = text[start..end]
        .find(['\n', '\r'])
        .map_or(end, |at| start + at);
    start..line
}

fn plural(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}
