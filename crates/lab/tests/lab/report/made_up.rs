//! Runs that were never measured: a test gives each value.

use std::path::Path;

use isthmus_lab::{
    figures::results::{
        Axis, Directory, Environment, Evidence, ExperimentInfo, FORMAT, Outcome, Planned, Point,
        Quantity, Rules, Run, Scale, SubjectInfo, Trial,
    },
    report::summary::Summary,
};

/// A run under construction.
#[derive(Debug, Clone)]
pub(crate) struct MadeUp {
    pub(crate) run: Run,
    pub(crate) trials: Vec<Trial>,
}

impl MadeUp {
    pub(crate) fn new() -> Self {
        let run = Run {
            format: FORMAT,
            id: "made-up".into(),
            begun: "2026-01-01T00:00:00Z".into(),
            profile: "made up, not measured".into(),

            command: "isthmus lab run all --profile smoke".into(),
            environment: Environment {
                cpu: "an imagined processor".into(),
                cores: 2,
                memory_mib: 4096,
                kernel: "6.1.0-made-up".into(),
                isthmus: "0.1.0".into(),
                program: "00".repeat(32),
            },
            experiments: vec![],
            subjects: vec![],
            rules: Rules::default(),
            networks: vec![],
            plan: vec![],
        };
        Self {
            run,
            trials: vec![],
        }
    }

    /// Adds an experiment, with the name and the unit of its axis if it has one.
    pub(crate) fn experiment(
        &mut self,
        name: &str,
        quantity: Quantity,
        over: Option<(&str, &str)>,
    ) {
        self.run.experiments.push(ExperimentInfo {
            name: name.into(),
            title: format!("Made up: {name}"),
            source: "no source".into(),
            quantity,
            over: over.map(|(name, unit)| Axis {
                name: name.into(),
                unit: unit.into(),
                scale: if unit == "bytes" {
                    Scale::Logarithmic
                } else {
                    Scale::Linear
                },
            }),
            network: "none".into(),
            method: "values come from formulas".into(),
            command: format!("isthmus lab run {name}"),
        });
    }

    /// Adds a subject, if it is new. Its mechanism and engine follow from its name.
    pub(crate) fn subject(&mut self, name: &str) {
        if self.run.subjects.iter().any(|subject| subject.name == name) {
            return;
        }
        let (mechanism, implementation, engine) = match name.split_once("-isthmus-") {
            Some((mechanism, engine)) => (mechanism.to_owned(), "Isthmus", engine),
            None => match name {
                "native-ipv4" => ("native IPv4".into(), "Linux", "kernel"),
                "native-ipv6" => ("native IPv6".into(), "Linux", "kernel"),
                _ => {
                    let (mechanism, implementation) =
                        name.rsplit_once('-').unwrap_or((name, "somebody"));
                    (mechanism.to_owned(), implementation, "user")
                }
            },
        };
        let mechanism = match mechanism.as_str() {
            "6to4-hosts" => "6to4 hosts".into(),
            "http-proxy" => "HTTP proxy".into(),
            _ => mechanism,
        };
        self.run.subjects.push(SubjectInfo {
            name: name.into(),
            mechanism,
            implementation: implementation.into(),
            engine: engine.into(),
            missing: None,
        });
    }

    /// Adds a trial, the next repetition of its experiment and subject.
    pub(crate) fn trial(&mut self, experiment: &str, subject: &str, outcome: Outcome) {
        self.subject(subject);
        let same =
            |planned: &&Planned| planned.experiment == experiment && planned.subject == subject;
        let planned = Planned {
            experiment: experiment.into(),
            subject: subject.into(),
            repetition: self.run.plan.iter().filter(same).count() as u32,
        };
        self.run.plan.push(planned.clone());
        self.trials.push(Trial {
            run: self.run.id.clone(),
            planned,
            seconds: 0.0,
            outcome,
            gaps: vec![],
            evidence: Evidence::default(),
        });
    }

    pub(crate) fn measured(&mut self, experiment: &str, subject: &str, points: Vec<Point>) {
        self.trial(experiment, subject, Outcome::Measured(points));
    }

    /// Adds a trial with one series over an axis.
    pub(crate) fn line(
        &mut self,
        experiment: &str,
        subject: &str,
        series: &str,
        values: &[(f64, f64)],
    ) {
        let points = values
            .iter()
            .map(|(at, value)| Point::new(series, *at, *value));
        self.measured(experiment, subject, points.collect());
    }

    pub(crate) fn summary(&self) -> Summary<'_> {
        Summary::new(&self.run, &self.trials)
    }

    /// Writes the run as the laboratory does.
    pub(crate) fn write(&self, place: &Path) -> Directory {
        let mut directory = Directory::begin(place, self.run.clone()).unwrap();
        for (number, trial) in self.trials.iter().enumerate() {
            directory.keep(number, trial.clone()).unwrap();
        }
        directory
    }
}
