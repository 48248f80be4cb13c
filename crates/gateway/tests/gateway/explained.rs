//! The messages for a configuration that is wrong or doubtful.
//!
//! `tests/config/bad` holds documents that are refused, `tests/config/doubtful` those that are accepted
//! with a warning, and `tests/config/bare` those that are right and too much for a bare machine. Below a line that is wrong, a comment has the words that a person needs:
//!
//! ```text
//! ipv4-mtu = 67
//! #~ 12 error: ipv4-mtu | 67 | 68 | 65535
//! ```
//!
//! The message points to column 12 of the line above, and has each of these words as a whole. Every expectation is met
//! by one message, and every message is expected. The words come from the document and the manual, never
//! from what the program said.

use std::fs;
use std::path::{Path, PathBuf};

use isthmus_gateway::config::{self, Chance, LoadError, PackError, Problem, Report};

/// The expected words and place of one message.
#[derive(Debug)]
struct Expectation {
    file: String,
    line: usize,
    column: usize,
    severity: String,
    words: Vec<String>,
}

impl Expectation {
    /// Reads a comment that stands below `line`; `None` if it is not an expectation.
    fn read(comment: &str, file: &str, line: usize) -> Option<Self> {
        let (place, words) = comment.strip_prefix("#~ ")?.split_once(": ")?;
        let (column, severity) = place.split_once(' ')?;
        Some(Self {
            file: file.to_owned(),
            line,
            column: column.parse().ok()?,
            severity: severity.to_owned(),
            words: words.split(" | ").map(str::to_owned).collect(),
        })
    }

    fn is_met_by(&self, problem: &Problem) -> bool {
        let said = said(problem);
        Path::new(&problem.file).ends_with(&self.file)
            && (problem.line, problem.column) == (self.line, self.column)
            && problem.severity == self.severity
            && self.words.iter().all(|word| has(&said, word))
    }
}

/// All the text of a message.
fn said(problem: &Problem) -> String {
    let help = problem.help.as_deref().unwrap_or_default();
    format!("{}\n{}\n{help}", problem.message, problem.expected)
}

/// Whether a text has a word as a whole: `60` is not in `600`.
fn has(text: &str, word: &str) -> bool {
    let alphanumeric = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let runs_on = |inside, outside| alphanumeric(inside) && alphanumeric(outside);
        !runs_on(word.chars().next(), before.chars().next_back())
            && !runs_on(word.chars().next_back(), after.chars().next())
    })
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/config")
        .join(name)
}

/// The expectations in a file; none if there is no such file.
fn expectations(path: &Path) -> Vec<Expectation> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let file = path.file_name().unwrap().to_string_lossy();
    let mut expected = Vec::new();
    let mut about = 0;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("#~") {
            let read = Expectation::read(line, &file, about);
            expected.push(read.unwrap_or_else(|| panic!("{file}: not an expectation: {line}")));
        } else {
            about = index + 1;
        }
    }
    expected
}

/// Everything that is wrong with what is said about a document.
fn complaints(path: &Path, refused: bool, told: Told) -> Vec<String> {
    let (was_refused, report) = told(path);
    let mut complaints = Vec::new();
    if was_refused != refused {
        complaints.push(format!("refused: {was_refused}"));
    }
    let mut expected = expectations(path);
    // The table that the document names.
    expected.extend(expectations(&path.with_extension("csv")));
    let problems: Vec<Problem> = report.problems().collect();
    for expectation in &expected {
        let met = problems.iter().filter(|p| expectation.is_met_by(p)).count();
        if met != 1 {
            complaints.push(format!("met by {met} messages: {expectation:?}"));
        }
    }
    for problem in &problems {
        let by = expected.iter().filter(|e| e.is_met_by(problem)).count();
        if by != 1 {
            complaints.push(format!("meets {by} expectations: {problem:?}"));
        }
    }
    complaints
}

/// Whether a document is refused, and what is said about it.
type Told = fn(&Path) -> (bool, Report);

fn loading(path: &Path) -> (bool, Report) {
    match config::load(path) {
        Ok(loaded) => (false, loaded.warnings),
        Err(LoadError::Invalid(report)) => (true, report),
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn packing(path: &Path) -> (bool, Report) {
    let loaded = config::load(path).unwrap();
    let warnings = loaded.warnings.clone();
    match loaded.pack(&[0; 8].into(), Chance::Key([0; 4])) {
        Ok(_) => (false, warnings),
        Err(PackError::Beyond(report)) => (true, report),
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// Looks at each document of a folder.
fn check(name: &str, refused: bool, told: Told) {
    let mut wrong = Vec::new();
    let mut documents = 0;
    for entry in fs::read_dir(folder(name)).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            documents += 1;
            let complaints = complaints(&path, refused, told);
            wrong.extend(
                complaints
                    .iter()
                    .map(|c| format!("{}: {c}", path.display())),
            );
        }
    }
    wrong.sort();
    assert!(documents > 0, "{name} is empty");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_are_explained() {
    check("bad", true, loading);
}

#[test]
fn doubts_are_told() {
    check("doubtful", false, loading);
}

#[test]
fn the_limits_of_a_bare_machine_are_explained() {
    check("bare", true, packing);
}
