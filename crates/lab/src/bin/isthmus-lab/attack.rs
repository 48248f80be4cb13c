//! `isthmus lab attack`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use isthmus_lab::experiments::attack::{self, Attack};
use isthmus_lab::subjects::isthmus::Engine;

/// Attack a gateway, with a victim beside it
///
/// Prints a line for each attack, engine and rate: what was sent, and what the victim got before the attack, beside
/// a harmless load, and under the attack. Exit status 2 if a promise of docs/security.md was not held.
#[derive(Args, Debug)]
pub(super) struct Attacks {
    /// The attacks, or `all`
    #[arg(value_name = "NAME", required = true, value_parser = PossibleValuesParser::new(names()))]
    names: Vec<String>,
    /// Only these engines, separated by commas; all if absent
    #[arg(long, value_name = "ENGINE", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(Engine::ALL.map(Engine::name)))]
    engine: Vec<String>,
    /// The seconds for which the victim is watched in each phase
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// The file of the JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const ALL: &str = "all";

fn names() -> Vec<&'static str> {
    let attacks = attack::all();
    let named = attacks.iter().map(|attack| attack.name);
    std::iter::once(ALL).chain(named).collect()
}

impl Attacks {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let mut rows = Vec::new();
        let attacks = attack::all();
        let chosen: Vec<(&Attack, Engine)> = attacks
            .iter()
            .filter(|attack| self.wants(attack))
            .flat_map(|attack| self.engines(attack).map(move |engine| (attack, engine)))
            .collect();
        if chosen.is_empty() {
            bail!("nothing to do: no engine that was asked for has a part in it");
        }
        println!("{}", attack::HEADING);
        let window = Duration::from_secs_f64(self.seconds.clamp(0.1, 600.0));
        for (attack, engine) in chosen {
            attack::run(attack, engine, window, |row| {
                println!("{row}");
                rows.push(row);
            })?;
        }
        if let Some(file) = &self.json {
            attack::write(file, self.seconds, &rows)?;
            println!("written to {}", file.display());
        }
        let failed = rows.iter().filter(|row| !row.held()).count();
        println!("{} rows: {failed} not held", rows.len());
        Ok(if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(2)
        })
    }

    fn wants(&self, attack: &Attack) -> bool {
        let mut names = self.names.iter();
        names.any(|name| name == ALL || name == attack.name)
    }

    /// Returns the engines in which an attack is wanted.
    fn engines(&self, attack: &Attack) -> impl Iterator<Item = Engine> {
        let wanted = |engine: &Engine| {
            self.engine.is_empty() || self.engine.iter().any(|name| name == engine.name())
        };
        let engines = attack.engines.iter().copied();
        engines.filter(wanted)
    }
}
