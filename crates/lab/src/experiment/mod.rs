//! Experiments: the papers' questions, asked of every implementation that runs here.
//!
//! * [`candidate`]: what can be measured, ours and others', and in which network it stands
//! * [`scene`]: such a network, built and running
//! * [`question`]: what is measured, over what, of whom
//! * [`papers`]: the questions of the five papers; [`standards`]: those of RFC 8219; [`stateful`]: those of RFC 9693
//! * [`mod@measure`]: how it is measured
//! * [`profile`]: how thoroughly
//! * [`mod@run`]: the plan of a run, and its execution

pub mod candidate;
mod hosts;
pub mod measure;
pub mod papers;
pub mod profile;
pub mod question;
pub mod run;
pub mod scene;
pub mod standards;
pub mod stateful;

pub use candidate::{Candidate, candidates};
pub use profile::Profile;
pub use question::Question;
pub use run::{Event, Options, PlanError, RunError, run};

/// All questions, in the order of the report.
pub fn questions() -> impl Iterator<Item = &'static Question> {
    let standards = standards::QUESTIONS.iter().chain(&stateful::QUESTIONS);
    papers::QUESTIONS.iter().chain(standards)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn questions_have_names_of_their_own_and_somebody_to_answer() {
        let candidates = candidates();
        let mut names = BTreeSet::new();
        for question in questions() {
            assert!(question.name.contains('/'), "{}", question.name);
            assert!(names.insert(question.name), "{}", question.name);
            let answers = candidates.iter().any(|candidate| (question.of)(candidate));
            assert!(answers, "{}", question.name);
        }
    }
}
