//! The gateway that runs has no troubles.

use super::{Check, Defect, Depth, Patient, Remedy, Unseen};
use crate::control::{Status, TableStatus};

pub(super) const CHECK: Check = Check {
    name: "running",
    about: "troubles of the gateway that runs, tables that refuse entries, a reload that failed",
    depth: Depth::Whole,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(patient: &Patient<'_>) -> Result<Vec<Defect>, Unseen> {
    let Some(status) = patient.status else {
        return Ok(Vec::new());
    };
    let file = status.configuration.display();
    let mut defects = Vec::new();
    defects.extend(status.reload_error.as_ref().map(|error| {
        Defect::new(
            format!("the last reload failed: {error}"),
            "The configuration before it is in force",
            Remedy::command(format!("isthmus check {file}")),
        )
    }));
    defects.extend(status.troubles.iter().map(|trouble| {
        Defect::new(
            format!("not as configured: {trouble}"),
            "The gateway tries each second to put it back, and cannot",
            Remedy::command(format!("isthmus status --name {}", status.name)),
        )
    }));
    defects.extend(tables(status));
    Ok(defects)
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
