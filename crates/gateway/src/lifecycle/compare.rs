//! The changes that another configuration would make, told before it is in force: by the rules of a reload itself.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isthmus_core::nat;
use isthmus_engine::memory::Region;

use super::UpError;
use super::described::{self, Described};
use super::origin;
use super::placement::Placement;
use super::reload::restart_only;
use super::start::{self, LaidOut};
use super::tables::{Future, Table};
use crate::change::{self, Counted, Differences, Fate, InstanceChange, Sessions};
use crate::config::{Document, Loaded, Secrets};
use crate::link::Wanted;

/// Any: no one meets packets under it.
const SECRETS: [u64; 8] = [0; 8];

/// A configuration, laid out.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) text: &'a str,
    pub(super) document: &'a Document,
    pub(super) described: &'a [Described],
    pub(super) tables: &'a [Table],
}

impl<'a> Side<'a> {
    /// The configuration of a file.
    pub(super) fn of(text: &'a str, document: &'a Document, laid_out: &'a LaidOut) -> Self {
        Self {
            text,
            document,
            described: &laid_out.described,
            tables: &laid_out.tables,
        }
    }
}

/// Returns what would change if the gateway of `before` reloaded `after`.
///
/// # Errors
///
/// If one of them asks for what the data plane cannot do.
pub fn differences(before: &Loaded, after: &Loaded) -> Result<Differences, UpError> {
    let secrets = Secrets::from(SECRETS);
    let lay_out = |loaded: &Loaded, placement: &Placement| {
        start::lay_out(&loaded.document, &secrets, placement, u32::MAX)
    };
    let old = lay_out(before, &Placement::default())?;
    let new = lay_out(after, &old.placement)?;
    let old = Side::of(origin::text(before), &before.document, &old);
    let new = Side::of(origin::text(after), &after.document, &new);
    Ok(between(old, new, None))
}

/// The differences, with the sessions in `memory` counted if a gateway runs.
pub(super) fn between(old: Side<'_>, new: Side<'_>, memory: Option<&Region>) -> Differences {
    let turns = described::differences(old.described, new.described);
    let instances = turns.into_iter().map(|(instance, change)| {
        let table = old.tables.iter().find(|table| *table.name == *instance);
        InstanceChange {
            sessions: table.map(|table| sessions(table, new.tables, memory)),
            instance,
            change,
        }
    });
    let restart = restart_only(old.document, new.document);
    Differences {
        keys: change::between(&change::written(old.text), &change::written(new.text)),
        instances: instances.collect(),
        link: link(&Wanted::of(old.document), &Wanted::of(new.document)),
        restart: restart.into_iter().map(str::to_owned).collect(),
    }
}

/// Returns what becomes of the sessions of a table if there are the tables `then`.
fn sessions(table: &Table, then: &[Table], memory: Option<&Region>) -> Sessions {
    let future = table.future(then);
    let fate = match future {
        Future::Ends => Fate::End,
        Future::Stays(heir) if heir.admits_all_of(table) => Fate::LiveOn,
        Future::Stays(_) => Fate::Judged,
    };
    let counted = memory.map(|memory| {
        let mut counted = Counted { ending: 0, all: 0 };
        let all = 0..table.config.layout.buckets();
        let _ = nat::sessions(memory, &table.config, all, |session| {
            let ends = match future {
                Future::Ends => true,
                Future::Stays(heir) => !heir.admits(&session),
            };
            counted.all += 1;
            counted.ending += u64::from(ends);
            ControlFlow::Continue(())
        });
        counted
    });
    Sessions { fate, counted }
}

