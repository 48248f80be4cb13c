//! The figures of a mechanism in a run.

use std::collections::BTreeMap;

use crate::figures::{
    results::{Better, Directory, Outcome, Quantity},
    statistics::median,
};

/// A figure of a mechanism, and its rank among the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The experiment's title.
    pub what: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The figure of the best implementation: the median over everything that was measured.
    pub value: f64,
    /// The subject with that figure.
    pub subject: String,
    /// The rank of the mechanism, and the number of mechanisms that were measured.
    pub rank: (usize, usize),
}

/// Returns the figures of a mechanism, in the order of the run's experiments.
pub fn measured(run: &Directory, mechanism: &str) -> Vec<Measured> {
    let experiments = run.run().experiments.iter();
    experiments
        .filter_map(|experiment| {
            let best = best(run, &experiment.name, experiment.quantity);
            let (value, subject) = best.get(mechanism)?.clone();
            let better = |other: f64| match experiment.quantity.better() {
                Better::Lower => other < value,
                Better::Higher => other > value,
            };
            Some(Measured {
                what: experiment.title.clone(),
                quantity: experiment.quantity,
                rank: (
                    best.values().filter(|(other, _)| better(*other)).count(),
                    best.len(),
                ),
                value,
                subject,
            })
        })
        .collect()
}

/// Returns the best implementation of each mechanism in an experiment.
fn best<'a>(
    run: &'a Directory,
    experiment: &str,
    quantity: Quantity,
) -> BTreeMap<&'a str, (f64, String)> {
    let mut best: BTreeMap<&str, (f64, String)> = BTreeMap::new();
    for subject in &run.run().subjects {
        let trials = run.trials().filter(|trial| {
            trial.planned.experiment == experiment && trial.planned.subject == subject.name
        });
        let mut values: Vec<f64> = trials
            .filter_map(|trial| match &trial.outcome {
                Outcome::Measured(points) => Some(points.iter().map(|point| point.value)),
                Outcome::NotRun(_) | Outcome::Void(_) => None,
            })
            .flatten()
            .collect();
        if values.is_empty() {
            continue;
        }
        let value = median(&mut values);
        let improves = |other: f64| match quantity.better() {
            Better::Lower => value < other,
            Better::Higher => value > other,
        };
        match best.get(subject.mechanism.as_str()) {
            Some((other, _)) if !improves(*other) => {}
            _ => {
                best.insert(&subject.mechanism, (value, subject.name.clone()));
            }
        }
    }
    best
}
