//! Counts sessions by something, in one walk over the tables and in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::ControlFlow;
use std::sync::Arc;

use isthmus_core::nat::{self, Protocol};
use isthmus_core::time::{Instant, Span};
use isthmus_engine::memory::Region;

use super::clock;
use super::tables::Table;
use crate::config::Choice;
use crate::control::{By, Carried, Most, Top, TopRequest, TopRow};
use crate::records::ANY_PROTOCOL;

/// A session is new for so many seconds. Every session lives longer.
const NEW: u64 = 10;
/// Names that are counted at a time: some megabytes. Up to as many are counted exactly.
const NAMES: usize = 65_536;

/// What a session is counted by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Subscriber(IpAddr),
    /// A /24.
    Remote(Ipv4Addr),
    Port(Protocol, u16),
    /// All ports of all protocols.
    Any,
    Instance(Arc<str>),
}

impl Name {
    fn of(by: By, table: &Table, session: &nat::Session) -> Self {
        match by {
            By::Subscriber => {
                Self::Subscriber(nat::subscriber_of(&table.config, &session.binding.inside).host())
            }
            By::Remote => {
                let [a, b, c, _] = Ipv4Addr::from(session.remote.address).octets();
                Self::Remote(Ipv4Addr::new(a, b, c, 0))
            }
            By::Port if table.of_addresses => Self::Any,
            By::Port => Self::Port(session.binding.protocol, session.remote.port),
            By::Instance => Self::Instance(Arc::clone(&table.name)),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Subscriber(address) => address.to_string(),
            Self::Remote(network) => format!("{network}/24"),
            Self::Any => ANY_PROTOCOL.into(),
            Self::Port(Protocol::Icmp, _) => Protocol::Icmp.name().into(),
            Self::Port(protocol, port) => format!("{} {port}", protocol.name()),
            Self::Instance(name) => name.to_string(),
        }
    }
}

/// Sessions by name, and what they carried. If there are more names than are counted, all counts go down together, and those that reach 0 make
/// room (Misra and Gries, 1982): whoever has many sessions stays, and how many it may have more is known.
struct Tally<N> {
    counts: HashMap<N, Count>,
    most: usize,
    taken: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    sessions: u64,
    new: u64,
    carried: Option<Carried>,
}

impl Count {
    /// One session more.
    fn add(&mut self, one: Self) {
        self.sessions += one.sessions;
        self.new += one.new;
        if let Some(carried) = one.carried {
            *self.carried.get_or_insert_default() += carried;
        }
    }

    /// The number that decides who comes first.
    fn key(&self, most: Most) -> u64 {
        let carried = self.carried.unwrap_or_default();
        match most {
            Most::Sessions => self.sessions,
            Most::New => self.new,
            Most::Packets => carried.packets(),
            Most::Bytes => carried.bytes(),
        }
    }
}

impl<N: Hash + Eq> Tally<N> {
    fn new(most: usize) -> Self {
        Self {
            counts: HashMap::new(),
            most,
            taken: 0,
        }
    }

    fn count(&mut self, name: N, one: Count) {
        if self.counts.len() >= self.most && !self.counts.contains_key(&name) {
            self.taken += 1;
            self.counts.retain(|_, count| {
                count.sessions -= 1;
                count.sessions > 0
            });
            return;
        }
        self.counts.entry(name).or_default().add(one);
    }

    /// Those with most of something, from the first.
    fn first(self, limit: usize, most: Most) -> Vec<(N, Count)> {
        let mut all: Vec<_> = self.counts.into_iter().collect();
        let key = |(_, count): &(N, Count)| (count.key(most), count.sessions, count.new);
        let order = |one: &(N, Count), other: &(N, Count)| key(other).cmp(&key(one));
        if limit < all.len() {
            all.select_nth_unstable_by(limit, order);
            all.truncate(limit);
        }
        all.sort_by(order);
        all
    }
}

/// Those with most sessions, or most of something else. Reads the tables beside the packet path, which does not wait.
pub(super) fn top(memory: &Region, tables: &[Table], request: TopRequest) -> Top {
    let now = clock::now();
    let since = Instant(now.0.saturating_sub(Span::from_secs(NEW).0));
    let mut tally = Tally::new(NAMES);
    let (mut sessions, mut new) = (0, 0);
    for table in tables {
        let all = 0..table.config.layout.buckets();
        let _to_the_end = nat::sessions(memory, &table.config, all, |session| {
            let one = Count {
                sessions: 1,
                new: u64::from(session.binding.created >= since),
                carried: session.traffic.map(Carried::from),
            };
            sessions += 1;
            new += one.new;
            tally.count(Name::of(request.by, table, &session), one);
            ControlFlow::Continue(())
        });
    }
    let per_second = |new: u64| new as f64 / NEW as f64;
    Top {
        sessions,
        new_per_second: per_second(new),
        uncertain: tally.taken,
        counted: tables
            .iter()
            .any(|table| table.config.layout.capacity().traffic),
        rows: tally
            .first(request.limit as usize, request.most)
            .into_iter()
            .map(|(name, count)| TopRow {
                name: name.text(),
                sessions: count.sessions,
                new_per_second: per_second(count.new.min(count.sessions)),
                carried: count.carried,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn one(is_new: bool, bytes_in: u64) -> Count {
        Count {
            sessions: 1,
            new: is_new as u64,
            carried: Some(Carried {
                packets_out: 1,
                bytes_out: 0,
                packets_in: 0,
                bytes_in,
            }),
        }
    }

    #[test]
    fn whoever_has_most_comes_first() {
        for (most, expected) in [
            (Most::Sessions, ["b", "d", "a"]),
            (Most::New, ["d", "a", "c"]),
            (Most::Packets, ["b", "d", "a"]),
            (Most::Bytes, ["c", "a", "d"]),
        ] {
            let mut tally = Tally::new(8);
            for (name, sessions, new, bytes) in [
                ("a", 3, 1, 50),
                ("b", 9, 0, 1),
                ("c", 1, 1, 700),
                ("d", 3, 2, 5),
            ] {
                for number in 0..sessions {
                    tally.count(name, one(number < new, bytes));
                }
            }
            let first = tally.first(3, most).into_iter();
            assert_eq!(first.map(|(name, _)| name).collect::<Vec<_>>(), expected);
        }
    }

    /// A million sessions of as many names: the memory is that of a few, and whoever has many is among them.
    #[test]
    fn many_names_hide_nobody_with_many_sessions() {
        let mut tally = Tally::new(100);
        for number in 0..1_000_000 {
            tally.count(number, one(false, 0));
            if number % 20 == 0 {
                tally.count(-1, one(false, 0));
            }
        }
        assert!(tally.counts.len() <= 100);
        let taken = tally.taken;
        let (name, count) = tally.first(1, Most::Sessions).pop().unwrap();
        assert_eq!(name, -1);
        assert!(
            count.sessions <= 50_000 && count.sessions + taken >= 50_000,
            "{count:?} {taken}"
        );
    }
}
