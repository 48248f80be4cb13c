//! Records that are missing: suppressed by the gateway, or damaged since.

use std::collections::VecDeque;
use std::ops::{Add, Sub};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::time::later;

/// Time from an event to the report that its record was suppressed, at most: it is found within two seconds, and
/// reported within one more.
const LATE: SignedDuration = SignedDuration::from_secs(3);
/// Reports that are remembered: those of the last seconds.
const RECENT: usize = 8;

/// Numbers of records that are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Amount {
    /// All of them.
    pub records: u64,
    /// Those that tell who has a port.
    pub bindings: u64,
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            records: self.records + other.records,
            bindings: self.bindings + other.bindings,
        }
    }
}

impl Sub for Amount {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            records: self.records.saturating_sub(before.records),
            bindings: self.bindings.saturating_sub(before.bindings),
        }
    }
}

/// The missing records of one gateway while its records are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    /// All so far.
    total: Amount,
    /// Those that may be of the time that is asked about, or earlier.
    until_then: Amount,
    /// The counts that the process told last.
    told: (u64, Option<u64>),
    /// When they were told, with all until then.
    recent: VecDeque<(Timestamp, Amount)>,
}

impl Missing {
    /// A process begins, which counts from 0.
    pub(super) fn restart(&mut self) {
        self.told = Default::default();
    }

    /// A process says how many it suppressed since its start. `end` is the end of the time that is asked about.
    pub(super) fn report(
        &mut self,
        time: Timestamp,
        (records, bindings): (u64, Option<u64>),
        end: Timestamp,
    ) {
        // A count that is lower is another process's, whose start was not recorded.
        if records < self.told.0 {
            self.restart();
        }
        let (told, told_bindings) = self.told;
        let new = records - told;
        let new_bindings =
            bindings.map_or(new, |now| now.saturating_sub(told_bindings.unwrap_or(0)));
        self.told = (records, bindings);
        let amount = Amount {
            records: new,
            bindings: new_bindings,
        };
        self.add(time, amount, end);
    }

    /// A line that cannot be read may have been any record.
    pub(super) fn damaged(&mut self, time: Timestamp, end: Timestamp) {
        let amount = Amount {
            records: 1,
            bindings: 1,
        };
        self.add(time, amount, end);
    }

    fn add(&mut self, time: Timestamp, amount: Amount, end: Timestamp) {
        self.total.records += amount.records;
        self.total.bindings += amount.bindings;
        if time <= later(end, LATE) {
            self.until_then = self.total;
        }
        match self.recent.back_mut() {
            Some((last, total)) if *last == time => *total = self.total,
            _ => self.recent.push_back((time, self.total)),
        }
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// Those that were missing before this time for certain: a record of it may be written after reports of later ones.
    pub(super) fn before(&self, time: Timestamp) -> Amount {
        let earlier = self.recent.iter().rev().find(|(told, _)| *told <= time);
        match (earlier, self.recent.front()) {
            (Some((_, amount)), _) => *amount,
            (None, Some((_, first))) if self.recent.len() == RECENT => *first,
            (None, _) => Amount::default(),
        }
    }

    /// Those that may be of the time that is asked about, or earlier.
    pub(super) fn until_then(&self) -> Amount {
        self.until_then
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn amount(records: u64, bindings: u64) -> Amount {
        Amount { records, bindings }
    }

    #[test]
    fn counts_are_since_the_start_of_a_process() {
        let mut missing = Missing::default();
        missing.report(at(10), (5, Some(1)), at(100));
        missing.report(at(11), (8, Some(1)), at(100));
        // Another process, whose start is not recorded.
        missing.report(at(20), (2, Some(2)), at(100));
        assert_eq!(missing.until_then(), amount(10, 3));
        // One whose start is.
        missing.restart();
        missing.report(at(30), (7, Some(2)), at(100));
        assert_eq!(missing.until_then() - missing.before(at(20)), amount(7, 2));
        let mut missing = Missing::default();
        missing.report(at(10), (5, Some(1)), at(100));
        missing.report(at(11), (8, Some(1)), at(100));
        missing.report(at(20), (2, Some(2)), at(100));
        assert_eq!(missing.until_then() - missing.before(at(11)), amount(2, 2));
        assert_eq!(missing.until_then() - missing.before(at(10)), amount(5, 2));
    }

    #[test]
    fn a_version_that_does_not_tell_bindings_apart_may_mean_them() {
        let mut missing = Missing::default();
        missing.report(at(10), (5, None), at(100));
        missing.report(at(11), (6, None), at(100));
        assert_eq!(missing.until_then(), amount(6, 6));
    }

    #[test]
    fn what_is_later_does_not_matter_but_for_the_delay_of_reports() {
        let mut missing = Missing::default();
        missing.report(at(103), (1, Some(1)), at(100));
        missing.report(at(104), (2, Some(2)), at(100));
        assert_eq!(missing.until_then(), amount(1, 1));
    }
}
