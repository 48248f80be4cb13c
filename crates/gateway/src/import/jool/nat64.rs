//! An instance of `jool`: stateful NAT64.

use super::super::draft::Draft;
use super::super::json::{Member, Object};
use super::{bib, common, pool4};

/// Keys of `global` that only `jool` has.
pub(super) const KEYS: &[&str] = &[
    "address-dependent-filtering",
    "drop-icmpv6-info",
    "drop-externally-initiated-tcp",
    "udp-timeout",
    "tcp-est-timeout",
    "tcp-trans-timeout",
    "icmp-timeout",
    "maximum-simultaneous-opens",
    "source-icmpv6-errors-better",
    "logging-bib",
    "logging-session",
    "f-args",
    "handle-rst-during-fin-rcv",
    "ss-enabled",
    "ss-flush-asap",
    "ss-flush-deadline",
    "ss-capacity",
    "ss-max-payload",
    "ss-max-sessions-per-packet",
];

/// The timers: Jool's key and default in seconds, and ours.
const TIMERS: [(&str, u32, &str); 4] = [
    ("udp-timeout", 300, "udp"),
    ("tcp-est-timeout", 7200, "tcp-established"),
    ("tcp-trans-timeout", 240, "tcp-transitory"),
    ("icmp-timeout", 60, "icmp"),
];

/// Writes the log of bindings and sessions.
pub(super) fn records(global: &Object<'_>, draft: &mut Draft) {
    let [bindings, sessions] =
        ["logging-bib", "logging-session"].map(|key| global.flag(key, false));
    if !bindings && !sessions {
        return;
    }
    draft.heading("[records]");
    draft.comment("Jool writes into the kernel's log.");
    draft.quote("json", "/var/log/isthmus/records.jsonl");
    draft.quote("destinations", if sessions { "record" } else { "omit" });
}

/// Writes the keys of the instance.
pub(super) fn write(top: &Object<'_>, global: &Object<'_>, draft: &mut Draft) -> Option<()> {
    draft.quote("mechanism", "nat64");
    if !global.has(&["pool6"]) {
        global.wrong("has no \"pool6\": write the prefix with which the instance was made");
    }
    let prefix = common::pool6(global, draft);
    draft.comment("Jool serves everybody who reaches it. Name your networks here.");
    draft.list("inside", [super::super::draft::quoted("::/0")]);
    let pool = pool4::write(top, draft)?;
    draft.comment("Jool gives any address of the pool to any host, and bounds neither sessions nor their rate.");
    draft.set("subscriber-prefix", 128);
    draft.quote("pooling", "soft");
    draft.set("subscriber-session-rate", 0);
    common::headers(global, draft);
    filtering(global, draft);
    bib::write(top, &pool, prefix, draft);
    timers(global, draft);
    leave(global);
    Some(())
}

fn filtering(global: &Object<'_>, draft: &mut Draft) {
    let by_address = global.flag("address-dependent-filtering", false);
    let filtering = if by_address {
        "address-dependent"
    } else {
        "endpoint-independent"
    };
    draft.quote("filtering", filtering);
    let dropping = global.take("drop-externally-initiated-tcp");
    let drops = dropping.as_ref().and_then(Member::boolean) == Some(true);
    if let Some(member) = dropping.filter(|_| drops) {
        member.left_out(
            "bindings let TCP connections from outside in; have nftables drop them before: `tcp flags & (syn | ack) == \
             syn drop` for the addresses of the pool in a chain of the hook prerouting, with the user-space engine or \
             `forward = \"kernel\"`",
        );
    }
    if !drops {
        draft.comment(
            "Jool answers after six seconds, unless the host opens the connection itself.",
        );
    }
    draft.quote("unsolicited-syn", if drops { "drop" } else { "answer" });
    if let Some(member) = global.take("maximum-simultaneous-opens")
        && member.number(0..=u32::MAX).is_some_and(|most| most != 10)
    {
        member.left_out("at most 1024 wait; there is nothing to do");
    }
}

fn timers(global: &Object<'_>, draft: &mut Draft) {
    let read = |(key, default, name)| {
        let given = global.take(key).and_then(|member| seconds(&member));
        (name, given.unwrap_or(default))
    };
    let timers = TIMERS.map(read);
    let short = |&(name, seconds): &(_, u32)| match name {
        "tcp-established" => seconds < 7440,
        "udp" => seconds < 120,
        _ => false,
    };
    if timers.iter().any(short) {
        draft.comment("Timers below the minimum of RFC 6146 section 4, as Jool has them: UDP has 120 seconds there,");
        draft.comment("established TCP connections 7440.");
        draft.set("allow-short-timers", true);
    }
    draft.heading("[instance.timers]");
    for (name, seconds) in timers {
        draft.set(name, seconds);
    }
}

/// `[[HH:]MM:]SS[.mmm]`
fn seconds(member: &Member<'_>) -> Option<u32> {
    let expected = "a time such as \"2:00:00\", \"5:00\" or \"300\", of a second to a year";
    let text = member.string(expected)?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut total: Option<u64> = Some(0);
    let mut parts = 0;
    for part in whole.split(':') {
        let part = part.parse::<u32>().ok();
        total = total
            .zip(part)
            .and_then(|(total, part)| total.checked_mul(60)?.checked_add(part.into()));
        parts += 1;
    }
    let thousandths = match fraction {
        "" => Some(0),
        text if text.len() > 3 => None,
        text => text.parse::<u16>().ok(),
    };
    // A timer of less than it was would end sessions that Jool keeps.
    let up = thousandths.map(|thousandths| u64::from(thousandths != 0));
    let total = total.zip(up).map(|(total, up)| total + up);
    let total = total.filter(|total| parts <= 3 && (1..=31_536_000).contains(total));
    let Some(total) = total.and_then(|total| u32::try_from(total).ok()) else {
        member.wrong(expected);
        return None;
    };
    if up == Some(1) {
        member.left_out(&format!("timers have whole seconds: it is {total}"));
    }
    Some(total)
}

/// Takes what has no place here.
fn leave(global: &Object<'_>) {
    global.leave_if(
        "drop-icmpv6-info",
        true,
        "have nftables drop pings before: `icmpv6 type { echo-request, echo-reply } drop` for packets to the prefix \
         in a chain of the hook prerouting, with the user-space engine or `forward = \"kernel\"`",
    );
    global.leave_if(
        "source-icmpv6-errors-better",
        false,
        "errors always come from the router that sent them, under the prefix, so that traceroute shows it; there is \
         nothing to do",
    );
    global.leave_if(
        "handle-rst-during-fin-rcv",
        true,
        "sessions follow the states of RFC 6146 section 3.5.2 and RFC 7857 section 2.2; there is nothing to do",
    );
    if let Some(member) = global.take("f-args")
        && member.number(0..=15).is_some_and(|bits| bits != 11)
    {
        member.left_out("ports are chosen at random; for a host that needs one address, write `pooling = \"strict\"`");
    }
    let synchronised = global.take("ss-enabled");
    if let Some(member) = synchronised
        && member.boolean() == Some(true)
    {
        member.left_out(
            "gateways do not share sessions; sessions outlive a restart of the gateway, not the machine. With \
             `deterministic` or `static`, a second one may stand by",
        );
    }
    for key in KEYS.iter().filter(|key| key.starts_with("ss-")) {
        global.take(key);
    }
}
