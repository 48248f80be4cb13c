//! What is wrong in a file, and what cannot be carried over.

use std::cell::RefCell;
use std::fmt;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, from 1, of the file itself or of one that it names.
    Line(String, usize),
    /// A path of keys in JSON, such as `pool4[0].mark`.
    Path(String, String),
    /// The file as a whole.
    Whole(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(file, line) => write!(f, "{file}:{line}"),
            Self::Path(file, path) => write!(f, "{file}: {path}"),
            Self::Whole(file) => f.write_str(file),
        }
    }
}

/// Something that the configuration does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it stands.
    pub place: Place,
    /// What stands there.
    pub value: String,
    /// Why it has no place in a configuration of Isthmus, and what to do instead.
    pub instead: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            value,
            instead,
        } = self;
        write!(f, "{place}: {value}: left out: {instead}")
    }
}

/// Something that the other translator would not take either, or that a configuration cannot do without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where it stands.
    pub place: Place,
    /// The mistake, and what would be right.
    pub problem: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Takes both.
pub(super) struct Sink {
    file: String,
    left_out: RefCell<Vec<LeftOut>>,
    mistakes: RefCell<Vec<Mistake>>,
}

impl Sink {
    pub(super) fn new(file: String) -> Self {
        Self {
            file,
            left_out: RefCell::default(),
            mistakes: RefCell::default(),
        }
    }

    /// The place of a path of keys.
    pub(super) fn path(&self, path: &str) -> Place {
        match path {
            "" => Place::Whole(self.file.clone()),
            path => Place::Path(self.file.clone(), path.to_owned()),
        }
    }

    /// The place of a line.
    pub(super) fn line(&self, line: usize) -> Place {
        Place::Line(self.file.clone(), line)
    }

    pub(super) fn left_out(&self, place: Place, value: impl fmt::Display, instead: &str) {
        self.left_out.borrow_mut().push(LeftOut {
            place,
            value: printable(&value.to_string()),
            instead: instead.to_owned(),
        });
    }

    pub(super) fn mistake(&self, place: Place, problem: impl fmt::Display) {
        self.mistakes.borrow_mut().push(Mistake {
            place,
            problem: printable(&problem.to_string()),
        });
    }

    pub(super) fn into_parts(self) -> (Vec<LeftOut>, Vec<Mistake>) {
        (self.left_out.into_inner(), self.mistakes.into_inner())
    }
}

/// A text of somebody else's on one line, without what a terminal would obey.
pub(super) fn printable(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(plain).collect()
}
