//! The questions that passed, until their answers come.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddrV6;

use hickory_proto::op::Query;

use super::Task;

/// How long an answer is waited for, in nanoseconds.
const WAIT: u64 = 10_000_000_000;
/// The questions that are remembered at most. Of more, the oldest are forgotten.
const MOST: usize = 16_384;

/// What tells the answers of questions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) asker: SocketAddrV6,
    pub(super) server: SocketAddrV6,
    pub(super) id: u16,
}

#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Each with the number that its place in `order` has, too.
    questions: HashMap<Question, (u64, Task, Query)>,
    /// The oldest first. A question that was asked again, or answered, leaves a place behind.
    order: VecDeque<(Question, u64, u64)>,
    next: u64,
}

impl Asked {
    pub(super) fn insert(&mut self, question: Question, (task, query): (Task, Query), now: u64) {
        self.forget(now, MOST - 1);
        self.next += 1;
        self.questions.insert(question, (self.next, task, query));
        self.order
            .push_back((question, self.next, now.saturating_add(WAIT)));
    }

    pub(super) fn take(&mut self, question: &Question, now: u64) -> Option<(Task, Query)> {
        self.forget(now, MOST);
        let (_, task, query) = self.questions.remove(question)?;
        Some((task, query))
    }

    /// Forgets what has waited too long, and the oldest until no more than `most` places are taken.
    fn forget(&mut self, now: u64, most: usize) {
        while let Some((question, number, until)) = self.order.front() {
            if *until > now && self.order.len() <= most {
                return;
            }
            if self
                .questions
                .get(question)
                .is_some_and(|(of, ..)| of == number)
            {
                self.questions.remove(question);
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr::{Name, RecordType};

    use super::*;

    fn question(id: u16, port: u16) -> Question {
        let end = |port| SocketAddrV6::new(std::net::Ipv6Addr::LOCALHOST, port, 0, 0);
        Question {
            asker: end(port),
            server: end(53),
            id,
        }
    }

    fn query() -> (Task, Query) {
        (Task::Assign, Query::query(Name::root(), RecordType::A))
    }

    #[test]
    fn an_answer_comes_once_and_in_time() {
        let mut asked = Asked::default();
        asked.insert(question(1, 1), query(), 0);
        assert!(asked.take(&question(2, 1), 1).is_none(), "another id");
        assert!(asked.take(&question(1, 1), 1).is_some());
        assert!(asked.take(&question(1, 1), 1).is_none(), "twice");
        asked.insert(question(1, 1), query(), 0);
        assert!(asked.take(&question(1, 1), WAIT).is_none(), "too late");
    }

    #[test]
    fn a_question_that_is_repeated_waits_anew() {
        let mut asked = Asked::default();
        asked.insert(question(1, 1), query(), 0);
        asked.insert(question(1, 1), query(), WAIT - 1);
        assert!(asked.take(&question(1, 1), WAIT).is_some());
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut asked = Asked::default();
        for number in 0..=MOST {
            asked.insert(
                question((number >> 8) as u16, number as u8 as u16 + 1),
                query(),
                0,
            );
        }
        assert_eq!(asked.order.len(), MOST);
        assert!(asked.take(&question(0, 1), 0).is_none(), "the first");
        assert!(asked.take(&question(0, 2), 0).is_some());
    }
}
