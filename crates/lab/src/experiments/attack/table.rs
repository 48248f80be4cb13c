//! Outcomes as text: lines for a terminal, and the tables of `docs/security.md`.

use std::{fmt, fmt::Write as _};

use super::{Refusals, Report, Row, Sample, all};

/// The heading over rows in a terminal.
pub const HEADING: &str = "\
    attack             engine     asked      sent   arrived  victim: lost, median/95th before | beside | under";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<18} {:<6} {:>9} {:>9} {:>9} ",
            self.attack,
            self.engine,
            self.rate.to_string(),
            self.sent,
            self.arrived
        )?;
        for sample in &self.under {
            let like = |samples: &[Sample]| {
                let found = samples.iter().find(|other| other.service == sample.service);
                found.map_or_else(|| "-".into(), served)
            };
            write!(
                f,
                " {}: {} | {} | {}",
                sample.service,
                like(&self.before),
                like(&self.beside),
                served(sample)
            )?;
        }
        if let Some(gain) = &self.gain {
            write!(f, " {}: {} of {}", gain.what, gain.got, gain.tried)?;
        }
        write!(f, " {}", if self.held() { "held" } else { "NOT HELD" })?;
        for (name, count) in &self.refusals {
            write!(f, " {name}={count}")?;
        }
        Ok(())
    }
}

/// Returns loss, median and 95th percentile.
fn served(sample: &Sample) -> String {
    let mut text = format!("{:.1} %", sample.loss() * 100.0);
    if let (Some(median), Some(late)) = (sample.median, sample.late) {
        let _ = write!(text, " {}/{}", time(median), time(late));
    }
    text
}

/// Returns a time in microseconds with three digits.
fn time(microseconds: f64) -> String {
    match microseconds {
        time if time < 1000.0 => format!("{time:.0} µs"),
        time if time < 10_000.0 => format!("{:.1} ms", time / 1000.0),
        time => format!("{:.0} ms", time / 1000.0),
    }
}

/// The line after which the tables stand in `docs/security.md`.
pub const MARK: &str =
    "<!-- The rest is made by `make docs` from the attacks and bench/attacks.json. -->\n";

/// Returns the tables of `docs/security.md`: the attacks, and their outcomes.
pub fn page(report: &Report) -> String {
    let mut page = String::from("\n## The attacks\n\n| attack | finding | |\n|---|---|---|\n");
    for attack in all() {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            attack.name, attack.finding, attack.about
        );
    }
    let _ = write!(
        page,
        "\n## The outcomes\n\n{}, {}; {} seconds for each phase. Packets are per second.\n\n\
         | attack | engine | asked | arrived | before | beside | under | | refused | without defences |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        report.machine, report.date, report.seconds
    );
    for row in &report.rows {
        let _ = writeln!(page, "{}", line(row, undefended(report, row)));
    }
    page
}

/// Returns the outcome of the same attack without the defences.
fn undefended<'a>(report: &'a Report, row: &Row) -> Option<&'a Row> {
    let key = |row: &Row| (row.attack.clone(), row.engine.clone(), row.rate);
    report.before.iter().find(|other| key(other) == key(row))
}

/// Returns a row of the table.
fn line(row: &Row, undefended: Option<&Row>) -> String {
    let verdict = if row.held() { "held" } else { "**not held**" };
    let undefended = undefended.map(under).unwrap_or_default();
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {verdict} | {} | {undefended} |",
        row.attack,
        row.engine,
        row.rate,
        row.arrived,
        samples(&row.before),
        samples(&row.beside),
        under(row),
        refusals(&row.refusals),
    )
}

/// Returns what the victim and the attacker got under the attack.
fn under(row: &Row) -> String {
    let gain = row.gain.as_ref();
    let gain = gain.map(|gain| format!("{}: {} of {}", gain.what, gain.got, gain.tried));
    let served = (!row.under.is_empty()).then(|| samples(&row.under));
    let both: Vec<String> = served.into_iter().chain(gain).collect();
    both.join("<br>")
}

/// Returns loss, median and 95th percentile of each service.
fn samples(samples: &[Sample]) -> String {
    let lines = samples
        .iter()
        .map(|sample| format!("{} {}", sample.service, served(sample)));
    lines.collect::<Vec<_>>().join("<br>")
}

fn refusals(refusals: &Refusals) -> String {
    let lines = refusals
        .iter()
        .map(|(name, count)| format!("`{name}` {count}"));
    lines.collect::<Vec<_>>().join("<br>")
}
