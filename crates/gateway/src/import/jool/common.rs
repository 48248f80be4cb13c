//! The keys of `global` that both programs have.

use ipnet::Ipv6Net;

use super::super::draft::Draft;
use super::super::json::Object;
use super::v6_net;

/// The prefix in which Jool translates addresses that RFC 6052 section 3.1 forbids there.
const WELL_KNOWN: &str = "64:ff9b::/96";

/// The plateaus that matter: no MTU of IPv6 is below 1280 (RFC 1191 section 7.1).
const PLATEAUS: [u32; 6] = [32000, 17914, 8166, 4352, 2002, 1492];

/// Keys about messages of the kernel's log.
pub(super) fn logging(global: &Object<'_>, draft: &mut Draft) {
    let debug = ["logging-debug", "trace"].map(|key| global.flag(key, false));
    if debug.contains(&true) {
        draft.heading("[log]");
        draft.comment("`isthmus counters` tells why packets were dropped.");
        draft.quote("level", "debug");
    }
    let instead = "`isthmus up` translates at once: start it when it is wanted";
    global.leave_if("manually-enabled", false, instead);
}

/// Writes the prefix, if there is one.
pub(super) fn pool6(global: &Object<'_>, draft: &mut Draft) -> Option<Ipv6Net> {
    let member = global.take("pool6").filter(|member| !member.is_null())?;
    let prefix = v6_net(&member)?;
    if ![32, 40, 48, 56, 64, 96].contains(&prefix.prefix_len()) {
        member.wrong("a length of 32, 40, 48, 56, 64 or 96 (RFC 6052 section 2.2)");
        return None;
    }
    draft.quote("prefix", prefix);
    if prefix.to_string() == WELL_KNOWN {
        draft.comment("Jool translates private addresses under this prefix, too.");
        draft.set("allow-non-global", true);
    }
    Some(prefix)
}

/// Writes how headers are treated.
pub(super) fn headers(global: &Object<'_>, draft: &mut Draft) {
    if global.flag("zeroize-traffic-class", false) {
        draft.set("traffic-class", 0);
    }
    let tos = global.take("tos").and_then(|member| member.number(0..=255));
    if global.flag("override-tos", false) {
        draft.set("tos", tos.unwrap_or(0));
    }
    let lowest = global.take("lowest-ipv6-mtu");
    if let Some(mtu) = lowest.and_then(|member| member.number(1280..=65535)) {
        draft.set("lowest-ipv6-mtu", mtu);
    }
    plateaus(global);
    draft.comment("Jool sends its own ICMP errors from an address of the machine. Write one here, for instance:");
    draft.comment("own-v4 = \"192.0.2.1\"");
}

fn plateaus(global: &Object<'_>) {
    let Some(member) = global.take("mtu-plateaus") else {
        return;
    };
    let values = member.array();
    let values = values.iter().map(|value| value.number(0..=65535));
    let Some(mut values) = values.collect::<Option<Vec<u32>>>() else {
        return;
    };
    values.retain(|mtu| (1281..65535).contains(mtu));
    values.sort_unstable_by(|a, b| b.cmp(a));
    if values != PLATEAUS {
        member.left_out("the plateaus are those of RFC 1191; there is nothing to do, unless routers report no MTU");
    }
}
