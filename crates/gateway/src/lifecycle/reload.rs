//! Reading the configuration again: all of it holds, or nothing changes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::placement;
use super::running::{self, Running, names};
use super::start::{self, Prepared};
use super::view::{Current, lock};
use super::{UpError, systemd};
use crate::config::{self, Choice, Document, LoadError, Loaded, PotentialRouters};
use crate::link::{Changes, Forwarding, Wanted};

impl Running {
    /// Reads the file again. What changed, one line each, or why nothing did.
    pub(super) async fn reload(&mut self) -> Result<Vec<String>, String> {
        systemd::reloading();
        let outcome = self.try_reload().await;
        let outcome = match outcome {
            Ok(changes) => {
                self.view.reloads.fetch_add(1, Ordering::Relaxed);
                if changes.is_empty() {
                    tracing::info!("configuration read again: nothing changed");
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
            tracing::error!(%error, "the prefixes or routers that were found are not in force");
            return;
        }
        for (instance, before, now, origin) in prefixes {
            let lost = if before.is_some() {
                "; what went through the one before has lost its translator"
            } else {
                ""
            };
            match now {
                Some(prefix) => {
                    let origin = origin.unwrap_or_default();
                    tracing::info!(instance, %prefix, origin, "a prefix was found{lost}");
                }
                None => tracing::warn!(instance, "waiting for a prefix{lost}"),
            }
        }
        for (instance, PotentialRouters { name, found }) in routers {
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            let routers = found.join(", ");
            tracing::info!(instance, name, routers, "routers were found");
        }
    }

    /// All of a configuration holds from then on, or nothing changes. What changed, one line each.
    async fn put_in_force(&mut self, document: Document) -> Result<Vec<String>, UpError> {
        let view = Arc::clone(&self.view);
        let old = view.current();
        let prepared = start::prepare(document, &self.secret, &self.placement, view.state.lines())?;
        let document = &prepared.document;
        let metrics = match document.gateway.metrics {
            address if address == old.document.gateway.metrics => None,
            Some(address) => Some(Some(running::endpoint(address).await?)),
            None => Some(None),
        };
        let ready = self.prefixes.prepare(document)?;
        // From here on what was done is undone if a later step fails.
        let mut changes = self.change_link(&Wanted::of(document)).await?;
        // An address that it listens at may be one that the link has got just now.
        let opened = match self.pcp.open(document, &prepared.descriptions).await {
            Ok(opened) => opened,
            Err(error) => {
                self.restore_link(&old.document).await;
                return Err(error);
            }
        };
        if let Err(error) = self.change_services(&old.document, document).await {
            self.restore_link(&old.document).await;
            return Err(error);
        }
        if let Err(error) = self.swap(&prepared) {
            self.restore_link(&old.document).await;
            if let Err(error) = self.change_services(document, &old.document).await {
                tracing::error!(%error, "the services could not be put back");
            }
            return Err(error);
        }
        // And from here on nothing can fail.
        self.solicit(document).await;
        if let Some(metrics) = metrics {
            self.serve_metrics(metrics);
        }
        self.prefixes.apply(document, ready);
        self.router_lists.apply(document);
        self.logging.set_level(document.log.level);
        changes.extend(differences(&self.descriptions, &prepared.descriptions));
        changes.extend(services(&old.document, document));
        self.pcp
            .apply(opened, document, &prepared.tables, &prepared.descriptions)
            .await;
        // Under the old names still, for that is what they are counted for.
        view.sweeper.retire(&prepared.tables);
        lock(&view.ledger).rename(names(document), &view.readings());
        self.placement = prepared.placement;
        self.descriptions = prepared.descriptions;
        self.ruleset = prepared.ruleset;
        view.sweeper.change(prepared.tables.clone());
        *lock(&view.current) = Arc::new(Current {
            document: prepared.document,
            tables: prepared.tables,
        });
        Ok(changes)
    }

    async fn change_link(&mut self, wanted: &Wanted) -> Result<Vec<String>, UpError> {
        if wanted.forwarding == Forwarding::Needed {
            self.sysctls.forward()?;
        }
        let Some(link) = &mut self.link else {
            return Ok(Vec::new());
        };
        let Changes { added, removed } = link.change(wanted).await?;
        let added = added.into_iter().map(|what| format!("{what} added"));
        let removed = removed.into_iter().map(|what| format!("{what} removed"));
        Ok(added.chain(removed).collect())
    }

    async fn restore_link(&mut self, old: &Document) {
        if let Err(error) = self.change_link(&Wanted::of(old)).await {
            tracing::error!(%error, "the link could not be put back");
        }
    }

    /// Records and DNS64: both or neither.
    async fn change_services(&mut self, old: &Document, new: &Document) -> Result<(), UpError> {
        let recorder = &self.view.recorder;
        let settings = start::record_settings(new);
        let before = start::record_settings(old);
        if settings != before {
            recorder
                .replace(&settings)
                .map_err(UpError::system("records"))?;
        }
        if let Err(error) = self.dns.apply(new).await {
            if settings != before
                && let Err(error) = recorder.replace(&before)
            {
                tracing::error!(%error, "the sinks of records could not be put back");
            }
            return Err(error);
        }
        Ok(())
    }

    /// Puts the rules in force in every engine, or in none.
    fn swap(&self, prepared: &Prepared) -> Result<(), UpError> {
        for lines in &prepared.again {
            placement::clear(&*self.view.state, lines.clone());
        }
        for (index, engine) in self.view.engines.iter().enumerate() {
            if let Err(error) = engine.swap(&prepared.ruleset) {
                for engine in self.view.engines.iter().take(index) {
                    if let Err(error) = engine.swap(&self.ruleset) {
                        tracing::error!(%error, "an engine could not be put back");
                    }
                }
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// Refuses what can not change while the gateway runs.
fn fixed(old: &Document, new: &Document) -> Result<(), UpError> {
    let interfaces = |document: &Document| {
        format!(
            "{:?}",
            document
                .interfaces
                .iter()
                .map(|i| (&i.name.value, i.engine.value, i.mode, i.forward))
                .collect::<Vec<_>>()
        )
    };
    let keys = [
        ("`name` of [gateway]", old.gateway.name != new.gateway.name),
        (
            "`control` of [gateway]",
            old.gateway.control != new.gateway.control,
        ),
        ("`format` of [log]", old.log.format != new.log.format),
        ("`name` of [tun]", old.tun.name.value != new.tun.name.value),
        ("`queues` of [tun]", old.tun.queues != new.tun.queues),
        ("[[interface]]", interfaces(old) != interfaces(new)),
    ];
    match keys.iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((key, _)) => Err(UpError::Fixed(key)),
    }
}

/// Instances that came, went or changed.
fn differences(old: &[(String, String)], new: &[(String, String)]) -> Vec<String> {
    let find = |list: &[(String, String)], name: &str| {
        list.iter()
            .find(|(there, _)| there == name)
            .map(|(_, description)| description.clone())
    };
    let mut changes = Vec::new();
    for (name, description) in new {
        match find(old, name) {
            None => changes.push(format!("instance {name} added")),
            Some(before) if before != *description => {
                changes.push(format!("instance {name} changed"));
            }
            Some(_) => {}
        }
    }
    for (name, _) in old {
        if find(new, name).is_none() {
            changes.push(format!("instance {name} removed"));
        }
    }
    changes
}

/// Services that changed.
fn services(old: &Document, new: &Document) -> Vec<String> {
    let mut changes = Vec::new();
    if old.gateway.metrics != new.gateway.metrics {
        changes.push(match new.gateway.metrics {
            Some(address) => format!("metrics at {address}"),
            None => "metrics off".into(),
        });
    }
    if old.log.level != new.log.level {
        changes.push(format!("log level {}", new.log.level.name()));
    }
    if start::record_settings(old) != start::record_settings(new) {
        changes.push("records changed".into());
    }
    match (&old.dns64, &new.dns64) {
        (None, Some(_)) => changes.push("dns64 started".into()),
        (Some(_), None) => changes.push("dns64 stopped".into()),
        _ => {}
    }
    changes
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
