//! Orders of people about the configuration in force: read the file again, keep it, go back.

use std::time::Duration;

use super::UpError;
use super::reload::tell;
use super::running::Running;
use super::systemd;
use super::view::lock;
use crate::control::{How, Order, Outcome, Reply, RolledBack};
use crate::health;

/// The time until a configuration that could not be undone is undone once more.
const AGAIN: Duration = Duration::from_secs(10);

impl Running {
    /// Does as ordered. The answer, or why nothing changed.
    pub(super) async fn obey(&mut self, order: Order) -> Result<Reply, String> {
        match order {
            Order::Reload(How::Now) => self.reload(None).await.map(Reply::Reloaded),
            Order::Reload(How::Confirm(seconds)) => {
                let trial = trial(seconds)?;
                self.reload(Some(trial)).await.map(Reply::Reloaded)
            }
            Order::Reload(How::DryRun) => match self.try_out() {
                Ok(differences) => Ok(Reply::Differences(Box::new(differences))),
                Err(error) => Err(error.to_string()),
            },
            Order::Confirm => {
                if !self.history.confirm() {
                    return Err("no configuration waits to be confirmed".to_owned());
                }
                self.show_history();
                tracing::info!("the configuration was confirmed");
                Ok(Reply::Confirmed)
            }
            Order::Rollback => self
                .go_back(Outcome::RolledBack)
                .await
                .map(Reply::RolledBack),
        }
    }

    /// Nobody has confirmed the configuration in force.
    pub(super) async fn undo(&mut self) {
        tracing::warn!("nobody confirmed the configuration in time: it is undone");
        if self.go_back(Outcome::Undone).await.is_err() {
            // It may be that memory which the change freed has to rest.
            self.history.put_off(AGAIN);
            self.show_history();
        }
    }

    /// Puts the configuration before in force again. The file stays as it is.
    async fn go_back(&mut self, outcome: Outcome) -> Result<RolledBack, String> {
        let Some(before) = self.history.before() else {
            return Err(
                "there is no configuration before the one in force: it was read at the start, or gone back to"
                    .to_owned(),
            );
        };
        let read = health::time(before.read);
        let mut document = before.document.clone();
        systemd::reloading();
        self.fill_in(&mut document);
        let put = self.put_in_force(document).await;
        let put = match put {
            Ok(changes) => {
                self.history.returned();
                self.record_configuration();
                lock(&self.view.outcomes).succeeded(outcome);
                tell(&format!("of {read} in force again"), &changes);
                Ok(RolledBack { read, changes })
            }
            Err(error) => Err(self.stays(&read, &error)),
        };
        self.show_history();
        systemd::ready(&self.summary());
        put
    }

    fn stays(&self, read: &str, error: &UpError) -> String {
        let said = format!("the configuration of {read} cannot be put in force again: {error}");
        tracing::error!("{said}; nothing changed");
        lock(&self.view.outcomes).failed(said.clone(), said.clone());
        said
    }

    /// Shows others what is in force.
    pub(super) fn show_history(&mut self) {
        let status = self.history.status();
        *lock(&self.view.in_force) = status;
    }
}

/// The time until a configuration must be confirmed.
fn trial(seconds: u32) -> Result<Duration, String> {
    match seconds {
        1..=How::LONGEST_TRIAL => Ok(Duration::from_secs(seconds.into())),
        _ => Err(format!(
            "a configuration can wait for its confirmation from 1 second to a day, not {seconds} s"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_has_an_end() {
        assert_eq!(trial(60), Ok(Duration::from_secs(60)));
        for seconds in [0, How::LONGEST_TRIAL + 1] {
            let refused = trial(seconds).unwrap_err();
            assert!(refused.contains(&format!("not {seconds} s")), "{refused}");
        }
    }
}
