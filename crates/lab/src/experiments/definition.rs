//! The definition of an experiment.

use super::{journal::Journal, links::Links, profile::Profile, subject::Subject, testbed::Testbed};
use crate::{
    Result,
    figures::results::{Axis, ExperimentInfo, Point, Quantity, Scale},
};

/// An experiment that can be carried out.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// See [`ExperimentInfo::name`].
    pub name: &'static str,
    /// See [`ExperimentInfo::title`].
    pub title: &'static str,
    /// See [`ExperimentInfo::source`].
    pub source: &'static str,
    /// The quantity.
    pub quantity: Quantity,
    /// The axis, if there is one: name, unit, scale.
    pub over: Option<(&'static str, &'static str, Scale)>,
    /// See [`ExperimentInfo::network`].
    pub network: &'static str,
    /// See [`ExperimentInfo::method`].
    pub method: &'static str,
    /// Returns whether the experiment is for a subject.
    pub of: fn(&Subject) -> bool,
    /// The measurement.
    pub how: How,
    /// The length of one trial, in seconds: an estimate for as long as no trial has been run.
    pub takes: fn(Profile) -> f64,
}

/// The way of measuring.
#[derive(Debug, Clone, Copy)]
pub enum How {
    /// On a testbed.
    Live(Links, fn(&mut Testbed, Profile) -> Result<Vec<Point>>),
    /// Without a network, or in one of its own.
    Apart(fn(&Subject, Profile, &Journal) -> Result<Vec<Point>>),
}

impl How {
    /// Returns the links of the testbed, if there is one.
    pub fn links(self) -> Option<Links> {
        match self {
            Self::Live(links, _) => Some(links),
            Self::Apart(_) => None,
        }
    }
}

impl Experiment {
    /// Returns whether it has this name: its own, its paper's, or `all`.
    pub fn is_called(&self, name: &str) -> bool {
        let paper = self.name.split('/').next();
        name == "all" || name == self.name || paper == Some(name)
    }

    /// Returns its description in `run.json`.
    pub fn describe(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: self.name.into(),
            title: self.title.into(),
            source: self.source.into(),
            quantity: self.quantity,
            over: self.over.map(|(name, unit, scale)| Axis {
                name: name.into(),
                unit: unit.into(),
                scale,
            }),
            network: self.network.into(),
            method: self.method.into(),
            command: format!("isthmus lab run {}", self.name),
        }
    }
}
