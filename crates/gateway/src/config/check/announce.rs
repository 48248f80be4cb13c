//! Checks that announcements to hosts are true and last.

use super::Seen;
use crate::config::diagnose::{Diagnostic, Sink};
use crate::config::document::Document;

pub(super) fn check(document: &Document, sink: &Sink) {
    let translated = document.prefixes();
    let mut seen = Seen::new();
    for announce in &document.announcements {
        let name = &announce.interface;
        if let Some(first) = seen.before(name.value.as_str(), name.span) {
            let message = format!("two [[announce]] are for \"{}\"", name.value);
            let label = "a link has one: list all `prefixes` there";
            sink.push(Diagnostic::error(name.span, message, label).also(first, "first here"));
        }
        if document.announced(announce).is_empty() {
            let message = "there is no prefix to announce";
            let label = "needs `prefixes = [\"64:ff9b::/96\"]`, or a `nat64` instance";
            sink.push(Diagnostic::error(name.span, message, label));
        }
        for prefix in &announce.prefixes {
            if !translated.is_empty() && !translated.contains(&prefix.value) {
                let message = format!("no instance translates {}", prefix.value);
                let label =
                    "hosts will send packets there, and another machine must translate them";
                sink.push(Diagnostic::warning(prefix.span, message, label));
            }
        }
        // What a host has heard holds until it hears the next.
        let lifetime = announce.lifetime.value;
        if lifetime < announce.interval.into() {
            let message = format!(
                "a prefix would be announced for {lifetime} s, every {} s at most",
                announce.interval
            );
            let label = "expected no less than `interval`; three times as much is usual";
            sink.push(Diagnostic::error(announce.lifetime.span, message, label));
        }
        // RFC 4861 section 6.2.1, AdvDefaultLifetime.
        if (1..announce.interval).contains(&announce.router_lifetime.value) {
            let message = format!(
                "a router would be announced for {} s, every {} s at most",
                announce.router_lifetime.value, announce.interval
            );
            let label = "expected 0, or no less than `interval`";
            sink.push(Diagnostic::error(
                announce.router_lifetime.span,
                message,
                label,
            ));
        }
    }
}
