//! Counters by the name of their instance.
//!
//! Engines count by the place of an instance in the configuration; a reload may move it. The
//! ledger keeps what was counted for a name while it was elsewhere.

use std::collections::BTreeMap;

use isthmus_core::reason::Counter;
use isthmus_engine::counters::{Owner, Snapshot};

use crate::control::CounterRow;

/// The counters of one engine, by owner.
pub(super) type Reading = Vec<(Owner, Snapshot)>;

/// The counts from before the last reload.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Names of the instances at their places.
    names: Vec<String>,
    /// By engine and name of the instance: what was counted for it before its last move.
    carried: BTreeMap<(String, String), Snapshot>,
    /// By engine and place: what had been counted there when its owner moved in.
    since: BTreeMap<(String, usize), Snapshot>,
}

impl Ledger {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// The instances stand at other places from now on.
    pub(super) fn rename(&mut self, names: Vec<String>, readings: &[(String, Reading)]) {
        if names == self.names {
            return;
        }
        for (engine, reading) in readings {
            for (owner, now) in reading {
                let Owner::Instance(index) = owner else {
                    continue;
                };
                let place = *index as usize;
                let counted = self.since_move(engine, place, now);
                if let Some(name) = self.names.get(place) {
                    let key = (engine.clone(), name.clone());
                    *self.carried.entry(key).or_default() += &counted;
                }
                self.since.insert((engine.clone(), place), now.clone());
            }
        }
        self.names = names;
    }

    /// All counters, with names.
    pub(super) fn rows(&self, readings: &[(String, Reading)]) -> Vec<CounterRow> {
        let mut rows = Vec::new();
        for (engine, reading) in readings {
            for (owner, now) in reading {
                let (name, values) = match owner {
                    Owner::Gateway => (String::new(), now.clone()),
                    Owner::Instance(index) => {
                        let place = *index as usize;
                        let Some(name) = self.names.get(place) else {
                            continue;
                        };
                        let mut values = self.since_move(engine, place, now);
                        if let Some(carried) = self.carried.get(&(engine.clone(), name.clone())) {
                            values += carried;
                        }
                        (name.clone(), values)
                    }
                };
                rows.extend(Counter::ALL.iter().map(|counter| CounterRow {
                    instance: name.clone(),
                    engine: engine.clone(),
                    counter: counter.name().into(),
                    kind: counter.kind().name().into(),
                    value: values.get(*counter),
                }));
            }
        }
        rows
    }

    fn since_move(&self, engine: &str, place: usize, now: &Snapshot) -> Snapshot {
        match self.since.get(&(engine.to_owned(), place)) {
            Some(before) => now.since(before),
            None => now.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_engine::counters::Counters;

    fn readings(counters: &Counters) -> Vec<(String, Reading)> {
        let owners = [Owner::Gateway, Owner::Instance(0), Owner::Instance(1)];
        let reading = owners.map(|owner| (owner, counters.read(owner))).to_vec();
        vec![("user".into(), reading)]
    }

    fn value(rows: &[CounterRow], instance: &str) -> Option<u64> {
        rows.iter()
            .find(|row| row.instance == instance && row.counter == "translated-6to4")
            .map(|row| row.value)
    }

    #[test]
    fn counts_follow_a_name_to_its_new_place() {
        let counters = Counters::default();
        let mut ledger = Ledger::new(vec!["a".into(), "b".into()]);
        counters.add(Owner::Instance(0), Counter::Translated6To4, 5);
        counters.add(Owner::Instance(1), Counter::Translated6To4, 7);
        ledger.rename(vec!["b".into()], &readings(&counters));
        counters.add(Owner::Instance(0), Counter::Translated6To4, 10);
        let rows = ledger.rows(&readings(&counters));
        assert_eq!(value(&rows, "b"), Some(17));
        assert_eq!(value(&rows, "a"), None);
        ledger.rename(
            vec!["c".into(), "a".into(), "b".into()],
            &readings(&counters),
        );
        let rows = ledger.rows(&readings(&counters));
        assert_eq!(value(&rows, "a"), Some(5));
        assert_eq!(value(&rows, "c"), Some(0));
    }
}
