//! The DNS64 service as a part of the gateway.

use std::sync::{Arc, Mutex, PoisonError};

use isthmus_dns64::{Allow, Config, Counter, Counters, Handle, NonGlobal, Server, Translation};

use super::UpError;
use crate::config::{Document, Instance};

/// The service, or its absence.
#[derive(Debug, Default)]
pub(super) struct Dns {
    handle: Option<Handle>,
    figures: Arc<Mutex<Figures>>,
}

/// Its figures, for the status and the metrics.
#[derive(Debug, Default)]
pub(super) struct Figures {
    counters: Option<Arc<Counters>>,
    addresses: Vec<String>,
}

impl Dns {
    /// Makes the service what `document` wants: started, changed or stopped.
    ///
    /// # Errors
    ///
    /// If it does not start; what was there is there still.
    pub(super) async fn apply(&mut self, document: &Document) -> Result<(), UpError> {
        match (&mut self.handle, settings(document)) {
            (Some(handle), Some(settings)) => {
                handle.reload(settings).await.map_err(UpError::Dns64)?
            }
            (none @ None, Some(settings)) => {
                *none = Some(Server::start(settings).await.map_err(UpError::Dns64)?)
            }
            (_, None) => self.stop().await,
        }
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.counters = self
            .handle
            .as_ref()
            .map(|handle| Arc::clone(handle.counters()));
        figures.addresses = self
            .handle
            .iter()
            .flat_map(Handle::addresses)
            .map(|address| address.to_string())
            .collect();
        Ok(())
    }

    /// Its figures, for the status and the metrics.
    pub(super) fn figures(&self) -> Arc<Mutex<Figures>> {
        Arc::clone(&self.figures)
    }

    /// Stops it if it runs.
    pub(super) async fn stop(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.stop().await;
        }
    }
}

impl Figures {
    /// Where it listens.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.addresses.clone()
    }

    /// Name, explanation and value of every counter; none if it does not run.
    pub(super) fn counters(&self) -> Vec<(&'static str, &'static str, u64)> {
        let Some(counters) = &self.counters else {
            return Vec::new();
        };
        Counter::ALL
            .iter()
            .map(|counter| {
                (
                    counter.name(),
                    counter.explanation(),
                    counters.get(*counter),
                )
            })
            .collect()
    }
}

fn settings(document: &Document) -> Option<Config> {
    let dns64 = document.dns64.as_ref()?;
    let allow = dns64.allow.as_ref().map_or(Allow::Local, |networks| {
        Allow::Networks(networks.iter().map(|at| at.value).collect())
    });
    let mut config = Config {
        listen: dns64.listen.iter().map(|at| at.value).collect(),
        upstream: dns64.upstream.iter().map(|at| at.value).collect(),
        prefixes: document
            .dns64_prefixes()
            .into_iter()
            .map(|prefix| Translation {
                non_global: non_global(document, &prefix),
                ..Translation::new(prefix)
            })
            .collect(),
        exclude: dns64.exclude.clone(),
        cache_entries: dns64.cache_entries as usize,
        allow,
        client_rate: dns64.client_rate,
        ..Config::default()
    };
    if dns64.client_rate == 0 {
        config.client_questions = config.max_in_flight * 2;
        config.client_connections = config.tcp_connections * 2;
    }
    Some(config)
}

/// Addresses that the translator lets pass are worth an answer.
fn non_global(document: &Document, prefix: &isthmus_core::address::rfc6052::Prefix) -> NonGlobal {
    let has_prefix = |instance: &&Instance| instance.mechanism.rfc6052() == Some(*prefix);
    let instance = document.instances.iter().find(has_prefix);
    instance.map_or(NonGlobal::Refuse, |instance| instance.policy.non_global)
}
