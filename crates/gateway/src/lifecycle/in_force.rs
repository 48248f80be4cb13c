//! Putting a configuration in force: all of it holds from then on, or nothing changes.
//!
//! Each step that shows outside is a [`Done`], which undoes itself if a later one fails.

use std::sync::Arc;

use isthmus_engine::memory::Region;
use isthmus_engine::ruleset::Ruleset;

use super::described::differences;
use super::dns::Dns;
use super::placement;
use super::proxy::Proxy;
use super::running::{self, Running, names};
use super::start::{self, Prepared};
use super::undo::{Done, wait};
use super::view::{Current, lock};
use super::{UpError, pcp, prefixes};
use crate::config::{Choice, Document};
use crate::engine::Engine;
use crate::link::{Changes, Link, Sysctls, Wanted};
use crate::metrics::Endpoint;
use crate::records::Recorder;

/// The things that the last steps need, none of which can fail.
struct Opened {
    /// The metrics server, if it changes: another one, or none.
    metrics: Option<Option<Endpoint>>,
    prefixes: prefixes::Ready,
    pcp: pcp::Opened,
}

impl Running {
    /// Puts a document in force. Returns what changed, one line each.
    ///
    /// # Errors
    ///
    /// The step that failed; nothing has changed then.
    pub(super) async fn put_in_force(
        &mut self,
        document: Document,
    ) -> Result<Vec<String>, UpError> {
        let lines = self.view.state.lines();
        // Whoever has learned something of how ports are chosen begins again.
        self.secrets.ports = start::secrets()?.ports;
        let prepared = start::prepare(document, &self.secrets, &self.placement, lines)?;
        prepared.ruleset.share(self.ruleset.shared());
        let document = &prepared.document;
        let current = self.view.current();
        let old = &current.document;
        let metrics = match document.gateway.metrics {
            address if address == old.gateway.metrics => None,
            Some(address) => Some(Some(running::endpoint(address).await?)),
            None => Some(None),
        };
        let prefixes = self.prefixes.prepare(document)?;
        // A link that somebody has just set down takes no routes.
        self.heal().await;
        let (link, sysctls) = (&mut self.link, &mut self.sysctls);
        let mut changes = change_link(link, sysctls, &Wanted::of(document)).await?;
        let link = Done::new((link, sysctls), |(link, sysctls)| {
            if let Err(error) = wait(change_link(link, sysctls, &Wanted::of(old))) {
                tracing::error!(%error, "the link could not be restored");
            }
        });
        // An address that it listens at may be one that the link has got just now.
        let pcp = self.pcp.open(document, &prepared.described).await?;
        let records = change_records(&self.view.recorder, old, document)?;
        let dns = change_dns(&mut self.dns, old, document).await?;
        let proxy = change_proxy(&mut self.proxy, old, document).await?;
        let engines = swap(
            &self.view.engines,
            &self.ruleset,
            &prepared,
            &self.view.state,
        )?;
        link.keep();
        records.keep();
        dns.keep();
        proxy.keep();
        engines.into_iter().for_each(Done::keep);
        let turns = differences(&self.described, &prepared.described).into_iter();
        changes.extend(turns.map(|(name, turn)| format!("instance {name} {}", turn.name())));
        changes.extend(services(old, document));
        let opened = Opened {
            metrics,
            prefixes,
            pcp,
        };
        self.follow_through(prepared, opened).await;
        Ok(changes)
    }

