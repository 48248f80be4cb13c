//! `subscriber-limits`: what single subscribers may have, where that differs from all others (RFC 6888 REQ-4).

use isthmus_core::nat::{Inside, Limits, MOST_OWN_LIMITS, OwnLimits};

use super::diagnose::Diagnostic;
use super::document::Nat;
use super::nat::{MOST_SESSIONS_PER_SECOND, interval};
use super::pcp::Asking;
use super::section;
use super::source::At;
use super::table::{Reader, Value};

/// The entries for an instance with these subscribers. What an entry leaves out is as for all.
pub(super) fn of(reader: &Reader<'_>, asking: Asking, nat: &Nat) -> Vec<At<OwnLimits>> {
    const KEY: &str = "subscriber-limits";
    let entries = section::each(reader, KEY, "a list of subscribers with limits", |value| {
        entry(&value, asking, nat.limits())
    });
    if let Some(list) = reader.get(KEY)
        && entries.len() > MOST_OWN_LIMITS as usize
    {
        list.refuse(
            format!("has {} subscribers", entries.len()),
            format!("expected {MOST_OWN_LIMITS} at most"),
        );
    }
    refuse_repetitions(reader, asking, nat, &entries);
    entries
}

fn entry(value: &Value<'_>, asking: Asking, of_all: Limits) -> Option<At<OwnLimits>> {
    let (address, example) = match asking {
        Asking::V6 | Asking::Softwires => ("\"2001:db8:1:2::\"", "2001:db8:1:2::"),
        Asking::V4 => ("\"10.0.0.7\"", "10.0.0.7"),
    };
    let table = value.table(
        "an entry of `subscriber-limits`",
        &format!("a table such as {{ subscriber = \"{example}\", sessions = 200 }}"),
    )?;
    let subscriber = table.needs("subscriber", address, |v| match asking {
        Asking::V6 | Asking::Softwires => v.ipv6().map(|address| Inside {
            address: address.into(),
            ..Inside::default()
        }),
        Asking::V4 => v.ipv4().map(|address| Inside {
            v4: address.into(),
            ..Inside::default()
        }),
    });
    let most = |key, of_all| {
        let own = table.read(key, |v| v.integer(0..=u32::MAX));
        own.unwrap_or(of_all)
    };
    let rate = table.read("session-rate", |v| v.integer(0..=MOST_SESSIONS_PER_SECOND));
    let limits = Limits {
        bindings: most("bindings", of_all.bindings),
        sessions: most("sessions", of_all.sessions),
        session_interval: rate.map_or(of_all.session_interval, interval),
    };
    table.finish(|_| None);
    Some(value.at(OwnLimits {
        subscriber: subscriber?,
        limits,
    }))
}

/// Two entries for one subscriber are a mistake, whichever of them is meant.
fn refuse_repetitions(reader: &Reader<'_>, asking: Asking, nat: &Nat, entries: &[At<OwnLimits>]) {
    let length = match asking {
        Asking::V6 => nat.subscriber_prefix,
        Asking::V4 | Asking::Softwires => 128,
    };
    let name = |entry: &At<OwnLimits>| {
        let Inside { address, v4, .. } = entry.value.subscriber;
        (
            u128::from(std::net::Ipv6Addr::from(address)) >> (128 - length),
            v4,
        )
    };
    for (number, entry) in entries.iter().enumerate() {
        let before = entries[..number].iter();
        if let Some(first) = before.rev().find(|first| name(first) == name(entry)) {
            let message = "a subscriber has limits of its own twice";
            let diagnostic = Diagnostic::error(entry.span, message, "the same subscriber again");
            reader
                .sink
                .push(diagnostic.also(first.span, "its limits are given here"));
        }
    }
}
