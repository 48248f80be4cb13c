//! The journal of a trial: everything that was measured under watch, with the work of others meanwhile, whether it counts
//! or not.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    LabError, Result,
    experiments::validity::{Disturbance, Snapshot},
    figures::results::{Attempt, Evidence, Interface, Load, Thread},
    traffic::tester::{TrialResult, Void},
};

/// A journal. Its clones write to the same one.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    kept: Arc<Mutex<Kept>>,
    series: Option<String>,
    at: Option<f64>,
}

/// The entries of a journal.
#[derive(Debug, Default)]
struct Kept {
    attempts: Vec<Attempt>,
    threads: BTreeSet<Thread>,
    network: Option<Vec<Interface>>,
}

/// A measurement that is over, and the work of others meanwhile.
struct Watched<T> {
    measured: Result<T>,
    disturbance: Disturbance,
}

impl Journal {
    /// Returns a journal that writes to the same one, for the values of a series.
    #[must_use]
    pub fn of(&self, series: &str) -> Self {
        Self {
            series: Some(series.into()),
            ..self.clone()
        }
    }

    /// Returns a journal that writes to the same one, for the values at a place on the axis.
    #[must_use]
    pub fn at(&self, place: impl Into<f64>) -> Self {
        Self {
            at: Some(place.into()),
            ..self.clone()
        }
    }

    /// Measures, unless others disturb it.
    ///
    /// # Errors
    /// The measurement fails; or others had the cores in use for too long, so that it is void.
    pub fn undisturbed<T>(&self, measure: impl FnOnce() -> Result<T>) -> Result<T> {
        let Watched {
            measured,
            disturbance,
        } = self.watch(measure)?;
        let void = match &measured {
            Ok(_) => disturbance.verdict(),
            Err(LabError::Tester(why)) => Some(why.clone()),
            // It is no attempt: the subject cannot do this.
            Err(_) => return measured,
        };
        self.note(disturbance, None, void.clone());
        match void {
            Some(why) => Err(LabError::Tester(why)),
            None => measured,
        }
    }

    /// Runs a trial of the tester, which is void if others disturb it.
    ///
    /// # Errors
    /// The trial fails.
    pub fn trial(&self, run: impl FnOnce() -> Result<TrialResult>) -> Result<TrialResult> {
        self.trial_within(run, |result| result)
    }

    /// The same, of a trial whose result is a part of what is returned.
    ///
    /// # Errors
    /// The trial fails.
    pub fn trial_within<T>(
        &self,
        run: impl FnOnce() -> Result<T>,
        result: impl FnOnce(&mut T) -> &mut TrialResult,
    ) -> Result<T> {
        let Watched {
            measured,
            disturbance,
        } = self.watch(run)?;
        let mut run = measured?;
        let result = result(&mut run);
        let disturbed = || disturbance.verdict().map(Void::Disturbed);
        result.void = result.void.take().or_else(disturbed);
        let load = Load {
            rate: Some(result.rate).filter(|rate| rate.is_finite()),
            sent: result.sent(),
            lost: result.lost(),
        };
        let void = result.void.as_ref().map(Void::to_string);
        self.note(disturbance, Some(load), void);
        Ok(run)
    }

    /// Notes the network.
    pub fn network(&self, interfaces: Vec<Interface>) {
        self.kept().network = Some(interfaces);
    }

    /// Takes all entries: the evidence, and the interfaces of the network if there was one.
    pub fn take(&self) -> (Evidence, Option<Vec<Interface>>) {
        let Kept {
            attempts,
            threads,
            network,
        } = std::mem::take(&mut *self.kept());
        let evidence = Evidence {
            attempts,
            threads: threads.into_iter().collect(),
            ..Evidence::default()
        };
        (evidence, network)
    }

    fn watch<T>(&self, measure: impl FnOnce() -> Result<T>) -> Result<Watched<T>> {
        let before = Snapshot::now()?;
        let measured = measure();
        let after = Snapshot::now()?;
        self.kept().threads.extend(after.threads());
        Ok(Watched {
            measured,
            disturbance: after.since(&before),
        })
    }

    fn note(&self, disturbance: Disturbance, load: Option<Load>, void: Option<String>) {
        let Disturbance {
            elapsed,
            foreign,
            stolen,
            interrupts,
        } = disturbance;
        let attempt = Attempt {
            series: self.series.clone(),
            at: self.at,
            seconds: elapsed.as_secs_f64(),
            foreign: foreign.as_secs_f64(),
            stolen: stolen.as_secs_f64(),
            interrupts,
            load,
            void,
        };
        self.kept().attempts.push(attempt);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{thread::sleep, time::Duration};

    use super::*;
    use crate::{experiments::validity::persistent, traffic::tester::StreamResult};

    #[test]
    fn what_is_void_is_kept_with_its_reason_and_what_fails_is_not() {
        let journal = Journal::default();
        let mut tried = 0;
        let here = journal.of("both").at(1024_u32);
        let measured = persistent(|| {
            here.undisturbed(|| {
                tried += 1;
                sleep(Duration::from_millis(20));
                match tried {
                    1 => Err(LabError::Tester("the cables were late".into())),
                    _ => Ok(tried),
                }
            })
        });
        let failed: Result<()> = journal.undisturbed(|| Err(LabError::NotRoot));
        assert!(failed.is_err());
        let (Evidence { attempts, .. }, network) = journal.take();
        // A busy machine makes more of them void.
        assert_eq!((attempts.len() as i32, network), (tried, None));
        let first = &attempts[0];
        assert_eq!(first.void.as_deref(), Some("the cables were late"));
        assert_eq!(
            (first.series.as_deref(), first.at),
            (Some("both"), Some(1024.0))
        );
        assert!(attempts.iter().all(|attempt| attempt.seconds >= 0.02));
        assert_eq!(attempts.last().unwrap().void.is_none(), measured.is_ok());
    }

    #[test]
    fn a_trial_is_kept_with_its_load_and_the_threads_that_were_there() {
        let late = Void::SentSlowly {
            rate: 1.0,
            asked: 2.0,
        };
        let result = TrialResult {
            rate: f64::INFINITY,
            size: 64,
            streams: vec![StreamResult {
                sent: 10,
                ..StreamResult::default()
            }],
            void: Some(late.clone()),
        };
        let journal = Journal::default();
        let again = journal.trial(|| Ok(result)).unwrap();
        assert_eq!(again.void, Some(late.clone()));
        let (evidence, _) = journal.take();
        let load = Load {
            rate: None,
            sent: 10,
            lost: 10,
        };
        assert_eq!(evidence.attempts[0].load, Some(load));
        assert_eq!(evidence.attempts[0].void, Some(late.to_string()));
        assert!(!evidence.threads.is_empty());
    }
}
