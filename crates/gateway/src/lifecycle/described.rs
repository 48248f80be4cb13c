//! The identity of instances: by it a reload decides which of them changed.

use isthmus_core::mechanism::{Instance, Mechanism as _};
use isthmus_core::nat::StaticBinding;

use super::tables::Table;
use crate::change::Turn;
use crate::config::{Document, Rows};

/// Everything that makes an instance what it is. Two of the same name that are equal are the same instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) name: String,
    compiled: Instance,
    fixed: Vec<StaticBinding>,
    rows: Rows,
}

/// The instances of a document, in its order, with what they were compiled to.
pub(super) fn described(
    document: &Document,
    compiled: &[Instance],
    tables: &[Table],
) -> Vec<Described> {
    let instances = document.instances.iter().zip(compiled);
    instances
        .map(|(instance, compiled)| {
            let name = instance.name.value.clone();
            let mut compiled = *compiled;
            if let Some(nat) = compiled.mechanism.nat_mut() {
                // Another one in each configuration, and no difference.
                nat.secret = [0; 2];
            }
            let table = tables.iter().find(|table| *table.name == *name);
            Described {
                fixed: table.map_or_else(Vec::new, |table| table.fixed.clone()),
                rows: instance.mechanism.rows(),
                compiled,
                name,
            }
        })
        .collect()
}

/// The instance of this name.
pub(super) fn find<'d>(described: &'d [Described], name: &str) -> Option<&'d Described> {
    described.iter().find(|one| one.name == name)
}

/// Instances that came, went or changed.
pub(super) fn differences(old: &[Described], new: &[Described]) -> Vec<(String, Turn)> {
    let came = new.iter().filter_map(|one| match find(old, &one.name) {
        None => Some((one.name.clone(), Turn::Added)),
        Some(before) if before != one => Some((one.name.clone(), Turn::Changed)),
        Some(_) => None,
    });
    let gone = old.iter().filter(|one| find(new, &one.name).is_none());
    let gone = gone.map(|one| (one.name.clone(), Turn::Removed));
    came.chain(gone).collect()
}
