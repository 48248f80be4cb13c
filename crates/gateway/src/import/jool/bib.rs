//! `bib`: static bindings.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{Ipv4Net, Ipv6Net};

use super::super::draft::Draft;
use super::super::json::{Member, Object};
use super::pool4::Protocol;

/// Writes the bindings whose outside address is in the pool, and whose inside is a host.
pub(super) fn write(
    top: &Object<'_>,
    pool: &[Ipv4Net],
    prefix: Option<Ipv6Net>,
    draft: &mut Draft,
) {
    let Some(member) = top.take("bib") else {
        return;
    };
    let mut lines = Vec::new();
    for entry in member.array() {
        let Some(binding) = Binding::read(&entry) else {
            continue;
        };
        if !pool.iter().any(|net| net.contains(&binding.outside.0)) {
            entry.left_out(
                "its IPv4 address is not in the pool; Jool does not use it either. Put it into `pool`",
            );
        } else if prefix.is_some_and(|net| net.contains(&binding.inside.0)) {
            entry
                .left_out("its IPv6 address is under the prefix, where no host is; write the host");
        } else {
            lines.push(binding.line());
        }
    }
    if !lines.is_empty() {
        draft.list("static", lines);
    }
}

struct Binding {
    protocol: Protocol,
    inside: (Ipv6Addr, u16),
    outside: (Ipv4Addr, u16),
}

impl Binding {
    fn read(entry: &Member<'_>) -> Option<Self> {
        let object = entry.object()?;
        let protocol = object.require("protocol").and_then(|m| Protocol::read(&m));
        let inside = object.require("ipv6 address");
        let inside = inside.and_then(|m| endpoint(&m, "\"2001:db8::1#80\""));
        let outside = object.require("ipv4 address");
        let outside = outside.and_then(|m| endpoint(&m, "\"192.0.2.1#80\""));
        object.finish();
        Some(Self {
            protocol: protocol?,
            inside: inside?,
            outside: outside?,
        })
    }

    fn line(&self) -> String {
        let Self {
            protocol,
            inside: (v6, inside),
            outside: (v4, outside),
        } = self;
        format!(
            "{{ protocol = \"{}\", inside = \"[{v6}]:{inside}\", outside = \"{v4}:{outside}\" }}",
            protocol.key()
        )
    }
}

/// An address and a port, which Jool writes with `#`.
fn endpoint<A: FromStr>(member: &Member<'_>, example: &str) -> Option<(A, u16)> {
    let expected = format!("an address and a port from 1 to 65535 such as {example}");
    let text = member.string(&expected)?;
    let parts = text.split_once('#');
    let found = parts.and_then(|(a, p)| Some((a.parse().ok()?, p.parse().ok()?)));
    let found = found.filter(|(_, port)| *port != 0);
    if found.is_none() {
        member.wrong(expected);
    }
    found
}
