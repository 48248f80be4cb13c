//! `isthmus lab attack`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use isthmus_lab::experiments::attack::{self, Attack, Row};
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
        println!("{}", attack::HEADING);
        for attack in attack::all() {
            if self
                .names
                .iter()
                .any(|name| name == ALL || name == attack.name)
            {
                self.attack(&attack, &mut rows)?;
            }
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

    fn attack(&self, attack: &Attack, rows: &mut Vec<Row>) -> Result<()> {
        let wanted = |engine: Engine| {
            self.engine.is_empty() || self.engine.iter().any(|name| name == engine.name())
        };
        for engine in attack.engines {
            if wanted(*engine) {
                let window = Duration::from_secs_f64(self.seconds.clamp(0.1, 600.0));
                attack::run(attack, *engine, window, |row| {
                    println!("{row}");
                    rows.push(row);
                })?;
            }
        }
        Ok(())
    }
}
