//! The report of a run: a self-contained page, and CSV and PNG files beside it.
//!
//! Everything follows from the run's JSON alone: no clock, no random numbers, no network. The same run gives the same
//! bytes (of the pictures: with the same font).
//!
//! * [`write()`]: all files of a report
//! * [`page()`]: the page alone
//! * `style`, `plot`, `ruler`: the look of figures; `best`: the subject that stands for others
//! * `page`: the parts of the page
//! * `papers`: the findings and the printed values of the papers
//! * `coverage`: all figures of the papers
//! * `csv`, `png`: the figures for other programs
//!
//! It shows what others find in the same results:
//!
//! * [`summary`], [`amount`]: the medians of a run, and how quantities are written
//! * [`claims`]: the papers' claims, judged by a run
//! * [`mod@diff`]: the comparison of two runs
//! * [`advise`]: the choice of a mechanism for a network
//! * `counted`: the instructions of a packet that are committed with the program

pub mod advise;
pub mod amount;
mod best;
pub mod claims;
mod counted;
mod coverage;
mod csv;
pub mod diff;
mod page;
mod papers;
mod plot;
mod png;
mod ruler;
mod style;
pub mod summary;
mod words;

pub use csv::csv;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::report::summary::{ExperimentSummary, Summary};

/// An error of a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A figure could not be drawn as a picture.
    #[error("cannot draw {path}: {problem}")]
    Picture {
        /// The file.
        path: PathBuf,
        /// The cause.
        problem: String,
    },
}

/// The files that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The page.
    pub index: PathBuf,
    /// The number of CSV files.
    pub tables: usize,
    /// The number of pictures, or the reason why there are none.
    pub pictures: Result<usize, &'static str>,
}

/// Writes a report into a directory, which is made if it does not exist. Files of an earlier report with the same
/// names are overwritten.
///
/// # Errors
/// A file cannot be written, or a picture cannot be drawn.
pub fn write(summary: &Summary<'_>, directory: &Path) -> Result<Written, ReportError> {
    let files = files(summary);
    let index = directory.join("index.html");
    let fonts = png::Fonts::find();
    // The page links only files that exist: without a font there are no pictures.
    let page = page::page(summary, &files, fonts.is_ok());
    put(&index, fit_for_markup(page.into_string()).as_bytes())?;
    let mut pictures = 0;
    for (answers, name) in with_figures(summary).zip(&files) {
        let path = directory.join(format!("csv/{name}.csv"));
        put(&path, csv(answers).as_bytes())?;
        let path = directory.join(format!("png/{name}.png"));
        if let (Ok(fonts), Some(picture)) = (&fonts, picture(summary, answers)) {
            let picture = fonts.draw(&picture);
            let picture = picture.map_err(|problem| ReportError::Picture {
                path: path.clone(),
                problem,
            })?;
            put(&path, &picture)?;
            pictures += 1;
        }
    }
    Ok(Written {
        index,
        tables: files.len(),
        pictures: fonts.map(|_| pictures),
    })
}

/// Returns the page alone.
pub fn page(summary: &Summary<'_>) -> String {
    fit_for_markup(page::page(summary, &files(summary), true).into_string())
}

/// Returns an experiment's plots as one picture, in SVG; `None` if it has no figures.
pub fn picture(summary: &Summary<'_>, answers: &ExperimentSummary<'_>) -> Option<String> {
    plot::image(summary, answers).map(|picture| fit_for_markup(picture.into_string()))
}

/// Replaces characters that HTML and XML forbid, escaped or not, by a mark.
fn fit_for_markup(text: String) -> String {
    let fits = |letter: char| match letter {
        '\n' | '\t' => true,
        '\u{FDD0}'..='\u{FDEF}' => false,
        _ => !letter.is_control() && u32::from(letter) & 0xFFFE != 0xFFFE,
    };
    text.replace(|letter| !fits(letter), "\u{FFFD}")
}

/// Returns the experiments that have figures.
fn with_figures<'s, 'a>(
    summary: &'s Summary<'a>,
) -> impl Iterator<Item = &'s ExperimentSummary<'a>> {
    summary
        .experiments
        .iter()
        .filter(|answers| !answers.lines.is_empty())
}

/// Returns the names of files of the experiments that have figures, in their order: the experiment's own name,
/// without unfit characters. Each is unique.
fn files(summary: &Summary<'_>) -> Vec<String> {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut files = Vec::new();
    for answers in with_figures(summary) {
        let parts = answers
            .experiment
            .name
            .split('/')
            .map(fit)
            .filter(|part| !part.is_empty());
        let mut name = parts.collect::<Vec<_>>().join("/");
        if name.is_empty() {
            name = "experiment".into();
        }
        let count = used.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            name = format!("{name}~{count}");
        }
        files.push(name);
    }
    files
}

/// Replaces all but letters, digits and `-_.`, and a dot at the beginning, so that no part leads out of the directory
/// or is hidden.
fn fit(part: &str) -> String {
    let fit = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let text: String = part
        .chars()
        .map(|letter| if fit(letter) { letter } else { '_' })
        .collect();
    text.trim_start_matches('.').chars().take(100).collect()
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    let write = || {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, bytes)
    };
    write().map_err(|source| ReportError::File {
        path: path.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_the_directory() {
        assert_eq!(fit("delay-udp-10M"), "delay-udp-10M");
        assert_eq!(fit(".."), "");
        assert_eq!(fit("..secret"), "secret");
        assert_eq!(fit("a b\\c"), "a_b_c");
    }
}
