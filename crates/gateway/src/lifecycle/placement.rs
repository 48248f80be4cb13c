//! The places of tables in the memory of sessions, across reloads.
//!
//! An instance is known by its name. If its tables keep their sizes, and it assigns ports to subscribers in the same
//! way, its tables stay with all their entries. Otherwise it gets new tables, and the old ones are freed. Their memory
//! rests for a while before it is used again: until then, writes of packets under the old configuration do no harm.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use isthmus_core::datagrams::BorderDatagrams;
use isthmus_core::mechanism::Mechanism as _;
use isthmus_core::nat::{Blocks, Capacity, Layout, NatConfig};
use isthmus_core::table::Memory;
use serde::{Deserialize, Serialize};

use crate::config::{Compiled, Document};

/// How long memory that was given up is left alone. Packets take microseconds, but their threads may be
/// kept from running.
const REST: Duration = Duration::from_secs(10);

/// The tables of one configuration, and where the next would go.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    tables: BTreeMap<String, Place>,
    /// The lines that were given up and lie below the end, in order.
    free: Vec<Free>,
    /// The line after all of them. There has never been anything from here on, if not below `used`.
    end: u32,
    used: u32,
}

/// Lines that were given up, and when.
#[derive(Clone, Debug)]
struct Free {
    lines: Range<u32>,
    since: Instant,
}

impl Default for Placement {
    /// Nothing but the path MTUs of tunnels and the datagrams of borders, which stay where they are.
    fn default() -> Self {
        Self {
            tables: BTreeMap::new(),
            free: Vec::new(),
            end: BorderDatagrams::LINES.end,
            used: BorderDatagrams::LINES.end,
        }
    }
}

/// Tables, and what of their configuration the entries depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    layout: Layout,
    /// Who is a subscriber, and which ports are one's; as text, for notes that other versions read.
    terms: String,
}

impl Place {
    fn of(config: &NatConfig) -> Self {
        // The pool, where blocks are calculated from it.
        let pool = match config.blocks {
            Blocks::Deterministic(_) => config.pool.ranges(),
            Blocks::None | Blocks::PortSet | Blocks::Dynamic { .. } => &[],
        };
        Self {
            layout: config.layout,
            terms: format!("{:?} {:?} {pool:?}", config.subscriber, config.blocks),
        }
    }
}

/// A place in a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Noted {
    start: u32,
    sessions: u32,
    bindings: u32,
    permissions: u32,
    subscribers: u32,
    fragments: u32,
    #[serde(default)]
    traffic: bool,
    terms: String,
}

impl Noted {
    fn of(place: &Place) -> Self {
        let Capacity {
            sessions,
            bindings,
            permissions,
            subscribers,
            fragments,
            traffic,
        } = place.layout.capacity();
        Self {
            start: place.layout.start(),
            sessions,
            bindings,
            permissions,
            subscribers,
            fragments,
            traffic,
            terms: place.terms.clone(),
        }
    }

    /// The place, if it lies within so many lines.
    fn place(&self, lines: u32) -> Option<Place> {
        let capacity = Capacity {
            sessions: self.sessions,
            bindings: self.bindings,
            permissions: self.permissions,
            subscribers: self.subscribers,
            fragments: self.fragments,
            traffic: self.traffic,
        };
        // An entry takes a line at least, and tables are not much larger than that.
        let entries = [
            self.sessions,
            self.bindings,
            self.permissions,
            self.subscribers,
            self.fragments,
        ];
        let entries: u64 = entries.into_iter().map(u64::from).sum();
        if entries > lines.into() || self.start > lines || lines > MOST_LINES {
            return None;
        }
        let layout = Layout::new(self.start, &capacity);
        (layout.end() <= lines).then(|| Place {
            layout,
            terms: self.terms.clone(),
        })
    }
}

/// Lines of a note at most, so that nothing computed from it overflows.
const MOST_LINES: u32 = 1 << 29;

/// There is no room for the tables of this instance.
#[derive(Debug, thiserror::Error)]
#[error(
    "the tables of instance {0:?} do not fit the memory that the gateway reserved at its start: restart the gateway (memory that a reload freed is available again after {rest} s)",
    rest = REST.as_secs()
)]
pub(super) struct NoRoom(String);

