//! The gateway that runs has no troubles.

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::control::{Status, TableStatus};
use crate::health::{Reason, Verdict};

pub(super) const CHECK: Check = Check {
    name: "running",
    about: "troubles of the gateway that runs, tables that refuse entries, a reload that failed",
    depth: Depth::Whole,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let Some(status) = case.status else {
        return Ok(Vec::new());
    };
    let reasons = status.health.reasons.iter();
    let mut defects: Vec<Defect> = reasons.map(|reason| of_reason(status, reason)).collect();
    defects.extend(tables(status));
    Ok(defects)
}

fn of_reason(status: &Status, reason: &Reason) -> Defect {
    let file = status.configuration.display();
    let (why, command) = match reason.verdict {
        Verdict::Ill => (
            "Packets may not be translated. The gateway tries each second to mend it, and cannot",
            format!("isthmus status --name {}", status.name),
        ),
        Verdict::Degraded | Verdict::Healthy => (
            "The configuration before it is in force",
            format!("isthmus check {file}"),
        ),
    };
    Defect::new(reason.what.as_str(), why, Remedy::command(command))
}

/// The tables that refuse entries and can be given other sizes.
fn tables(status: &Status) -> Vec<Defect> {
    let instances = status.instances.iter();
    let tables =
        instances.flat_map(|instance| instance.tables.iter().map(move |table| (instance, table)));
    let sized = ["sessions", "bindings", "subscribers"];
    let refuses = |table: &TableStatus| table.refused > 0 && sized.contains(&table.table.as_str());
    tables
        .filter(|(_, table)| refuses(table))
        .map(|(instance, table)| {
            let TableStatus { table, used, limit, refused } = table;
            Defect::new(
                format!(
                    "{refused} entries found no room among {table} of {}, which has {used} of {limit}",
                    instance.name
                ),
                "Hosts get no new connections",
                Remedy::configuration(
                    format!("[[instance]] \"{}\"", instance.name),
                    format!("max-{table} = {}", limit.saturating_mul(2)),
                ),
            )
        })
        .collect()
}
