//! The legend of plots over an axis: whose lines they have, and which of them are shown at first.

use maud::{Markup, html};

use crate::{
    figures::results::{Run, SubjectInfo},
    report::{
        best::best,
        style::{Look, is_forwarding, is_native, make},
        summary::{ExperimentSummary, Summary, is_ours},
    },
};

/// The most lines that share a frame. Of more, each mechanism has a frame of its own.
const MOST: usize = 6;

/// The entries for all plots of an experiment.
pub(in crate::report) struct Legend<'a> {
    /// The entries. The index of one is its key, by which the script finds its lines.
    pub(in crate::report) entries: Vec<Entry<'a>>,
    /// Whether each mechanism has a frame of its own.
    pub(super) is_split: bool,
}

/// An entry of the legend.
pub(in crate::report) struct Entry<'a> {
    /// The subject; `None` for native forwarding, which is a band.
    subject: Option<&'a SubjectInfo>,
    /// Whether it is shown before the reader presses anything.
    pub(in crate::report) is_shown: bool,
}

impl<'a> Legend<'a> {
    /// Returns the legend of an experiment. Native forwarding is one entry, unless it is all that was measured. Where
    /// mechanisms share a frame, one engine of ours is shown for each: the best one.
    pub(in crate::report) fn of(summary: &Summary<'_>, answers: &ExperimentSummary<'a>) -> Self {
        let all = answers.subjects();
        let has_mechanisms = all.iter().any(|subject| !is_native(subject));
        let is_behind = |subject: &&SubjectInfo| has_mechanisms && is_forwarding(subject);
        let (behind, mut subjects): (Vec<_>, Vec<_>) = all.into_iter().partition(is_behind);
        let order = mechanisms(&subjects);
        let is_split = subjects.len() > MOST && order.len() > 1;
        if is_split {
            // As the frames are: one mechanism after the other.
            subjects
                .sort_by_key(|subject| order.iter().position(|name| *name == subject.mechanism));
        }
        let is_best = |subject: &SubjectInfo| {
            let rivals = |other: &SubjectInfo| {
                is_ours(other)
                    && other.mechanism == subject.mechanism
                    && subjects.iter().any(|one| one.name == other.name)
            };
            best(summary, rivals).is_none_or(|best| best.name == subject.name)
        };
        let native = behind.first().map(|_| Entry {
            subject: None,
            is_shown: true,
        });
        let lines = subjects.iter().map(|subject| Entry {
            subject: Some(subject),
            is_shown: is_split || !is_ours(subject) || is_best(subject),
        });
        Self {
            entries: native.into_iter().chain(lines).collect(),
            is_split,
        }
    }

    /// Returns the key and the entry of a subject; `None` if it is part of the band.
    pub(super) fn find(&self, subject: &SubjectInfo) -> Option<(usize, &Entry<'a>)> {
        let mut entries = self.entries.iter().enumerate();
        let is_it = |entry: &Entry<'_>| entry.subject.is_some_and(|one| one.name == subject.name);
        entries.find(|(_, entry)| is_it(entry))
    }

    /// Returns the looks that lines have in frames of mechanisms, each with its name; none if there is only one frame.
    pub(in crate::report) fn looks<'s>(&'s self, run: &Run) -> Vec<(&'s str, Look)> {
        let mut looks: Vec<(&str, Look)> = Vec::new();
        let entries = self.entries.iter().filter(|_| self.is_split);
        let subjects = entries.filter_map(|entry| entry.subject);
        for subject in subjects.filter(|subject| !is_native(subject)) {
            if looks.iter().all(|(name, _)| *name != make(subject)) {
                looks.push((make(subject), Look::of(run, subject).plain()));
            }
        }
        looks
    }

    /// Returns the key of native forwarding, if it is a band.
    pub(in crate::report) fn band(&self) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.subject.is_none())
    }
}

/// Returns the mechanisms in the order of their first subjects.
fn mechanisms<'a>(subjects: &[&'a SubjectInfo]) -> Vec<&'a str> {
    let mut mechanisms: Vec<&str> = Vec::new();
    for subject in subjects {
        if !mechanisms.contains(&subject.mechanism.as_str()) {
            mechanisms.push(&subject.mechanism);
        }
    }
    mechanisms
}

impl Entry<'_> {
    /// Returns its name.
    pub(in crate::report) fn name(&self) -> &str {
        self.subject.map_or("native", |subject| &subject.name)
    }

    /// Returns a sample of its line, 28 by 12, with its top left corner at this place.
    pub(in crate::report) fn sample(&self, run: &Run, x: f64, y: f64) -> Markup {
        match self.subject {
            Some(subject) => Look::of(run, subject).sample(x, y),
            None => html! {
                g.line.native {
                    path.band d=(format!("M{x:.1} {:.1}h28v8h-28z", y + 2.0)) {}
                    path.l d=(format!("M{x:.1} {:.1}h28", y + 6.0)) {}
                }
            },
        }
    }
}
