//! Which tables lie where in the memory of sessions, across reloads.
//!
//! An instance is known by its name. If its tables keep their sizes, and ports are given to
//! subscribers in the same way, they stay where they are with all that is in them; otherwise it
//! gets new ones behind all others, and memory that was once used is not used again: what a packet
//! still writes there under the old configuration harms nobody.

use std::collections::BTreeMap;

use isthmus_core::encap::path_mtu;
use isthmus_core::nat::{Blocks, Layout, NatConfig, PoolRange, Subscriber};

use crate::config::{Compiled, Document};

/// The tables of one configuration, and where the next would go.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    tables: BTreeMap<String, Place>,
    end: u32,
}

impl Default for Placement {
    /// Nothing but the path MTUs of tunnels, which stay where they are.
    fn default() -> Self {
        Self {
            tables: BTreeMap::new(),
            end: path_mtu::LINES,
        }
    }
}

/// Tables, and what of their configuration the entries depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    layout: Layout,
    subscriber: Subscriber,
    blocks: Blocks,
    /// The pool, where blocks are calculated from it.
    pool: Vec<PoolRange>,
}

impl Place {
    fn of(config: &NatConfig) -> Self {
        Self {
            layout: config.layout,
            subscriber: config.subscriber,
            blocks: config.blocks,
            pool: match config.blocks {
                Blocks::Deterministic(_) => config.pool.ranges().to_vec(),
                Blocks::None | Blocks::PortSet | Blocks::Dynamic { .. } => Vec::new(),
            },
        }
    }
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
            let Some(config) = compiled.instance.mechanism.nat_mut() else {
                continue;
            };
            let name = &document.name.value;
            let old = self.tables.get(name);
            let start = old.map_or(new.end, |old| old.layout.start());
            let room = || NoRoom(name.clone());
            config.layout = config.layout.moved(start).ok_or_else(room)?;
            if old.is_none_or(|old| *old != Place::of(config)) {
                config.layout = config.layout.moved(new.end).ok_or_else(room)?;
                new.end = config.layout.end();
                if new.end > lines {
                    return Err(room());
                }
            }
            new.tables.insert(name.clone(), Place::of(config));
        }
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn placed(before: &Placement, instances: &str) -> Result<(Placement, Vec<Layout>), NoRoom> {
        let text = format!("[gateway]\nname = \"edge\"\n{instances}");
        let loaded = crate::config::parse("edge.toml", "edge", text, Path::new("")).unwrap();
        let mut compiled = loaded.document.compile(&[7; 6]).unwrap();
        let placement = before.place(&loaded.document, &mut compiled, 60_000)?;
        let layouts = compiled
            .instances
            .iter()
            .filter_map(|compiled| Some(compiled.instance.mechanism.nat()?.layout))
            .collect();
        Ok((placement, layouts))
    }

    fn instance(name: &str, number: u8, more: &str) -> String {
        format!(
            "[[instance]]\nname = \"{name}\"\nmechanism = \"nat64\"\n\
             prefix = \"2001:db8:{number}::/96\"\n\
             pool = [{{ addresses = \"203.0.113.{number}/32\", ports = \"1024-65535\" }}]\n{more}\n"
        )
    }

    const SMALL: &str = "max-sessions = 1000\nmax-bindings = 1000";

    #[test]
    fn tables_stay_whatever_happens_around_them() {
        let (a, b) = (instance("a", 1, SMALL), instance("b", 2, SMALL));
        let (first, layouts) = placed(&Placement::default(), &format!("{a}{b}")).unwrap();
        assert_eq!(layouts[0].end(), layouts[1].start());
        // One goes: the other stays where it is, and its old place is not used again.
        let (second, left) = placed(&first, &b).unwrap();
        assert_eq!(left, layouts[1..]);
        let (_, again) = placed(&second, &format!("{b}{a}")).unwrap();
        assert_eq!(again[0], layouts[1]);
        assert!(again[1].start() >= layouts[1].end());
    }

    #[test]
    fn other_sizes_or_other_subscribers_are_other_tables() {
        let (first, before) = placed(&Placement::default(), &instance("a", 1, SMALL)).unwrap();
        for more in [
            "max-sessions = 1000\nmax-bindings = 2000",
            "max-sessions = 1000\nmax-bindings = 1000\nsubscriber-prefix = 56",
        ] {
            let (_, after) = placed(&first, &instance("a", 1, more)).unwrap();
            assert!(after[0].start() >= before[0].end(), "{more}");
        }
        let timers = format!("{SMALL}\n[instance.timers]\nudp = 400");
        let (_, after) = placed(&first, &instance("a", 1, &timers)).unwrap();
        assert_eq!(after, before);
    }

    #[test]
    fn there_is_an_end_to_it() {
        let (first, _) = placed(&Placement::default(), &instance("a", 1, SMALL)).unwrap();
        let error = placed(&first, &instance("a", 1, "max-sessions = 20000")).unwrap_err();
        assert!(error.to_string().contains("\"a\""), "{error}");
    }
}
