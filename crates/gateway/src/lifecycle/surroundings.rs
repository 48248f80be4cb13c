//! The parts that depend on the links and addresses of the machine, which are not the gateway's and may change: outside
//! addresses that it shares with the machine, and neighbours that ask for addresses of its own.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use isthmus_core::config::Instance;

use super::running::Running;
use crate::config::Routes;
use crate::link::{OwnSources, SharedAddress, Survey, Wanted, shared_among};

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
        let has_own = |instance: &Instance| survey.addresses().any(|own| sends_from(instance, own));
        link.accept_own(if !shared.is_empty() {
            OwnSources::Hosts
        } else if self.ruleset.instances().iter().any(has_own) {
            OwnSources::Errors
        } else {
            OwnSources::None
        });
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

/// Whether ICMP errors of an instance may have this source.
fn sends_from(instance: &Instance, own: &IpNet) -> bool {
    let IpAddr::V4(address) = own.addr() else {
        return false;
    };
    let policy = &instance.policy;
    let (first, count) = policy.icmp_pool;
    let [first, errors] = [first, policy.own_v4].map(|it| u32::from(Ipv4Addr::from(it)));
    let number = u32::from(address);
    number == errors || number.wrapping_sub(first) < count
}

/// The addresses of the machine without those of the gateway's own link.
fn others(survey: &Survey, own: &[IpNet]) -> Vec<IpNet> {
    let addresses = survey.addresses().filter(|address| !own.contains(address));
    addresses.copied().collect()
}
