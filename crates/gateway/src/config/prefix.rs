//! Translation prefixes, with advice where one is refused.

use ipnet::Ipv6Net;
use isthmus_core::address::{ivi, rfc6052};

use super::table::Value;

/// A prefix of RFC 6052.
pub(super) fn rfc6052(value: &Value<'_>) -> Option<rfc6052::Prefix> {
    let net = net(value)?;
    match rfc6052::Prefix::new(net.addr(), net.prefix_len()) {
        Ok(prefix) => Some(prefix),
        Err(error) => {
            let expected =
                "expected a prefix of 32, 40, 48, 56, 64 or 96 bits such as \"64:ff9b::/96\"";
            value.refuse(format_args!("is \"{net}\": {error}"), expected);
            None
        }
    }
}

/// A prefix of RFC 6219.
pub(super) fn ivi(value: &Value<'_>) -> Option<ivi::Prefix> {
    let net = net(value)?;
    match ivi::Prefix::new(net.addr(), net.prefix_len()) {
        Ok(prefix) => Some(prefix),
        Err(error) => {
            let expected = "expected a provider's prefix of 32 bits such as \"2001:db8::/32\"";
            value.refuse(format_args!("is \"{net}\": {error}"), expected);
            None
        }
    }
}

fn net(value: &Value<'_>) -> Option<Ipv6Net> {
    if value.value.as_str() == Some("auto") {
        value.refuse("is \"auto\"", "only with `mechanism = \"clat\"`");
        return None;
    }
    let net = value.routable_ipv6_net()?;
    if !value.value.as_str()?.contains('/') {
        value.refuse(
            format_args!("is \"{}\": it has no length", net.addr()),
            "expected an address and a length such as \"64:ff9b::/96\"",
        );
        return None;
    }
    Some(net)
}
