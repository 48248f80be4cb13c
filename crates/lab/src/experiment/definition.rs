//! What is asked of subjects.

use super::{profile::Profile, subject::Subject, testbed::Testbed};
use crate::{
    Result,
    bound::Rate,
    results::{Axis, ExperimentInfo, Point, Quantity, Scale},
    wire::{Ethernet, Medium},
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
    /// What is measured.
    pub quantity: Quantity,
    /// Over what, if over anything: name, unit, scale.
    pub over: Option<(&'static str, &'static str, Scale)>,
    /// See [`ExperimentInfo::network`].
    pub network: &'static str,
    /// See [`ExperimentInfo::method`].
    pub method: &'static str,
    /// Of whom it is asked.
    pub of: fn(&Subject) -> bool,
    /// How.
    pub how: How,
    /// How long one trial takes, in seconds: the value of a profile is a guess before there is experience.
    pub takes: fn(Profile) -> f64,
}

/// What the links of a network are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Links {
    /// As fast as the machine.
    Unlimited,
    /// Ethernet of so many megabits per second.
    Ethernet(u32),
}

impl Links {
    /// Their rate, if they have one.
    pub fn rate(self) -> Option<Rate> {
        match self {
            Self::Unlimited => None,
            Self::Ethernet(megabits) => Rate::new(u64::from(megabits) * 1_000_000).ok(),
        }
    }

    /// What connects their ends.
    pub fn medium(self) -> Medium {
        match self.rate() {
            None => Medium::Veth,
            Some(rate) => Medium::Ethernet(Ethernet::new(rate)),
        }
    }
}

/// How something is measured.
#[derive(Debug, Clone, Copy)]
pub enum How {
    /// On a running subject in its network.
    Live(Links, fn(&mut Testbed, Profile) -> Result<Vec<Point>>),
    /// Without a network, or in one of its own.
    Apart(fn(&Subject, Profile) -> Result<Vec<Point>>),
}

impl How {
    /// The links of the network, if it is one of those that subjects stand in.
    pub fn links(self) -> Option<Links> {
        match self {
            Self::Live(links, _) => Some(links),
            Self::Apart(_) => None,
        }
    }
}

impl Experiment {
    /// Whether it goes by this name: its own, its paper's, or `all`.
    pub fn is_called(&self, name: &str) -> bool {
        let paper = self.name.split('/').next();
        name == "all" || name == self.name || paper == Some(name)
    }

    /// As a run's file has it.
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
