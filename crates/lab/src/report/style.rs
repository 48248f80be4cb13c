//! The look of a subject: the mechanism has a colour, the engine or implementation has a marker and dashes.
//!
//! A subject looks the same in all figures. No information is in the colour alone.

use maud::{Markup, html};

use crate::{
    figures::results::{Run, SubjectInfo},
    report::summary::is_ours,
};

/// The number of colours for mechanisms, without the two of native forwarding.
pub(super) const HUES: usize = 8;

/// The look of one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// The class that sets the colour.
    pub(super) hue: String,
    /// The index among the makes of the run, which selects marker and dash.
    shape: usize,
    /// Whether markers are filled. Mechanisms after the eighth repeat the colours, with hollow markers.
    filled: bool,
}

/// Returns whether a subject is no mechanism, but one that mechanisms are compared with: native forwarding or a cable.
pub(super) fn is_native(subject: &SubjectInfo) -> bool {
    is_forwarding(subject) || subject.mechanism.to_lowercase().starts_with("one link")
}

/// Returns whether a subject is native forwarding.
pub(super) fn is_forwarding(subject: &SubjectInfo) -> bool {
    subject.mechanism.to_lowercase().starts_with("native")
}

/// Returns the make of a subject: the engine of ours, the implementation of others, without its version.
pub(super) fn make(subject: &SubjectInfo) -> &str {
    match subject.engine.as_str() {
        "xdp" if is_ours(subject) => "XDP",
        "tc" if is_ours(subject) => "tc",
        "user" if is_ours(subject) => "user space",
        _ => subject.implementation.split(' ').next().unwrap_or_default(),
    }
}

impl Look {
    /// Returns the look of a subject of the run. A make has one marker and one dash in all mechanisms.
    pub(super) fn of(run: &Run, subject: &SubjectInfo) -> Self {
        let place = place_among(run, subject, |one| &one.mechanism);
        let is_of_6 = subject.mechanism.contains('6');
        Self {
            hue: match place {
                Some(place) => format!("h{}", place % HUES),
                None if is_of_6 => "native6".into(),
                None => "native4".into(),
            },
            shape: match place {
                Some(_) => place_among(run, subject, make).unwrap_or(0),
                None => usize::from(is_of_6),
            },
            filled: place.is_none_or(|place| (place / HUES).is_multiple_of(2)),
        }
    }

    /// Returns the look without the colour of a mechanism.
    pub(super) fn plain(self) -> Self {
        Self {
            hue: String::new(),
            filled: true,
            ..self
        }
    }

    /// Returns the dashes of its lines; `None` for a solid line.
    pub(super) fn dash(&self) -> Option<&'static str> {
        [
            None,
            Some("8 4"),
            Some("2 4"),
            Some("10 4 2 4"),
            Some("14 4"),
            Some("4 2"),
        ][self.shape % 6]
    }

    /// Returns the class of its markers.
    pub(super) fn marker_class(&self) -> &'static str {
        if self.filled { "m" } else { "m hollow" }
    }

    /// Returns its marker around a point, as the data of a path.
    pub(super) fn marker(&self, x: f64, y: f64) -> String {
        match self.shape % 7 {
            0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
            1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
            2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
            3 => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
            4 => format!("M{x:.1} {:.1}l4.5 -8h-9z", y + 5.0),
            5 => format!("M{:.1} {:.1}h4v3h3v4h-3v3h-4v-3h-3v-4h3z", x - 2.0, y - 5.0),
            _ => format!("M{:.1} {y:.1}l2.5 -4.5h5l2.5 4.5l-2.5 4.5h-5z", x - 5.0),
        }
    }

    /// Returns a line with the marker, 28 by 12, for legends, with its top left corner at this place.
    pub(super) fn sample(&self, x: f64, y: f64) -> Markup {
        html! {
            g class={"line " (self.hue)} {
                path.l d=(format!("M{x:.1} {:.1}h28", y + 6.0)) stroke-dasharray=[self.dash()] {}
                path class=(self.marker_class()) d=(self.marker(x + 14.0, y + 6.0)) {}
            }
        }
    }
}

/// Returns the place of a subject's word among the different ones of the run's mechanisms; `None` for native ones.
fn place_among(
    run: &Run,
    subject: &SubjectInfo,
    word: impl Fn(&SubjectInfo) -> &str,
) -> Option<usize> {
    let mut words: Vec<&str> = Vec::new();
    for other in run.subjects.iter().filter(|other| !is_native(other)) {
        if !words.contains(&word(other)) {
            words.push(word(other));
        }
    }
    words
        .iter()
        .position(|one| *one == word(subject))
        .filter(|_| !is_native(subject))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::figures::results::{Environment, FORMAT, Rules};

    fn run(names: &[(&str, &str)]) -> Run {
        let subject = |(mechanism, engine): &(&str, &str)| SubjectInfo {
            name: format!("{mechanism}-{engine}"),
            mechanism: mechanism.to_string(),
            implementation: "Isthmus".into(),
            engine: engine.to_string(),
            missing: None,
        };
        Run {
            format: FORMAT,
            id: "one".into(),
            begun: String::new(),
            profile: String::new(),
            command: String::new(),
            environment: Environment {
                cpu: String::new(),
                cores: 1,
                memory_mib: 1,
                kernel: String::new(),
                isthmus: String::new(),
                program: String::new(),
            },
            experiments: vec![],
            subjects: names.iter().map(subject).collect(),
            rules: Rules::default(),
            networks: vec![],
            plan: vec![],
        }
    }

    #[test]
    fn subjects_differ_by_more_than_colour_within_a_mechanism() {
        let run = run(&[
            ("native IPv4", "kernel"),
            ("nat64", "xdp"),
            ("nat64", "user"),
            ("siit", "user"),
        ]);
        let looks: Vec<Look> = run
            .subjects
            .iter()
            .map(|subject| Look::of(&run, subject))
            .collect();
        assert_eq!(looks[0].hue, "native4");
        assert_eq!(looks[1].hue, looks[2].hue);
        assert_ne!(looks[1].marker(0.0, 0.0), looks[2].marker(0.0, 0.0));
        assert_ne!(looks[1].dash(), looks[2].dash());
        // An engine looks the same in another mechanism, but for the colour.
        assert_ne!(looks[2].hue, looks[3].hue);
        assert_eq!(looks[2].clone().plain(), looks[3].clone().plain());
    }

    #[test]
    fn sixteen_mechanisms_are_told_apart() {
        let names: Vec<String> = (0..16)
            .map(|number| format!("mechanism-{number}"))
            .collect();
        let names: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "xdp")).collect();
        let run = run(&names);
        let looks = run.subjects.iter().map(|subject| {
            let look = Look::of(&run, subject);
            (look.hue.clone(), look.marker_class())
        });
        assert_eq!(looks.collect::<BTreeSet<_>>().len(), 16);
    }
}
