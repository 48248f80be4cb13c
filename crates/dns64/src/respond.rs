//! The whole server but sockets, cache and clock, as one function: for fuzzing, and for tests that
//! write down what a client and an upstream resolver say.

use std::sync::Arc;

use crate::answer::Transport;
use crate::ask::Ask;
use crate::policy::Policy;
use crate::resolution::{Resolution, Step};
use crate::triage::{self, Triage};

/// The response to `message`, if there is one. `upstream` is called for each question and gives
/// the bytes that a resolver sends back, or `None` for a timeout; bytes whose ID is not `id` or
/// whose question is another count as a timeout too.
#[must_use]
pub fn respond(
    policy: &Policy,
    message: &[u8],
    transport: Transport,
    id: u16,
    mut upstream: impl FnMut(&Ask) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (query, answer) = match triage::sort(policy, message) {
        Triage::Ignore => return None,
        Triage::Refuse { refusal, .. } => {
            refusal.render(&mut out);
            return Some(out);
        }
        Triage::Answer { query, answer } => (query, answer),
        Triage::Ask(query) => {
            let policy = Arc::new(policy.clone());
            let (mut resolution, mut ask) =
                Resolution::begin(policy, Arc::default(), query.clone());
            loop {
                let reply = upstream(&ask).and_then(|bytes| ask.accept(id, &bytes).ok());
                match resolution.proceed(reply) {
                    Step::Ask(next) => ask = next,
                    Step::Done(answer) => break (query, answer),
                }
            }
        }
    };
    let _ = answer.render(&query, 0, transport, &mut out);
    Some(out)
}