impl Placement {
    /// The tables, for a note.
    pub(super) fn note(&self) -> BTreeMap<String, Noted> {
        let tables = self.tables.iter();
        tables
            .map(|(name, place)| (name.clone(), Noted::of(place)))
            .collect()
    }

    /// The placement of a note, in memory of so many lines: `None` if that cannot be. What lies between the tables
    /// is free, and may hold anything.
    pub(super) fn noted(
        tables: &BTreeMap<String, Noted>,
        lines: u32,
        now: Instant,
    ) -> Option<Self> {
        let since = now.checked_sub(REST).unwrap_or(now);
        let places = tables.iter();
        let places = places.map(|(name, noted)| Some((name.clone(), noted.place(lines)?)));
        let tables: BTreeMap<String, Place> = places.collect::<Option<_>>()?;
        let mut new = Self {
            used: lines,
            ..Self::default()
        };
        let mut layouts: Vec<Layout> = tables.values().map(|place| place.layout).collect();
        layouts.sort_by_key(Layout::start);
        for layout in layouts {
            if layout.start() < new.end {
                return None;
            }
            let lines = new.end..layout.start();
            if !lines.is_empty() {
                new.free.push(Free { lines, since });
            }
            new.end = layout.end();
        }
        new.tables = tables;
        Some(new)
    }

    /// The line after all tables.
    pub(super) const fn end(&self) -> u32 {
        self.end
    }

    /// The names of the tables that are where they were before.
    pub(super) fn staying<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let same = |(name, place): &(&'a String, &Place)| before.tables.get(*name) == Some(place);
        self.tables
            .iter()
            .filter(same)
            .map(|(name, _)| name.as_str())
    }

    /// The names of the tables that are not there any more.
    pub(super) fn gone<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let stays = |name: &str| self.staying(before).any(|stays| stays == name);
        before
            .tables
            .keys()
            .map(String::as_str)
            .filter(move |name| !stays(name))
    }

    /// Moves the tables of `compiled` to their places. Returns the placement then, and the
    /// lines that have to be [cleared](clear) before they are used again. There are `lines` lines in all.
    pub(super) fn place(
        &self,
        document: &Document,
        compiled: &mut Compiled,
        lines: u32,
        now: Instant,
    ) -> Result<(Self, Vec<Range<u32>>), NoRoom> {
        let mut new = self.rested(now);
        let mut again = Vec::new();
        let mut given_up = std::mem::take(&mut new.tables);
        for (document, compiled) in document.instances.iter().zip(&mut compiled.instances) {
            let Some(config) = compiled.mechanism.nat_mut() else {
                continue;
            };
            let name = &document.name.value;
            let room = || NoRoom(name.clone());
            let old = self.tables.get(name);
            let stays = old.and_then(|old| {
                config.layout = config.layout.moved(old.layout.start())?;
                (*old == Place::of(config)).then_some(())
            });
            if stays.is_some() {
                given_up.remove(name);
            } else {
                let size = config.layout.end() - config.layout.start();
                let found = new.take(size, lines, now).ok_or_else(room)?;
                config.layout = config.layout.moved(found.start).ok_or_else(room)?;
                again.push(found.start..found.end.min(self.used));
            }
            new.tables.insert(name.clone(), Place::of(config));
        }
        for Place { layout, .. } in given_up.into_values() {
            let lines = layout.start()..layout.end();
            new.free.push(Free { lines, since: now });
        }
        new.free.sort_by_key(|free| free.lines.start);
        again.retain(|lines| !lines.is_empty());
        Ok((new, again))
    }

    /// The same with what has rested joined, and gone where it is the last.
    fn rested(&self, now: Instant) -> Self {
        let mut new = self.clone();
        new.free.clear();
        for free in &self.free {
            let joins = |last: &&mut Free| {
                last.lines.end == free.lines.start && last.has_rested(now) && free.has_rested(now)
            };
            match new.free.last_mut().filter(joins) {
                Some(last) => last.lines.end = free.lines.end,
                None => new.free.push(free.clone()),
            }
        }
        let last = |free: &mut Free| free.has_rested(now) && free.lines.end == self.end;
        if let Some(last) = new.free.pop_if(last) {
            new.end = last.lines.start;
        }
        new
    }

    /// Takes so many lines: of what has rested, or behind all others.
    fn take(&mut self, size: u32, lines: u32, now: Instant) -> Option<Range<u32>> {
        let fits = |free: &&mut Free| free.lines.len() >= size as usize && free.has_rested(now);
        if let Some(Free { lines, .. }) = self.free.iter_mut().find(fits) {
            let taken = lines.start..lines.start + size;
            lines.start = taken.end;
            self.free.retain(|free| !free.lines.is_empty());
            return Some(taken);
        }
        let end = self.end.checked_add(size).filter(|end| *end <= lines)?;
        let taken = self.end..end;
        self.end = end;
        self.used = self.used.max(end);
        Some(taken)
    }
}

