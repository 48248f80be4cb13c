//! Puts back what others take away while the gateway runs: routes, rules and addresses of its link, the link's
//! state and the link itself, programs on interfaces, forwarding. What cannot be put back is a trouble, which
//! `status` and the metrics show, and is tried again each second.

use std::time::Instant;

use super::running::Running;
use super::view::lock;
use crate::link::{Link, LinkError, Wanted};

impl Running {
    /// Puts back what the kernel does not announce, which is cheap to look at; and all else if there was a trouble or
    /// the link is gone.
    pub(super) async fn look(&mut self) {
        self.show_history();
        self.view.judge();
        let current = self.view.current();
        self.crowding
            .look(&*self.view.state, &current.tables, Instant::now());
        let is_troubled = !lock(&self.view.troubles).is_empty();
        if is_troubled || !self.link.as_ref().is_some_and(Link::is_there) {
            self.heal().await;
            return;
        }
        if let Some(link) = &mut self.link {
            link.follow().await;
        }
        let troubles = self.heal_machine();
        if !troubles.is_empty() {
            self.report(troubles);
        }
    }

    /// Puts everything back.
    pub(super) async fn heal(&mut self) {
        let mut troubles = self.heal_machine();
        match self.heal_link().await {
            Ok(again) => {
                for what in again {
                    tracing::warn!("{what} was gone, and is there again");
                }
            }
            Err(error) => troubles.push(error.to_string()),
        }
        troubles.extend(self.settle().await);
        self.report(troubles);
    }

    /// Puts back what belongs to the link. Returns what is there again.
    async fn heal_link(&mut self) -> Result<Vec<String>, LinkError> {
        if let Some(link) = &mut self.link {
            match link.heal().await {
                // What was configured went with it.
                Err(LinkError::Missing(_)) => {}
                healed => return healed,
            }
        }
        if let Some(before) = self.link.take() {
            before.remove().await;
        }
        let current = self.view.current();
        self.configure_link(&Wanted::of(&current.document)).await?;
        self.solicit(&current.document).await;
        Ok(vec!["all that is configured on the link".into()])
    }

    /// Puts back programs and forwarding. Returns what is not as it should be.
    fn heal_machine(&mut self) -> Vec<String> {
        let engines = self.view.engines.iter();
        let mut troubles: Vec<String> = engines.flat_map(|engine| engine.heal()).collect();
        let wanted = Wanted::of(&self.view.current().document);
        if let Err(error) = self.sysctls.forward(&wanted) {
            troubles.push(error.to_string());
        }
        troubles
    }

    /// Tells of troubles that begin or end.
    pub(super) fn report(&self, troubles: Vec<String>) {
        let mut known = lock(&self.view.troubles);
        for new in troubles.iter().filter(|trouble| !known.contains(trouble)) {
            tracing::error!("not as configured: {new}");
        }
        for over in known.iter().filter(|trouble| !troubles.contains(trouble)) {
            tracing::info!("as configured again, after: {over}");
        }
        *known = troubles;
    }
}