    /// The steps that cannot fail.
    async fn follow_through(&mut self, prepared: Prepared, opened: Opened) {
        let document = &prepared.document;
        self.solicit(document).await;
        if let Some(metrics) = opened.metrics {
            self.serve_metrics(metrics);
        }
        self.prefixes.apply(document, opened.prefixes);
        self.router_lists.apply(document);
        self.locals.apply(document);
        self.logging.set_level(document.log.level);
        let (tables, described) = (&prepared.tables, &prepared.described);
        self.pcp
            .apply(opened.pcp, document, tables, described)
            .await;
        let view = &self.view;
        // Under the old names still: they are what it is counted for.
        view.sweeper.retire(tables);
        lock(&view.ledger).rename(names(document), &view.readings());
        self.placement = prepared.placement;
        self.described = prepared.described;
        self.ruleset = prepared.ruleset;
        view.sweeper.change(prepared.tables.clone());
        let lines = view.state.lines();
        self.store
            .write(&self.secrets.tables, &self.placement, lines);
        *lock(&view.current) = Arc::new(Current {
            document: prepared.document,
            tables: prepared.tables,
        });
        self.heal().await;
    }
}

/// Makes the link, if there is one, as wanted. Returns what changed, one line each.
async fn change_link(
    link: &mut Option<Link>,
    sysctls: &mut Sysctls,
    wanted: &Wanted,
) -> Result<Vec<String>, UpError> {
    sysctls.forward(wanted)?;
    let Some(link) = link else {
        return Ok(Vec::new());
    };
    let Changes { added, removed } = link.change(wanted).await?;
    let added = added.into_iter().map(|what| format!("{what} added"));
    let removed = removed.into_iter().map(|what| format!("{what} removed"));
    Ok(added.chain(removed).collect())
}

fn change_records<'r>(
    recorder: &'r Recorder,
    old: &Document,
    new: &Document,
) -> Result<Done<&'r Recorder, impl FnOnce(&'r Recorder) + use<'r>>, UpError> {
    let (before, settings) = (start::record_settings(old), start::record_settings(new));
    let changed = settings != before;
    if changed {
        recorder
            .replace(&settings)
            .map_err(UpError::system("records"))?;
    }
    Ok(Done::new(recorder, move |recorder| {
        if changed && let Err(error) = recorder.replace(&before) {
            tracing::error!(%error, "the sinks of records could not be restored");
        }
    }))
}

async fn change_dns<'d>(
    dns: &'d mut Dns,
    old: &'d Document,
    new: &Document,
) -> Result<Done<&'d mut Dns, impl FnOnce(&'d mut Dns) + use<'d>>, UpError> {
    dns.apply(new).await?;
    Ok(Done::new(dns, move |dns| {
        if let Err(error) = wait(dns.apply(old)) {
            tracing::error!(%error, "the DNS64 service could not be restored");
        }
    }))
}

async fn change_proxy<'d>(
    proxy: &'d mut Proxy,
    old: &'d Document,
    new: &Document,
) -> Result<Done<&'d mut Proxy, impl FnOnce(&'d mut Proxy) + use<'d>>, UpError> {
    proxy.apply(new).await?;
    Ok(Done::new(proxy, move |proxy| {
        if let Err(error) = wait(proxy.apply(old)) {
            tracing::error!(%error, "the proxy could not be restored");
        }
    }))
}

type Swapped<'e, U> = Vec<Done<&'e dyn Engine, U>>;

/// Puts the rules in force in every engine.
fn swap<'e>(
    engines: &'e [Box<dyn Engine>],
    before: &'e Arc<Ruleset>,
    prepared: &Prepared,
    state: &Region,
) -> Result<Swapped<'e, impl FnOnce(&'e dyn Engine) + use<'e>>, UpError> {
    for lines in &prepared.again {
        placement::clear(state, lines.clone());
    }
    let swapped = engines.iter().map(|engine| {
        engine.swap(&prepared.ruleset)?;
        Ok(Done::new(&**engine, move |engine: &'e dyn Engine| {
            if let Err(error) = engine.swap(before) {
                tracing::error!(%error, "an engine could not be restored");
            }
        }))
    });
    swapped.collect()
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
    match (&old.proxy, &new.proxy) {
        (None, Some(_)) => changes.push("proxy started".into()),
        (Some(_), None) => changes.push("proxy stopped".into()),
        _ => {}
    }
    changes
}
