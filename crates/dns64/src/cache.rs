//! Answers that are kept until their time is over, in bounded memory.

use std::sync::Arc;

use quick_cache::{Weighter, sync};

use crate::answer::Answer;

/// An answer counts as one entry of the bound for each so many bytes begun.
const ENTRY_BYTES: usize = 512;

/// Seconds since the server was made.
pub(crate) type Seconds = u32;

#[derive(Clone)]
struct Kept {
    answer: Arc<Answer>,
    since: Seconds,
}

#[derive(Clone)]
struct BySize;

impl Weighter<Box<[u8]>, Kept> for BySize {
    fn weight(&self, key: &Box<[u8]>, kept: &Kept) -> u64 {
        (key.len() + kept.answer.size()).div_ceil(ENTRY_BYTES) as u64
    }
}

/// Answers by [`key`](crate::query::Query::key). A full cache drops the least used answer first.
pub(crate) struct Cache(Option<sync::Cache<Box<[u8]>, Kept, BySize>>);

impl Cache {
    /// A cache of at most this many entries of 512 bytes; none for 0.
    pub(crate) fn new(entries: usize) -> Self {
        let cache = || sync::Cache::with_weighter(entries, entries as u64, BySize);
        Self((entries > 0).then(cache))
    }

    /// The answer and its age, if there is one that may still be used.
    pub(crate) fn get(&self, key: &[u8], now: Seconds) -> Option<(Arc<Answer>, u32)> {
        let kept = self.0.as_ref()?.get(key)?;
        let age = now.saturating_sub(kept.since);
        (age < kept.answer.lifetime()).then_some((kept.answer, age))
    }

    /// Keeps an answer, if it may be kept at all.
    pub(crate) fn put(&self, key: &[u8], answer: &Arc<Answer>, now: Seconds) {
        if answer.lifetime() == 0 {
            return;
        }
        if let Some(cache) = &self.0 {
            cache.insert(
                key.into(),
                Kept {
                    answer: answer.clone(),
                    since: now,
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Query;
    use crate::wire::rcode;

    fn query(n: u32) -> Query {
        let mut packet = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x08".to_vec();
        packet.extend_from_slice(format!("{n:08x}").as_bytes());
        packet.extend_from_slice(b"\0\0\x1c\0\x01");
        Query::parse(&packet).ok().unwrap()
    }

    #[test]
    fn an_answer_is_kept_for_its_lifetime() {
        let cache = Cache::new(64);
        let query = query(1);
        let answer = Arc::new(Answer::empty(&query, rcode::SERVFAIL));
        assert_eq!(answer.lifetime(), 5);
        cache.put(query.key(), &answer, 100);
        assert_eq!(cache.get(query.key(), 104).unwrap().1, 4);
        assert!(cache.get(query.key(), 105).is_none());
    }

    #[test]
    fn what_may_not_be_kept_is_not() {
        let query = query(1);
        let answer = Arc::new(Answer::empty(&query, rcode::NOERROR));
        let cache = Cache::new(64);
        cache.put(query.key(), &answer, 0);
        assert!(cache.get(query.key(), 0).is_none());
    }

    #[test]
    fn the_bound_holds() {
        let cache = Cache::new(100);
        for n in 0..10_000 {
            let query = query(n);
            cache.put(
                query.key(),
                &Arc::new(Answer::empty(&query, rcode::SERVFAIL)),
                0,
            );
        }
        assert!(cache.0.unwrap().weight() <= 100);
    }

    #[test]
    fn without_entries_nothing_is_kept() {
        let cache = Cache::new(0);
        let query = query(1);
        cache.put(
            query.key(),
            &Arc::new(Answer::empty(&query, rcode::SERVFAIL)),
            0,
        );
        assert!(cache.get(query.key(), 0).is_none());
    }
}
