//! The parts that depend on the links and addresses of the machine, which are not the gateway's and may change: outside
//! addresses that it shares with the machine, and neighbours that ask for addresses of its own.

use std::collections::BTreeSet;

use super::running::Running;
use crate::config::Routes;
use crate::link::{SharedAddress, Survey, Wanted, shared_among};

impl Running {
    /// Makes it as it has to be now. Returns what is wrong.
    pub(super) async fn settle(&mut self) -> Vec<String> {
        let document = &self.view.current().document;
        let Some(link) = self.link.as_mut() else {
            return Vec::new();
        };
        let survey = match link.survey().await {
            Ok(survey) => survey,
            Err(error) => return vec![error.to_string()],
        };
        // Whoever leaves routes alone wants to lead packets here himself.
        if document.tun.routes == Routes::None {
            return Vec::new();
        }
        let mut troubles = self.answers.apply(&Wanted::of(document).routes, &survey);
        let own = others(&survey, &document.addresses());
        let pools = document.pools().map(|pool| (pool.addresses, pool.ports));
        let shared = shared_among(pools, &own);
        // First who passes packets on, then who leads them there.
        self.ruleset
            .share(shared.iter().map(|it| it.address).collect());
        match link.share(&shared).await {
            Ok(again) => again
                .iter()
                .for_each(|what| tracing::info!("{what} is there")),
            Err(error) => troubles.push(error.to_string()),
        }
        self.reserve(&shared);
        troubles
    }

    /// Keeps the ports of the pools from the machine's sockets. It works without, only worse.
    fn reserve(&mut self, shared: &BTreeSet<SharedAddress>) {
        let ports: BTreeSet<_> = shared.iter().map(|it| it.ports).collect();
        if self.reserved.as_ref() == Some(&ports) {
            return;
        }
        if let Err(error) = self.sysctls.share(&ports) {
            tracing::warn!("{error}");
        }
        self.reserved = Some(ports);
    }
}

/// The addresses of the machine without those of the gateway's own link.
fn others(survey: &Survey, own: &[ipnet::IpNet]) -> Vec<ipnet::IpNet> {
    let addresses = survey.addresses().filter(|address| !own.contains(address));
    addresses.copied().collect()
}