/// Routes and addresses that come or go, one line each.
fn link(old: &Wanted, new: &Wanted) -> Vec<String> {
    fn lines<T: Ord + std::fmt::Display>(
        what: &str,
        old: &BTreeSet<T>,
        new: &BTreeSet<T>,
    ) -> Vec<String> {
        let added = new.difference(old);
        let removed = old.difference(new);
        added
            .map(|it| format!("{what} {it} added"))
            .chain(removed.map(|it| format!("{what} {it} removed")))
            .collect()
    }
    let mut all = lines("address", &old.addresses, &new.addresses);
    all.extend(lines("route", &old.routes, &new.routes));
    all.extend(lines("route of packets from", &old.sources, &new.sources));
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::change::Turn;

    const PLAT: &str = "[[instance]]\nname = \"plat\"\nmechanism = \"nat64\"\nprefix = \"2001:db8::/96\"\n\
        pool = [{ addresses = \"203.0.113.0/28\", ports = \"1024-65535\" }]\nmax-sessions = 1000\n\
        max-bindings = 1000\n";
    const LOCAL: &str = "[[instance]]\nname = \"local\"\nmechanism = \"siit\"\n\
        prefix = \"2001:db8:64::/96\"\nhosts = [\"198.51.100.0/24\"]\n";

    fn load(text: &str) -> Loaded {
        let text = format!("[gateway]\nname = \"edge\"\n{text}");
        crate::config::parse("edge.toml", "edge", text, Path::new("")).unwrap()
    }

    fn told(before: &str, after: &str) -> Differences {
        differences(&load(before), &load(after)).unwrap()
    }

    fn fate(after: &str) -> Option<Fate> {
        let differences = told(PLAT, after);
        let [change] = &differences.instances[..] else {
            panic!("{differences:?}");
        };
        assert_eq!((&*change.instance, change.change), ("plat", Turn::Changed));
        Some(change.sessions?.fate)
    }

    #[test]
    fn files_that_mean_the_same_do_not_differ() {
        let other = format!("# A comment.\n{PLAT}").replace("1000", "1_000");
        assert_eq!(told(PLAT, &other), Differences::default());
    }

    #[test]
    fn no_example_differs_from_itself() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "toml") {
                let load = || crate::config::load(&path).unwrap();
                let told = differences(&load(), &load()).unwrap();
                assert_eq!(told, Differences::default(), "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 20);
    }

    /// The rule of reloads: docs/running.md.
    #[test]
    fn the_fate_of_sessions_is_that_of_a_reload() {
        let timers = format!("{PLAT}[instance.timers]\nudp = 400\n");
        assert_eq!(fate(&timers), Some(Fate::LiveOn));
        for judged in [
            PLAT.replace("203.0.113.0/28", "203.0.113.0/29"),
            format!("{PLAT}inside = [\"2001:db8:1::/64\"]\n"),
        ] {
            assert_eq!(fate(&judged), Some(Fate::Judged), "{judged}");
        }
        for anew in [
            PLAT.replace("max-sessions = 1000", "max-sessions = 2000"),
            format!("{PLAT}subscriber-prefix = 56\n"),
        ] {
            assert_eq!(fate(&anew), Some(Fate::End), "{anew}");
        }
    }

    #[test]
    fn instances_and_routes_come_and_go() {
        let differences = told(&format!("{PLAT}{LOCAL}"), LOCAL);
        let [gone] = &differences.instances[..] else {
            panic!("{differences:?}");
        };
        assert_eq!((&*gone.instance, gone.change), ("plat", Turn::Removed));
        assert_eq!(gone.sessions.unwrap().fate, Fate::End);
        let route = "route 2001:db8::/96 removed".to_owned();
        assert!(differences.link.contains(&route), "{differences:?}");
        let back = told(LOCAL, &format!("{PLAT}{LOCAL}"));
        assert_eq!(back.instances[0].change, Turn::Added);
        assert_eq!(back.instances[0].sessions, None);
    }

    #[test]
    fn what_only_a_restart_changes_is_named() {
        let queues = format!("[tun]\nqueues = 2\n{PLAT}");
        let differences = told(PLAT, &queues);
        assert_eq!(differences.restart, ["`queues` of [tun]"]);
        assert_eq!(differences.instances, []);
        assert_eq!(differences.keys.len(), 1);
    }
}
