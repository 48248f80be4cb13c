//! Whether the DNS64 service makes addresses that lead somewhere.

use crate::config::diagnose::{Diagnostic, Sink};
use crate::config::document::Document;
use crate::config::source::Span;

pub(super) fn check(document: &Document, sink: &Sink) {
    let Some(dns64) = &document.dns64 else { return };
    let translated = document.prefixes();
    if dns64.prefixes.is_empty() && translated.is_empty() {
        let place = dns64
            .listen
            .first()
            .map_or(Span::new(0, 0..0), |at| at.span);
        let message = "[dns64] has no prefix to make addresses with";
        let label = "needs `prefixes = [\"64:ff9b::/96\"]`, or an instance with a prefix";
        sink.push(Diagnostic::error(place, message, label));
    }
    for prefix in &dns64.prefixes {
        if !translated.is_empty() && !translated.contains(&prefix.value) {
            let message = format!("no instance translates {}", prefix.value);
            let label = "hosts will get addresses under this prefix, and another machine must translate their packets";
            sink.push(Diagnostic::warning(prefix.span, message, label));
        }
    }
    for upstream in &dns64.upstream {
        if let Some(listen) = dns64.listen.iter().find(|at| at.value == upstream.value) {
            let message = format!("the DNS64 would ask itself at {}", upstream.value);
            sink.push(
                Diagnostic::error(upstream.span, message, "expected another resolver")
                    .also(listen.span, "it listens here"),
            );
        }
    }
}
