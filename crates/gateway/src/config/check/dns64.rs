//! Whether the DNS64 service can run, makes addresses that lead somewhere, and is not open to everybody.

use crate::config::check::Seen;
use crate::config::diagnose::{Diagnostic, Sink};
use crate::config::document::{Dns64, Document};

/// A list that holds half of all addresses or more is a list of everybody.
const EVERYBODY: u8 = 1;

pub(super) fn check(document: &Document, sink: &Sink) {
    let Some(dns64) = &document.dns64 else { return };
    prefixes(document, dns64, sink);
    sockets(dns64, sink);
    clients(dns64, sink);
}

fn prefixes(document: &Document, dns64: &Dns64, sink: &Sink) {
    let translated = document.prefixes();
    if dns64.prefixes.is_empty() && translated.is_empty() {
        let place = dns64.listen.first().map_or(dns64.heading, |at| at.span);
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
}

fn sockets(dns64: &Dns64, sink: &Sink) {
    let mut seen = Seen::new();
    for listen in &dns64.listen {
        seen.once(listen.value, listen.span, sink, || {
            format!("the DNS64 is told twice to listen at {}", listen.value)
        });
        if listen.value.ip().is_multicast() {
            let message = format!("`listen` has {}, a multicast address", listen.value);
            let label = "expected an address of this machine";
            sink.push(Diagnostic::error(listen.span, message, label));
        }
    }
    for upstream in &dns64.upstream {
        let ip = upstream.value.ip();
        if ip.is_unspecified() || ip.is_multicast() {
            let message = format!("`upstream` has {}, which no resolver has", upstream.value);
            let label = "expected the address of a resolver, such as \"192.0.2.53:53\"";
            sink.push(Diagnostic::error(upstream.span, message, label));
        }
        if let Some(listen) = dns64.listen.iter().find(|at| at.value == upstream.value) {
            let message = format!("the DNS64 would ask itself at {}", upstream.value);
            sink.push(
                Diagnostic::error(upstream.span, message, "expected another resolver")
                    .also(listen.span, "it listens here"),
            );
        }
    }
}

fn clients(dns64: &Dns64, sink: &Sink) {
    for network in dns64.allow.iter().flatten() {
        if network.value.prefix_len() <= EVERYBODY {
            let message = format!("the DNS64 answers everybody: `allow` has {}", network.value);
            let label =
                "strangers will have it flood others (RFC 5358): name the networks of your hosts";
            sink.push(Diagnostic::warning(network.span, message, label));
        }
    }
}
