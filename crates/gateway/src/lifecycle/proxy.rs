//! The proxy as a part of the gateway.

use std::sync::{Arc, Mutex, PoisonError};

use isthmus_proxy::{Config, Counter, Counters, Handle, Server};

use super::UpError;
use crate::config::Document;

/// The proxy, or its absence.
#[derive(Debug, Default)]
pub(super) struct Proxy {
    handle: Option<Handle>,
    figures: Arc<Mutex<Figures>>,
}

/// Its figures, for the status and the metrics.
#[derive(Debug, Default)]
pub(super) struct Figures {
    counters: Option<Arc<Counters>>,
    addresses: Vec<String>,
}

impl Proxy {
    /// Makes the proxy what `document` wants: started, changed or stopped.
    ///
    /// # Errors
    ///
    /// If it does not start; what was there is there still.
    pub(super) async fn apply(&mut self, document: &Document) -> Result<(), UpError> {
        match (&mut self.handle, settings(document)) {
            (Some(handle), Some(settings)) => handle.reload(&settings).map_err(UpError::Proxy)?,
            (none @ None, Some(settings)) => {
                *none = Some(Server::start(&settings).map_err(UpError::Proxy)?);
            }
            (_, None) => self.stop().await,
        }
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = self.handle.as_ref();
        figures.counters = handle.map(|handle| Arc::clone(handle.counters()));
        figures.addresses = handle
            .into_iter()
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
        let row = |counter: &Counter| {
            let value = counters.get(*counter);
            (counter.name(), counter.explanation(), value)
        };
        Counter::ALL.iter().map(row).collect()
    }
}

fn settings(document: &Document) -> Option<Config> {
    let proxy = document.proxy.as_ref()?;
    Some(Config {
        listen: proxy.listen.iter().map(|at| at.value).collect(),
        socks: proxy.socks.iter().map(|at| at.value).collect(),
        sites: proxy.sites.iter().map(|at| at.value).collect(),
        users: proxy.users.as_ref().map(|at| Arc::clone(&at.value)),
        proxy_protocol: proxy.proxy_protocol.iter().map(|at| at.value).collect(),
        access_log: proxy.access_log.clone(),
        allow: proxy.allow.iter().map(|at| at.value).collect(),
        destinations: proxy.destinations.iter().map(|at| at.value).collect(),
        local_destinations: proxy.local_destinations.iter().map(|at| at.value).collect(),
        ports: proxy
            .ports
            .iter()
            .map(|(first, last)| *first..=*last)
            .collect(),
        resolvers: document.proxy_resolvers(),
        prefixes: document.prefixes(),
        client_connections: proxy.client_connections as usize,
        connections: proxy.connections as usize,
        head_timeout: proxy.head_timeout,
        connect_timeout: proxy.connect_timeout,
        idle_timeout: proxy.idle_timeout,
    })
}
