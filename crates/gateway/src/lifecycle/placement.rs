//! Which tables lie where in the memory of sessions, across reloads.
//!
//! An instance is known by its name. If its tables keep their sizes they stay where they are, with
//! all that is in them; otherwise it gets new ones behind all others, and memory that was once
//! used is not used again: what a packet still writes there under the old configuration harms
//! nobody.

use std::collections::BTreeMap;

use isthmus_core::config::Mechanism;
use isthmus_core::nat::Layout;

use crate::config::{Compiled, Document};

/// The tables of one configuration, and where the next would go.
#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    tables: BTreeMap<String, Layout>,
    end: u32,
}

/// There is no room for the tables of this instance.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no memory left for the tables of instance {0:?} without a restart: its sizes, or new instances, need more than the gateway took at its start"
)]
pub(super) struct NoRoom(String);

impl Placement {
    /// Moves the tables of `compiled` to their places and says what the placement is then. There
    /// are `lines` lines in all.
    pub(super) fn place(
        &self,
        document: &Document,
        compiled: &mut Compiled,
        lines: u32,
    ) -> Result<Self, NoRoom> {
        let mut new = Self {
            tables: BTreeMap::new(),
            end: self.end,
        };
        for (document, compiled) in document.instances.iter().zip(&mut compiled.instances) {
            let Mechanism::Nat64(nat64) = &mut compiled.instance.mechanism else {
                continue;
            };
            let name = &document.name.value;
            let layout = &mut nat64.nat.layout;
            let kept = self
                .tables
                .get(name)
                .filter(|old| layout.moved(old.start()).as_ref() == Some(old));
            *layout = match kept {
                Some(old) => *old,
                None => {
                    let placed = layout
                        .moved(new.end)
                        .filter(|placed| placed.end() <= lines)
                        .ok_or_else(|| NoRoom(name.clone()))?;
                    new.end = placed.end();
                    placed
                }
            };
            new.tables.insert(name.clone(), *layout);
        }
        Ok(new)
    }
}
