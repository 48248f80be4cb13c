//! Which messages get an answer at once, which get none, and which must be asked about.

use crate::answer::{self, Answer};
use crate::counter::Counter;
use crate::policy::Policy;
use crate::query::{Query, Unanswerable};
use crate::special;
use crate::wire::{kind, rcode};

/// The class of a message.
pub(crate) enum Triage {
    /// Nothing to send.
    Ignore,
    /// An error, whatever we may know.
    Refuse { counter: Counter, refusal: Refusal },
    /// A question that we answer ourselves.
    Answer { query: Query, answer: Answer },
    /// A question for the cache, or for upstream.
    Ask(Query),
}

/// An error response.
pub(crate) enum Refusal {
    /// To something without a readable question.
    Header { id: u16, flags: u16, rcode: u16 },
    /// To a query.
    Query { query: Box<Query>, rcode: u16 },
}

impl Refusal {
    pub(crate) fn render(&self, out: &mut Vec<u8>) {
        match self {
            Self::Header { id, flags, rcode } => answer::render_header(*id, *flags, *rcode, out),
            Self::Query { query, rcode } => answer::render_error(query, *rcode, out),
        }
    }
}

/// Looks at a message from a client.
pub(crate) fn sort(policy: &Policy, message: &[u8]) -> Triage {
    let query = match Query::parse(message) {
        Ok(query) => query,
        Err(Unanswerable::Ignore) => return Triage::Ignore,
        Err(Unanswerable::Header { id, flags, rcode }) => {
            let counter = match rcode {
                rcode::NOTIMP => Counter::NotImplemented,
                _ => Counter::Malformed,
            };
            return Triage::Refuse {
                counter,
                refusal: Refusal::Header { id, flags, rcode },
            };
        }
    };
    let refuse = |query, (counter, rcode)| Triage::Refuse {
        counter,
        refusal: Refusal::Query {
            query: Box::new(query),
            rcode,
        },
    };
    if let Some(why) = objection(&query) {
        return refuse(query, why);
    }
    if let Some(answer) = special::answer(policy, &query) {
        return Triage::Answer { query, answer };
    }
    // The client may not learn what others asked, so not even from the cache.
    if !query.recursion_desired() {
        return refuse(query, (Counter::NotAllowed, rcode::REFUSED));
    }
    Triage::Ask(query)
}

/// Returns the error in a question, independent of the client.
fn objection(query: &Query) -> Option<(Counter, u16)> {
    if query.edns.is_some_and(|edns| edns.version != 0) {
        return Some((Counter::BadVersion, rcode::BADVERS));
    }
    match (query.kind(), query.class()) {
        (0 | kind::OPT | kind::TKEY | kind::TSIG, _) => Some((Counter::Malformed, rcode::FORMERR)),
        (kind::IXFR | kind::AXFR, _) | (_, kind::CLASS_ANY | kind::CLASS_NONE) => {
            Some((Counter::NotAllowed, rcode::REFUSED))
        }
        _ => None,
    }
}
