//! `isthmus counters`: the counters of a running gateway.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_core::reason::Counter;
use isthmus_gateway::control::{CounterRow, Reply, Request};
use isthmus_gateway::pref64;

use super::columns::{Align, Columns};
use super::target::Target;

/// Show the running gateway's counters since its start
#[derive(Args, Debug)]
pub(crate) struct Counters {
    #[command(flatten)]
    target: Target,
    /// Show this instance only
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Show counters that are zero, too
    #[arg(long)]
    all: bool,
    /// Explain each counter
    #[arg(long)]
    explain: bool,
    /// Show a row for each engine instead of their sum
    #[arg(long)]
    engines: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Counters {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let Reply::Counters(mut rows) = self.target.answer(&Request::Counters)? else {
            bail!("unexpected answer from the gateway");
        };
        if let Some(name) = &self.instance {
            rows.retain(|row| row.instance == *name);
        }
        if !self.engines {
            rows = summed(rows);
        }
        rows.retain(|row| self.all || row.value != 0);
        if self.json {
            println!("{}", serde_json::to_string_pretty(&rows)?);
        } else {
            self.print(&rows);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, rows: &[CounterRow]) {
        let mut table = Columns::new([
            ("instance", Align::Left),
            ("engine", Align::Left),
            ("kind", Align::Left),
            ("counter", Align::Left),
            ("value", Align::Right),
            ("", Align::Left),
        ]);
        for row in rows {
            let or_dash = |text: &str| if text.is_empty() { "-" } else { text }.to_owned();
            table.row([
                or_dash(&row.instance),
                or_dash(&row.engine),
                row.kind.clone(),
                row.counter.clone(),
                row.value.to_string(),
                if self.explain {
                    explanation(&row.counter)
                } else {
                    String::new()
                },
            ]);
        }
        if table.is_empty() {
            println!("nothing was counted yet");
        } else {
            print!("{table}");
        }
    }
}

/// Returns one row for each instance and counter, in the order of the counters.
fn summed(rows: Vec<CounterRow>) -> Vec<CounterRow> {
    let place = |name: &str| {
        Counter::ALL
            .iter()
            .position(|counter| counter.name() == name)
    };
    let mut sums: BTreeMap<_, CounterRow> = BTreeMap::new();
    for row in rows {
        let key = (
            row.instance.clone(),
            place(&row.counter),
            row.counter.clone(),
        );
        match sums.get_mut(&key) {
            Some(sum) => sum.value += row.value,
            None => {
                let engine = String::new();
                sums.insert(key, CounterRow { engine, ..row });
            }
        }
    }
    sums.into_values().collect()
}

fn explanation(name: &str) -> String {
    let packets = Counter::ALL.iter().map(|c| (c.name(), c.explanation()));
    let prefixes = pref64::Counter::ALL
        .iter()
        .map(|c| (c.name(), c.explanation()));
    packets
        .chain(prefixes)
        .find(|(known, _)| *known == name)
        .map_or_else(String::new, |(_, explanation)| explanation.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_summed_and_instances_are_not() {
        let row = |instance: &str, engine: &str, value| CounterRow {
            instance: instance.into(),
            engine: engine.into(),
            counter: "truncated".into(),
            kind: "dropped".into(),
            value,
        };
        let sums = summed(vec![
            row("a", "xdp", 1),
            row("a", "user", 2),
            row("b", "xdp", 4),
        ]);
        assert_eq!(sums, [row("a", "", 3), row("b", "", 4)]);
    }
}
