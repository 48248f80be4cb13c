//! Reading the configuration again: all of it holds, or nothing changes.

use std::sync::atomic::Ordering;

use super::running::Running;
use super::view::lock;
use super::{UpError, start, systemd};
use crate::config::{self, Document, LoadError, Loaded, PotentialRouters};

impl Running {
    /// Reads the file again. Returns what changed, one line each, or why nothing did.
    pub(super) async fn reload(&mut self) -> Result<Vec<String>, String> {
        systemd::reloading();
        let outcome = self.try_reload().await;
        let outcome = match outcome {
            Ok(changes) => {
                self.view.reloads.fetch_add(1, Ordering::Relaxed);
                if changes.is_empty() {
                    tracing::info!("configuration reloaded: nothing changed");
                } else {
                    tracing::info!(changes = changes.join("; "), "configuration reloaded");
                }
                Ok(changes)
            }
            Err(error) => {
                log(&error);
                Err(error.to_string())
            }
        };
        *lock(&self.view.reload_error) = outcome.as_ref().err().cloned();
        systemd::ready(&self.summary());
        outcome
    }

    async fn try_reload(&mut self) -> Result<Vec<String>, UpError> {
        let file = self.view.file.clone();
        let Loaded {
            mut document,
            warnings,
        } = config::load(&file)?.on_this_machine()?;
        start::warn(&warnings);
        fixed(&self.view.current().document, &document)?;
        self.fill_in(&mut document);
        self.put_in_force(document).await
    }

    /// Gives the instances of a configuration what has been found out for them by now: prefixes, and the
    /// routers of ISATAP hosts.
    fn fill_in(&self, document: &mut Document) {
        self.prefixes.fill_in(document);
        self.router_lists.fill_in(document);
    }

    /// Puts what has been found out by now in force, if it is news.
    pub(super) async fn follow(&mut self) {
        let old = self.view.current();
        let mut document = old.document.clone();
        self.fill_in(&mut document);
        let prefixes: Vec<_> = document
            .discoveries()
            .zip(old.document.discoveries())
            .filter(|((_, now), (_, before))| now.found != before.found)
            .map(|((instance, now), (_, before))| {
                let origin = self.prefixes.origin(instance);
                (instance.to_owned(), before.found, now.found, origin)
            })
            .collect();
        let routers: Vec<_> = document
            .potential_routers()
            .zip(old.document.potential_routers())
            .filter(|((_, now), (_, before))| now != before)
            .map(|((instance, now), _)| (instance.to_owned(), now.clone()))
            .collect();
        if prefixes.is_empty() && routers.is_empty() {
            return;
        }
        if let Err(error) = self.put_in_force(document).await {
            tracing::error!(%error, "the discovered prefixes or routers could not be applied");
            return;
        }
        for (instance, before, now, origin) in prefixes {
            let lost = if before.is_some() {
                "; packets of the prefix before it are no longer translated"
            } else {
                ""
            };
            match now {
                Some(prefix) => {
                    let origin = origin.unwrap_or_default();
                    tracing::info!(instance, %prefix, origin, "a prefix was discovered{lost}");
                }
                None => tracing::warn!(instance, "waiting for a prefix{lost}"),
            }
        }
        for (instance, PotentialRouters { name, found }) in routers {
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            let routers = found.join(", ");
            tracing::info!(instance, name, routers, "routers were discovered");
        }
    }
}

/// Refuses what cannot change while the gateway runs.
fn fixed(old: &Document, new: &Document) -> Result<(), UpError> {
    let keys = [
        ("`name` of [gateway]", old.gateway.name != new.gateway.name),
        (
            "`control` of [gateway]",
            old.gateway.control != new.gateway.control,
        ),
        ("`format` of [log]", old.log.format != new.log.format),
        ("`name` of [tun]", old.tun.name.value != new.tun.name.value),
        ("`queues` of [tun]", old.tun.queues != new.tun.queues),
        ("[[interface]]", old.interfaces != new.interfaces),
    ];
    match keys.iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((key, _)) => Err(UpError::Fixed(key)),
    }
}

/// One line of log for each mistake, with its place in the file.
fn log(error: &UpError) {
    let UpError::Load(LoadError::Invalid(report)) = error else {
        tracing::error!(%error, "the configuration was not reloaded; nothing changed");
        return;
    };
    for problem in report.problems() {
        tracing::error!(
            file = problem.file,
            line = problem.line,
            column = problem.column,
            "{}: {}",
            problem.message,
            problem.expected
        );
    }
    tracing::error!("the configuration was not reloaded; nothing changed");
}
