//! Reading the configuration again: all of it holds, or nothing changes.

use std::time::Duration;

use super::compare::{self, Side};
use super::history::Version;
use super::running::Running;
use super::view::lock;
use super::{UpError, origin, start, systemd};
use crate::change::Differences;
use crate::config::{self, Document, Host, LoadError, Loaded, PotentialRouters};
use crate::control::Outcome;
use crate::health;
use crate::records::Remark;

impl Running {
    /// Reads the file again and puts it in force; for `trial` only, unless it is confirmed. Returns what changed, one
    /// line each, or why nothing did.
    pub(super) async fn reload(&mut self, trial: Option<Duration>) -> Result<Vec<String>, String> {
        if let Some(deadline) = self.history.deadline() {
            let refusal = format!(
                "not reloaded: the configuration in force is undone at {} unless it is confirmed; \
                 `isthmus confirm` keeps it, and `isthmus rollback` undoes it now",
                health::time(deadline.wall)
            );
            tracing::warn!("{refusal}");
            return Err(refusal);
        }
        systemd::reloading();
        let outcome = self.try_reload(trial).await;
        let outcome = match outcome {
            Ok(changes) => {
                lock(&self.view.outcomes).succeeded(Outcome::Succeeded);
                let until = self.history.deadline();
                let until = until.map(|deadline| health::time(deadline.wall));
                if let Some(until) = until {
                    tracing::warn!("the configuration is undone at {until} unless it is confirmed");
                }
                tell("reloaded", &changes);
                Ok(changes)
            }
            Err(error) => {
                log(&error);
                lock(&self.view.outcomes).failed(error.to_string(), brief(&error));
                Err(error.to_string())
            }
        };
        self.show_history();
        systemd::ready(&self.summary());
        outcome
    }

    async fn try_reload(&mut self, trial: Option<Duration>) -> Result<Vec<String>, UpError> {
        let loaded = self.read()?;
        start::warn(&loaded.warnings);
        let version = Version::of(loaded);
        let fixed = restart_only(&self.view.current().document, &version.document);
        if !fixed.is_empty() {
            return Err(UpError::Fixed(fixed.join(", ")));
        }
        let mut document = version.document.clone();
        self.fill_in(&mut document);
        let changes = self.put_in_force(document).await?;
        self.history.moved(version, trial);
        self.record_configuration();
        Ok(changes)
    }

    /// Records which configuration is in force from now on.
    pub(super) fn record_configuration(&self) {
        self.view.recorder.remark(Remark::Configuration {
            digest: self.history.now.origin.digest().into(),
        });
    }

    /// Reads the file.
    fn read(&self) -> Result<Loaded, UpError> {
        let mut loaded = config::load(&self.view.file)?.on_this_machine()?;
        loaded.document.keep_engines(&self.view.current().document);
        Ok(loaded)
    }

    /// Tells what a reload would change.
    pub(super) fn try_out(&self) -> Result<Differences, UpError> {
        let loaded = self.read()?;
        let mut document = loaded.document.clone();
        self.fill_in(&mut document);
        let state = &*self.view.state;
        let new = start::lay_out(&document, &self.secrets, &self.placement, state.lines())?;
        let current = self.view.current();
        let old = Side {
            text: self.history.now.origin.text(),
            document: &current.document,
            described: &self.described,
            tables: &current.tables,
        };
        let new = Side::of(origin::text(&loaded), &document, &new);
        Ok(compare::between(old, new, Some(state)))
    }

    /// Gives the instances of a configuration what has been found out for them by now: prefixes, the
    /// routers of ISATAP hosts, and the address of the machine's own CLAT.
    pub(super) fn fill_in(&self, document: &mut Document) {
        self.prefixes.fill_in(document);
        self.router_lists.fill_in(document);
        self.locals.fill_in(document);
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
        let locals: Vec<_> = document
            .hosts()
            .zip(old.document.hosts())
            .filter(|((_, now), (_, before))| now.local != before.local)
            .map(|((instance, now), _)| (instance.to_owned(), now.clone()))
            .collect();
        if prefixes.is_empty() && routers.is_empty() && locals.is_empty() {
            return;
        }
        if let Err(error) = self.put_in_force(document).await {
            tracing::error!(%error, "what was discovered could not be applied");
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
        locals.iter().for_each(tell_of_local);
        for (instance, PotentialRouters { name, found }) in routers {
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            let routers = found.join(", ");
            tracing::info!(instance, name, routers, "routers were discovered");
        }
    }
}

/// Writes to the log where the machine's own CLAT is now.
fn tell_of_local((instance, host): &(String, Host)) {
    let uplink = &host.uplink.value;
    match host.local {
        Some(local) => tracing::info!(instance, uplink, %local, "the CLAT has an address"),
        None => tracing::warn!(
            instance,
            uplink,
            "waiting for an IPv6 network on the uplink"
        ),
    }
}

/// Returns the keys that differ and cannot change while the gateway runs.
pub(super) fn restart_only(old: &Document, new: &Document) -> Vec<&'static str> {
    let keys = [
        ("`name` of [gateway]", old.gateway.name != new.gateway.name),
        (
            "`control` of [gateway]",
            old.gateway.control != new.gateway.control,
        ),
        (
            "`view-group` of [gateway]",
            old.gateway.view_group != new.gateway.view_group,
        ),
        ("`format` of [log]", old.log.format != new.log.format),
        ("`name` of [tun]", old.tun.name.value != new.tun.name.value),
        ("`queues` of [tun]", old.tun.queues != new.tun.queues),
        ("[[interface]]", old.interfaces != new.interfaces),
    ];
    let differing = keys.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(key, _)| key).collect()
}

/// Writes to the log what changed.
pub(super) fn tell(what: &str, changes: &[String]) {
    if changes.is_empty() {
        tracing::info!("configuration {what}: nothing changed");
    } else {
        tracing::info!(changes = changes.join("; "), "configuration {what}");
    }
}

/// The error in one line: of several mistakes the first, with its place.
fn brief(error: &UpError) -> String {
    let first = match error {
        UpError::Load(LoadError::Invalid(report)) => report
            .problems()
            .find(|problem| problem.severity == "error"),
        _ => None,
    };
    first.map_or_else(
        || error.to_string(),
        |problem| {
            let (file, line, column) = (problem.file, problem.line, problem.column);
            let (message, expected) = (problem.message, problem.expected);
            format!("{file}:{line}:{column}: {message}: {expected}")
        },
    )
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
