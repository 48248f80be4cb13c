//! The subject that stands for others: the best of the run.

use crate::{
    figures::results::{Better, SubjectInfo},
    report::summary::{Figure, Line, Summary},
};

/// The experiments whose best value makes a subject the best, the first that has any.
const BEST_BY: [&str; 4] = [
    "rfc8219/throughput",
    "paper-002/throughput-tcp",
    "paper-004/round-trip",
    "rfc8219/dns64",
];

/// Returns the best of the wanted subjects: the first of those with the best value, over its directions the worse one.
pub(super) fn best<'a>(
    summary: &Summary<'a>,
    wanted: impl Fn(&SubjectInfo) -> bool,
) -> Option<&'a SubjectInfo> {
    let is_wanted = |line: &&Line<'_>| wanted(line.subject);
    for name in BEST_BY {
        let Some(answers) = summary.experiment(name) else {
            continue;
        };
        let better = answers.experiment.quantity.better();
        let mut found: Vec<(&SubjectInfo, f64)> = Vec::new();
        for line in answers.lines.iter().filter(is_wanted) {
            let Some(value) = line.figures.last().map(Figure::value) else {
                continue;
            };
            match found
                .iter_mut()
                .find(|(subject, _)| subject.name == line.subject.name)
            {
                Some((_, worst)) => {
                    *worst = match better {
                        Better::Lower => worst.max(value),
                        Better::Higher => worst.min(value),
                    }
                }
                None => found.push((line.subject, value)),
            }
        }
        let rank = |value: f64| match better {
            Better::Lower => value,
            Better::Higher => -value,
        };
        let best = found
            .iter()
            .min_by(|one, other| rank(one.1).total_cmp(&rank(other.1)));
        if let Some((subject, _)) = best {
            return Some(subject);
        }
    }
    let subjects = summary
        .experiments
        .iter()
        .flat_map(|answers| answers.subjects());
    subjects.into_iter().find(|subject| wanted(subject))
}
