//! Two processors at one table, in every order in which their accesses may take effect (`loom`).
//!
//! `scripts/tiers/unit` runs this with `RUSTFLAGS="--cfg loom"`.

use std::sync::Arc;
use std::vec::Vec;

use loom::thread;

use super::{Buckets, Line, Memory as _, Position, Refused, Slot, Slots, USED};

/// Tries every order with so many changes of the processor where none has to wait.
fn model(changes: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(changes);
    builder.max_branches = 10_000;
    builder.check(test);
}

fn memory(lines: usize) -> Arc<[Line]> {
    let lines: Vec<Line> = (0..lines).map(|_| Line::default()).collect();
    lines.into()
}

/// Runs both at the same time, and returns both results.
fn both<A: 'static, B>(
    memory: &Arc<[Line]>,
    one: impl FnOnce(&[Line]) -> A + Send + 'static,
    other: impl FnOnce(&[Line]) -> B,
) -> (A, B) {
    let shared = Arc::clone(memory);
    let one = thread::spawn(move || one(&shared));
    let other = other(memory);
    (one.join().unwrap(), other)
}

/// The bits in which rivals are the same.
const TAG: u64 = !3;

/// Checks the table after both rivals: it has the owner's word and no other, or nothing if there is no
/// owner.
fn judge(
    table: Buckets,
    memory: &[Line],
    hash: u64,
    rivals: [(u64, Result<Position, Refused>); 2],
) {
    let owners: Vec<_> = rivals.iter().filter(|(_, result)| result.is_ok()).collect();
    let found = table.get(memory, hash, TAG, USED | 0x100);
    match owners[..] {
        [] => assert_eq!(found, None),
        [(word, _)] => assert_eq!(found, Some(*word)),
        _ => panic!("there are two owners: {rivals:?}"),
    }
}

#[test]
fn of_two_rivals_one_is_the_owner_at_most() {
    model(3, || {
        let table = Buckets { first: 0, count: 1 };
        let memory = memory(2);
        let claim = move |memory: &[Line], word| table.insert_unique(memory, 0, TAG, word).get();
        let (a, b) = (USED | 0x101, USED | 0x102);
        let (one, other) = both(&memory, move |m| claim(m, a), |m| claim(m, b));
        judge(table, &memory, 0, [(a, one), (b, other)]);
    });
}

#[test]
fn rivals_in_two_buckets_see_each_other() {
    model(2, || {
        let table = Buckets { first: 0, count: 2 };
        // Bucket 0 and then bucket 1.
        let hash = 0x0000_0000_ffff_ffff;
        let memory = memory(3);
        // With five in the first bucket, entries go to the second. A rival that makes room and goes to the
        // first must not miss one in the second: acquire without a full barrier would let both miss.
        let [.., last] = [1, 2, 3, 4, 5].map(|n| {
            let inserted = table.insert(&memory[..], hash, USED | n << 16);
            inserted.get().unwrap()
        });
        let claim = move |memory: &[Line], word| table.insert_unique(memory, hash, TAG, word).get();
        let (a, b) = (USED | 0x101, USED | 0x102);
        let make_room = move |memory: &[Line]| {
            table.remove(memory, last);
            claim(memory, a)
        };
        let (one, other) = both(&memory, make_room, |m| claim(m, b));
        judge(table, &memory, hash, [(a, one), (b, other)]);
    });
}

#[test]
fn what_its_owner_gives_up_a_rival_has_whole_or_not_at_all() {
    model(3, || {
        let table = Buckets { first: 0, count: 1 };
        let memory = memory(2);
        let claim = move |memory: &[Line], word| table.insert_unique(memory, 0, TAG, word).get();
        let (a, b) = (USED | 0x101, USED | 0x102);
        claim(&memory, a).unwrap();
        let give_up = move |memory: &[Line]| {
            let place = table.find(memory, 0, u64::MAX, a).unwrap();
            table.remove(memory, place);
        };
        let ((), rival) = both(&memory, give_up, |m| claim(m, b));
        assert_eq!(
            table.get(&memory[..], 0, TAG, b & TAG),
            rival.is_ok().then_some(b)
        );
        // Nobody has it twice, and it is never lost.
        assert_eq!(claim(&memory, a).is_err(), rival.is_ok());
    });
}

const SLOTS: Slots = Slots {
    control: Buckets { first: 0, count: 1 },
    first: 2,
};
const LINES: usize = 2 + 8;
const HASH: u64 = 0x1234_5678_9abc_def0;

/// Makes an entry of three words.
fn make(memory: &[Line], word: u64) -> Result<Position, Refused> {
    let position = SLOTS.reserve(memory, HASH)?;
    let draft = SLOTS.draft(memory, position).unwrap();
    draft.write(0, &[word; 3]);
    SLOTS.publish(memory, draft, position, 0);
    Ok(position)
}

#[test]
fn an_entry_is_found_whole_or_not_at_all() {
    model(3, || {
        let memory = memory(LINES);
        let read = |memory: &[Line]| {
            let (_, slot) = SLOTS.find(memory, HASH, &[7])?;
            Some([slot.word(1), slot.word(2)])
        };
        let (made, found) = both(&memory, |m| make(m, 7), read);
        assert!(made.is_ok());
        assert!(matches!(found, None | Some([7, 7])), "{found:?}");
        assert_eq!(read(&memory), Some([7, 7]));
    });
}

#[test]
fn of_two_makers_of_an_entry_one_makes_it_at_most() {
    model(2, || {
        let memory = memory(LINES);
        let (one, other) = both(&memory, |m| make(m, 7), |m| make(m, 7));
        assert!(one.is_err() || other.is_err(), "there are two entries");
        let found = SLOTS.find(&memory[..], HASH, &[7]);
        assert_eq!(found.is_some(), one.is_ok() || other.is_ok());
    });
}

#[test]
fn words_of_two_entries_are_not_taken_for_one() {
    model(3, || {
        let memory = memory(LINES);
        let position = make(&memory, 7).unwrap();
        let line = SLOTS.line_of(position);
        let replace = move |memory: &[Line]| {
            assert!(Slot::at(memory, line).unwrap().end());
            SLOTS.release(memory, position);
            make(memory, 8).unwrap()
        };
        let read = |memory: &[Line]| {
            let slot = Slot::at(memory, line)?;
            let words = [slot.word(0), slot.word(1), slot.word(2)];
            slot.unchanged().then_some(words)
        };
        let (again, words) = both(&memory, replace, read);
        assert_eq!(again, position);
        assert!(
            matches!(words, None | Some([7, 7, 7] | [8, 8, 8])),
            "{words:?}"
        );
        assert!(memory.line(line).is_some());
    });
}