impl Free {
    fn has_rested(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= REST
    }
}

/// Clears lines that are not used. Memory that was never written stays so.
pub(super) fn clear<M: Memory + ?Sized>(state: &M, lines: Range<u32>) {
    for word in lines.filter_map(|number| state.line(number)).flatten() {
        if word.load(Ordering::Relaxed) != 0 {
            word.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn placed(before: &Placement, instances: &str) -> Result<(Placement, Vec<Layout>), NoRoom> {
        let (placement, layouts, _) = placed_at(before, instances, Instant::now())?;
        Ok((placement, layouts))
    }

    type Placed = (Placement, Vec<Layout>, Vec<Range<u32>>);

    fn placed_at(before: &Placement, instances: &str, now: Instant) -> Result<Placed, NoRoom> {
        let text = format!("[gateway]\nname = \"edge\"\n{instances}");
        let loaded = crate::config::parse("edge.toml", "edge", text, Path::new("")).unwrap();
        let mut compiled = loaded.document.compile(&[7; 8].into()).unwrap();
        let (placement, again) = before.place(&loaded.document, &mut compiled, 60_000, now)?;
        let layouts = compiled
            .instances
            .iter()
            .filter_map(|compiled| Some(compiled.mechanism.nat()?.layout))
            .collect();
        Ok((placement, layouts, again))
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
        // One goes: the other stays where it is, and its old place is not used again at once.
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
    fn memory_that_was_given_up_rests_and_is_used_again() {
        let (a, b, c) = (
            instance("a", 1, SMALL),
            instance("b", 2, SMALL),
            instance("c", 3, SMALL),
        );
        let begin = Instant::now();
        let later = begin + REST;
        let (first, before, fresh) =
            placed_at(&Placement::default(), &format!("{a}{b}{c}"), begin).unwrap();
        assert_eq!(fresh, []);
        let (second, left, _) = placed_at(&first, &c, begin).unwrap();
        assert_eq!(left, before[2..]);
        // Both places that are free now are one, which is cleared as far as it is used.
        let large = instance("d", 4, "max-sessions = 2000\nmax-bindings = 1000");
        let both = before[0].start()..before[1].end();
        let at = |now| placed_at(&second, &format!("{c}{large}"), now).unwrap();
        let (_, early, again) = at(later - Duration::from_millis(1));
        assert!(early[1].start() >= before[2].end() && again.is_empty());
        let (third, late, again) = at(later);
        assert_eq!(late[0], before[2]);
        assert_eq!(late[1].start(), both.start);
        assert!(late[1].end() <= both.end);
        assert_eq!(again.len(), 1);
        assert_eq!(again[0], late[1].start()..late[1].end());
        // The next table gets the rest of it.
        let all = format!(
            "{c}{large}{}",
            instance("e", 5, "max-sessions = 100\nmax-bindings = 100")
        );
        let (_, after, _) = placed_at(&third, &all, later).unwrap();
        assert_eq!(after[2].start(), late[1].end());
    }

    #[test]
    fn a_gateway_may_change_for_ever() {
        let mut placement = Placement::default();
        let mut now = Instant::now();
        for number in 0..100 {
            let name = format!("n{number}");
            (placement, ..) = placed_at(&placement, &instance(&name, 1, SMALL), now).unwrap();
            now += REST;
        }
    }

    #[test]
    fn there_is_an_end_to_it() {
        let (first, _) = placed(&Placement::default(), &instance("a", 1, SMALL)).unwrap();
        let error = placed(&first, &instance("a", 1, "max-sessions = 20000")).unwrap_err();
        assert!(error.to_string().contains("\"a\""), "{error}");
    }

    #[test]
    fn a_note_brings_tables_back_to_their_places() {
        let (a, b, c) = (
            instance("a", 1, SMALL),
            instance("b", 2, SMALL),
            instance("c", 3, SMALL),
        );
        let (first, _) = placed(&Placement::default(), &format!("{a}{b}{c}")).unwrap();
        let (second, before) = placed(&first, &format!("{a}{c}")).unwrap();
        let now = Instant::now();
        let again = Placement::noted(&second.note(), 60_000, now).unwrap();
        assert_eq!(again.note(), second.note());
        let more = instance("d", 4, SMALL);
        let all = format!("{more}{c}{a}");
        let (third, after, cleared) = placed_at(&again, &all, now).unwrap();
        assert_eq!([after[2], after[1]], before[..]);
        // The place of `b` is free at once, and may hold anything.
        let lines = before[0].end()..before[1].start();
        assert_eq!(after[0].start()..after[0].end(), lines);
        assert_eq!(cleared[..], [lines]);
        assert_eq!(third.staying(&again).collect::<Vec<_>>(), ["a", "c"]);
        let (fourth, _) = placed(
            &again,
            &instance("a", 1, "max-sessions = 2000\nmax-bindings = 1000"),
        )
        .unwrap();
        assert_eq!(fourth.gone(&again).collect::<Vec<_>>(), ["a", "c"]);
    }

    #[test]
    fn a_note_that_cannot_be_is_refused() {
        let (first, layouts) = placed(&Placement::default(), &instance("a", 1, SMALL)).unwrap();
        let noted = |change: &dyn Fn(&mut Noted), lines| {
            let mut note = first.note();
            let mut other = note["a"].clone();
            change(&mut other);
            note.insert("b".into(), other);
            Placement::noted(&note, lines, Instant::now()).is_some()
        };
        let end = layouts[0].end();
        let behind = |noted: &mut Noted| noted.start = end;
        assert!(noted(&behind, 60_000));
        assert!(
            !noted(&behind, 2 * end - layouts[0].start() - 1),
            "too little memory"
        );
        assert!(!noted(&|_| {}, 60_000), "at one place");
        assert!(!noted(&|noted| noted.start = end - 1, 60_000));
        let first = |noted: &mut Noted| (noted.start, noted.sessions) = (0, 1);
        assert!(!noted(&first, 60_000), "where the path MTUs are");
        for most in [u32::MAX, 1 << 29] {
            let large = |noted: &mut Noted| (noted.start, noted.bindings) = (end, most);
            assert!(!noted(&large, u32::MAX) && !noted(&large, 1 << 29));
        }
    }

    /// Other versions compare it: another text for the same ends sessions.
    #[test]
    fn the_terms_of_a_note_are_these() {
        let terms = |more: &str| {
            let (placement, _) = placed(&Placement::default(), &instance("a", 1, more)).unwrap();
            placement.note()["a"].terms.clone()
        };
        let small = format!("{SMALL}\nmax-subscribers = 64");
        let of_network = "Subscriber { address: [18446744073709551615, 0], v4: 0 }";
        assert_eq!(terms(&small), format!("{of_network} None []"));
        assert_eq!(
            terms(&format!("{small}\nport-blocks = {{ size = 256 }}")),
            format!("{of_network} Dynamic {{ size: 256, per_subscriber: 4 }} []")
        );
        let calculated = "deterministic = { inside = \"2001:db8::/59\", size = 1024 }";
        assert_eq!(
            terms(&format!("{small}\n{calculated}")),
            format!(
                "{of_network} Deterministic(Deterministic {{ prefix: [2306139568115548160, 0], \
                 mask: [18446744073709551584, 0], shift: 64, size: 1024 }}) \
                 [PoolRange {{ first: 3405803777, count: 1, low: 1024, high: 65535, before: 0 }}]"
            )
        );
    }
}
