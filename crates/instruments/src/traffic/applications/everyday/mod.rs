//! The ten applications that paper 002 tried, each by the programs that people use.
//!
//! Every application runs twice at the same time, on the same machine: through the mechanism, and over a network of
//! native IPv4, its control. What other work does to one it does to both, so that the [verdict] is about
//! the mechanism.

mod call;
mod l2tp;
mod mail;
mod office;
mod play;
mod strongswan;
mod torrent;
pub mod verdict;
mod web;

use std::{thread, time::Duration};

pub use super::flow::Stream;
use super::{Call, Trouble, WithoutIpv4, fails, flow};
use crate::{
    LabError, Result,
    error::ProcessProblem,
    network::{
        process::{self, Process},
        threads::join,
    },
};
pub use verdict::{Seen, Verdict};

/// The time that programs have on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An application, or several that have their servers in common.
struct Application {
    /// The names in the results.
    names: &'static [&'static str],
    /// The programs, and their Debian packages.
    needs: &'static [(&'static str, &'static str)],
    /// Runs it, and returns what became of each name.
    run: fn(&Call<'_>) -> std::result::Result<Vec<Outcome>, Trouble>,
}

/// All of them, in the order of reports. Those in a row run at the same time, and not two that need the same ports; what
/// keeps a rate comes last, when the others have ended.
const APPLICATIONS: [&[Application]; 4] = [
    &[web::BROWSER],
    &[
        mail::EMAIL,
        torrent::BITTORRENT,
        web::WEB,
        office::VPN,
        office::ESP,
    ],
    &[l2tp::L2TP],
    &[web::FILM, call::VIDEO_CALL, play::GAME],
];

/// The outcome of one run of an application.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It works, and has seen this of the path.
    Works(Seen),
    /// It fails, for this reason.
    Fails(String),
    /// It was not tried here, for this reason.
    NotAsked(String),
}

/// The result of an application.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The application.
    pub name: &'static str,
    /// The verdict.
    pub verdict: Verdict,
}

impl From<Trouble> for Outcome {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Fails(why) => Self::Fails(why),
            Trouble::Lab(error) => Self::NotAsked(error.to_string()),
        }
    }
}

impl<S: Into<Seen>> From<std::result::Result<S, Trouble>> for Outcome {
    fn from(result: std::result::Result<S, Trouble>) -> Self {
        result.map_or_else(Self::from, |seen| Self::Works(seen.into()))
    }
}

/// Returns the names of all applications, in the order of reports.
pub fn names() -> impl Iterator<Item = &'static str> {
    let all = APPLICATIONS.iter().copied().flatten();
    all.flat_map(|one| one.names).copied()
}

/// Tries the applications whose names are wanted, through the mechanism and natively. `waited` is the time for which the
/// mechanism's processes have waited for a processor until now.
///
/// # Errors
/// The client's routes cannot be changed, or there is no such time.
pub fn try_all(
    call: &Call<'_>,
    native: &Call<'_>,
    waited: impl Fn() -> Result<Duration>,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Judged>> {
    let _without_ipv4 = WithoutIpv4::for_call(call)?;
    let mut judged = Vec::new();
    for row in APPLICATIONS {
        let row = row
            .iter()
            .filter(|one| one.names.iter().any(|name| wanted(name)));
        let before = waited()?;
        let outcomes: Vec<_> = thread::scope(|scope| {
            let runs: Vec<_> = row
                .map(|one| {
                    let of = |call| scope.spawn(move || one.outcomes(call));
                    (one, [call, native].map(of))
                })
                .collect();
            let join = |(one, threads): (&'static Application, [_; 2])| (one, threads.map(join));
            runs.into_iter().map(join).collect()
        });
        let waited = waited()?.saturating_sub(before);
        for (one, [through, natively]) in outcomes {
            let outcomes = through.into_iter().zip(natively);
            judged.extend(
                one.names
                    .iter()
                    .zip(outcomes)
                    .map(|(name, (through, natively))| Judged {
                        name,
                        verdict: verdict::judge(through, &natively, waited),
                    }),
            );
        }
    }
    judged.retain(|judged| wanted(judged.name));
    Ok(judged)
}

impl Application {
    /// Runs it, and returns an outcome for each name.
    fn outcomes(&self, call: &Call<'_>) -> Vec<Outcome> {
        let needs = self.needs.iter();
        let missing = needs
            .map(|(program, package)| process::require(program, package))
            .find_map(std::result::Result::err);
        let outcomes = match missing {
            Some(missing) => Err(Trouble::Lab(missing)),
            None => (self.run)(call),
        };
        outcomes.unwrap_or_else(|trouble| vec![Outcome::from(trouble); self.names.len()])
    }
}

/// Waits until something happens that a process depends on the network for. Else the application fails, for this reason.
fn await_or_fail(
    process: &mut Process,
    limit: Duration,
    why: &str,
    happens: impl FnMut() -> bool,
) -> std::result::Result<(), Trouble> {
    match process.wait_until(limit, happens) {
        Err(LabError::Process {
            problem: ProcessProblem::NotReady,
            ..
        }) => fails(why),
        other => Ok(other?),
    }
}

/// Returns that an application cannot be tried here.
fn not_here(why: impl Into<String>) -> Trouble {
    Trouble::Lab(LabError::Unasked(why.into()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_application_has_a_unique_name() {
        let unique: BTreeSet<_> = names().collect();
        assert_eq!(unique.len(), names().count());
    }
}
