//! Whether the proxy can run, and is not open to everybody.

use std::net::SocketAddr;

use crate::config::check::Seen;
use crate::config::diagnose::{Diagnostic, Sink};
use crate::config::document::{Document, Proxy};
use crate::config::source::At;

/// A network of half of all addresses or more is everybody.
const EVERYBODY: u8 = 1;

pub(super) fn check(document: &Document, sink: &Sink) {
    let Some(proxy) = &document.proxy else { return };
    listening(document, proxy, sink);
    clients(proxy, sink);
    if proxy.resolvers.is_empty() && document.dns64.is_none() {
        let message = "[proxy] has nobody to ask for names";
        let label =
            "needs `resolvers = [\"[2001:db8::53]:53\"]`, or a [dns64] whose resolvers it asks";
        sink.push(Diagnostic::error(proxy.heading, message, label));
    }
    for resolver in &proxy.resolvers {
        let ip = resolver.value.ip();
        if ip.is_unspecified() || ip.is_multicast() {
            let message = format!("`resolvers` has {}, which no resolver has", resolver.value);
            let label = "expected the address of a resolver, such as \"192.0.2.53:53\"";
            sink.push(Diagnostic::error(resolver.span, message, label));
        }
    }
}

fn listening(document: &Document, proxy: &Proxy, sink: &Sink) {
    let all: Vec<&At<SocketAddr>> = proxy.listening().collect();
    if all.is_empty() {
        let label = "needs `listen = [\"[2001:db8::1]:3128\"]`, `socks` or `sites`";
        let message = "[proxy] listens nowhere";
        sink.push(Diagnostic::error(proxy.heading, message, label));
    }
    let mut seen = Seen::new();
    for listen in all {
        seen.once(listen.value, listen.span, sink, || {
            format!("the proxy is told twice to listen at {}", listen.value)
        });
        if listen.value.ip().is_multicast() {
            let message = format!("{} is a multicast address", listen.value);
            let label = "expected an address of this machine";
            sink.push(Diagnostic::error(listen.span, message, label));
        }
        if document.gateway.metrics == Some(listen.value) {
            let message = format!("the metrics are served at {} already", listen.value);
            let label = "expected another port";
            sink.push(Diagnostic::error(listen.span, message, label));
        }
    }
}

fn clients(proxy: &Proxy, sink: &Sink) {
    for network in &proxy.allow {
        let is_everybody = network.value.prefix_len() <= EVERYBODY;
        let knows_users = proxy.users.is_some() && proxy.sites.is_empty();
        if is_everybody && proxy.destinations.is_empty() && !knows_users {
            let message = format!("an open proxy: `allow` has {}", network.value);
            let label = "strangers will hide behind it: name the networks of your clients, or those that they may \
                         reach by `destinations`, or ask for passwords by `users`";
            sink.push(Diagnostic::error(network.span, message, label));
        }
    }
}
