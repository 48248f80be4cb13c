//! `[instance.pcp]`

use std::net::IpAddr;

use isthmus_pcp::Limits;

use super::document::Pcp;
use super::nat::Side;
use super::section;
use super::table::{Reader, Value};

/// Reads the table.
pub(super) fn pcp(value: &Value<'_>, side: Side) -> Option<Pcp> {
    let (listen, clients) = match side {
        Side::V6 => (
            "[\"2001:db8::1\"]",
            "a list of networks such as \"2001:db8::/32\"",
        ),
        Side::V4 => (
            "[\"192.168.1.1\"]",
            "a list of networks such as \"192.168.1.0/24\"",
        ),
    };
    let reader = value.table(
        "[instance.pcp]",
        &format!("a table such as {{ listen = {listen} }}"),
    )?;
    let addresses = reader.require("listen", listen);
    let addresses = addresses.map(|value| {
        let addresses = section::each(&reader, "listen", "a list of addresses", |v| {
            Some(v.at(address(&v)?))
        });
        if addresses.is_empty() && value.value.as_array().is_some_and(|list| list.is_empty()) {
            value.refuse("is empty", format!("expected addresses such as {listen}"));
        }
        addresses
    });
    let clients = section::each(&reader, "clients", clients, |v| Some(v.at(v.network()?)));
    let lifetime = lifetime(&reader);
    let per_host = reader.get("per-host").and_then(|v| v.integer(1..=65_535));
    reader.finish(|_| None);
    let listen = addresses?;
    (!listen.is_empty()).then_some(Pcp {
        listen,
        clients,
        lifetime: lifetime?,
        per_host: per_host.unwrap_or(Limits::default().per_host as u32),
    })
}

fn address(value: &Value<'_>) -> Option<IpAddr> {
    let address = value.ip()?;
    if address.is_unspecified() || address.is_multicast() {
        value.refuse(
            format_args!("is {address}"),
            "expected an address of this machine that hosts inside send to, not one of all: \
             hosts outside must not ask (RFC 6887 section 8.2)",
        );
        return None;
    }
    Some(address)
}

/// RFC 6887 section 15 recommends these bounds.
fn lifetime(reader: &Reader<'_>) -> Option<(u32, u32)> {
    let seconds = |key| reader.get(key).and_then(|v| v.integer(1..=31_536_000));
    let usual = Limits::default();
    let shortest = seconds("min-lifetime").unwrap_or(usual.shortest.as_secs() as u32);
    let longest = seconds("max-lifetime").unwrap_or(usual.longest.as_secs() as u32);
    if shortest > longest {
        let value = reader.get("max-lifetime").or(reader.get("min-lifetime"))?;
        value.refuse(
            format_args!("makes the longest lifetime {longest} s, the shortest {shortest} s"),
            "expected `max-lifetime` to be no less than `min-lifetime`",
        );
        return None;
    }
    Some((shortest, longest))
}
