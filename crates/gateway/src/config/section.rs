//! The sections that a document has once, and the interfaces.

use std::path::PathBuf;

use tracing::Level;

use super::diagnose::Diagnostic;
use super::document::{
    Dns64, Engine, Forward, Gateway, Interface, Link, Log, LogFormat, Records, Routes, Side, Tun,
    XdpMode,
};
use super::prefix;
use super::source::At;
use super::table::{Reader, Value};

const NOWHERE: fn(&str) -> Option<String> = |_| None;

/// `[gateway]`; `name` is the name of the gateway if the file has none.
pub(super) fn gateway(reader: Option<Reader<'_>>, name: &str) -> Gateway {
    let default = |name: &str| PathBuf::from(format!("/run/isthmus/{name}.sock"));
    let Some(reader) = reader else {
        return Gateway {
            name: name.to_owned(),
            control: default(name),
            view_group: None,
            metrics: None,
        };
    };
    let name = reader
        .read("name", |v| v.name())
        .unwrap_or_else(|| name.to_owned());
    let control = reader.read("control", |v| path(&v));
    let gateway = Gateway {
        control: control.unwrap_or_else(|| default(&name)),
        view_group: reader.read("view-group", |v| v.name()),
        metrics: reader.read("metrics", |v| v.socket()),
        name,
    };
    reader.finish(NOWHERE);
    gateway
}

/// `[log]`
pub(super) fn log(reader: Option<Reader<'_>>) -> Log {
    let mut log = Log {
        level: Level::INFO,
        format: LogFormat::Text,
    };
    let Some(reader) = reader else { return log };
    log.level = reader.choice("level").unwrap_or(log.level);
    log.format = reader.choice("format").unwrap_or(log.format);
    reader.finish(NOWHERE);
    log
}

/// `[link]`
pub(super) fn link(reader: Option<Reader<'_>>) -> Link {
    let mut link = Link {
        ipv4_mtu: 1500,
        ipv6_mtu: 1500,
    };
    let Some(reader) = reader else { return link };
    let v4 = reader.read("ipv4-mtu", |v| v.integer(68..=u16::MAX));
    let v6 = reader.read("ipv6-mtu", |v| v.integer(1280..=u16::MAX));
    link.ipv4_mtu = v4.unwrap_or(link.ipv4_mtu);
    link.ipv6_mtu = v6.unwrap_or(link.ipv6_mtu);
    reader.finish(NOWHERE);
    link
}

/// One `[[interface]]`
pub(super) fn interface(reader: Reader<'_>) -> Option<Interface> {
    let name = reader.needs("name", "\"eth0\"", |v| Some(v.at(v.link_name()?)));
    let engine = match reader.get("engine") {
        Some(value) => value.choice().map(|engine| value.at(engine)),
        None => Some(reader.at(Engine::Auto)),
    };
    let mode = reader.get("mode");
    let forward = reader.get("forward");
    let kind = engine.as_ref().map(|engine| engine.value);
    if let (Some(mode), Some(Engine::Auto | Engine::Tc | Engine::User)) = (mode, kind) {
        mode.refuse("is for XDP programs", "only with `engine = \"xdp\"`");
    }
    if let (Some(forward), Some(Engine::User)) = (forward, kind) {
        forward.refuse(
            "is for BPF programs",
            "only with `engine = \"auto\"`, \"xdp\" or \"tc\"",
        );
    }
    let mode = mode.and_then(|v| v.choice()).unwrap_or(XdpMode::Auto);
    let forward = forward.and_then(|v| v.choice());
    let forward = forward.unwrap_or(Forward::Redirect);
    let side = reader.choice("side").unwrap_or(Side::Any);
    reader.finish(NOWHERE);
    Some(Interface {
        name: name?,
        engine: engine?,
        chosen: None,
        mode,
        forward,
        side,
    })
}

/// `[tun]`
pub(super) fn tun(reader: Option<Reader<'_>>, whole: super::source::Span) -> Tun {
    let mut tun = Tun {
        name: At {
            value: "isthmus0".to_owned(),
            span: whole,
        },
        queues: 1,
        mtu: 1500,
        addresses: Vec::new(),
        routes: Routes::Auto,
    };
    let Some(reader) = reader else { return tun };
    if let Some(value) = reader.get("name")
        && let Some(name) = value.link_name()
    {
        tun.name = value.at(name);
    }
    tun.queues = reader
        .read("queues", |v| v.integer(1..=64))
        .unwrap_or(tun.queues);
    let mtu = reader.read("mtu", |v| v.integer(1280..=u16::MAX));
    tun.mtu = mtu.unwrap_or(tun.mtu);
    tun.addresses = each(&reader, "addresses", "a list of addresses", |v| {
        Some(v.at(v.interface_address()?))
    });
    tun.routes = reader.choice("routes").unwrap_or(tun.routes);
    reader.finish(NOWHERE);
    tun
}

/// `[records]`
pub(super) fn records(reader: Option<Reader<'_>>) -> Records {
    let mut records = Records {
        rate: 1000,
        ..Records::default()
    };
    let Some(reader) = reader else { return records };
    records.heading = Some(reader.span);
    records.json = reader.read("json", |v| Some(v.at(path(&v)?)));
    records.syslog = reader.read("syslog", |v| v.socket());
    records.ipfix = reader.read("ipfix", |v| v.socket());
    records.carrier = reader.choice("ipfix-transport").unwrap_or_default();
    let rate = reader.read("rate", |v| v.integer(1..=10_000_000));
    records.rate = rate.unwrap_or(records.rate);
    records.destinations = reader.choice("destinations").unwrap_or_default();
    if records.json.is_none() && records.syslog.is_none() && records.ipfix.is_none() {
        let message = "[records] has no destination";
        let label = "needs `json`, `syslog` or `ipfix`";
        reader
            .sink
            .push(Diagnostic::error(reader.span, message, label));
    }
    reader.finish(NOWHERE);
    records
}

/// `[dns64]`
pub(super) fn dns64(reader: Reader<'_>) -> Dns64 {
    let sockets = |key, example| {
        let read = |v: Value<'_>| Some(v.at(v.socket()?));
        let list = reader.require(key, example)?;
        Some(filled(
            &list,
            "a list of addresses with ports",
            example,
            read,
        ))
    };
    let listen = sockets("listen", "[\"[::1]:53\"]").unwrap_or_default();
    let upstream = sockets("upstream", "[\"[2001:db8::53]:53\"]").unwrap_or_default();
    let allow = reader.get("allow").map(|list| {
        let read = |v: Value<'_>| Some(v.at(v.network()?));
        filled(&list, "a list of networks", "[\"2001:db8::/32\"]", read)
    });
    let rate = reader.read("client-rate", |v| v.integer(0..=1_000_000));
    let prefixes = each(&reader, "prefixes", "a list of prefixes", |v| {
        Some(v.at(prefix::rfc6052(&v)?))
    });
    let exclude = match reader.get("exclude") {
        // RFC 6147 section 5.1.4: IPv4-mapped addresses at least.
        None => vec!["::ffff:0:0/96".parse().unwrap_or_default()],
        Some(_) => each(&reader, "exclude", "a list of IPv6 networks", |v| {
            v.ipv6_net()
        }),
    };
    let cache = reader.read("cache-entries", |v| v.integer(0..=16_777_216));
    let heading = reader.span;
    reader.finish(NOWHERE);
    Dns64 {
        heading,
        listen,
        upstream,
        allow,
        client_rate: rate.unwrap_or(1_000),
        prefixes,
        exclude,
        cache_entries: cache.unwrap_or(65_536),
    }
}

/// The elements of a list that must have some.
pub(super) fn filled<'t, T>(
    list: &Value<'t>,
    expected: &str,
    example: &str,
    read: impl Fn(Value<'t>) -> Option<T>,
) -> Vec<T> {
    let elements = list.list(expected);
    if elements.is_empty() && list.value.as_array().is_some() {
        list.refuse(
            "is empty",
            format!("expected {expected}, such as {example}"),
        );
    }
    elements.into_iter().filter_map(read).collect()
}

/// The elements of a list that may be absent.
pub(super) fn each<'t, T>(
    reader: &Reader<'t>,
    key: &'static str,
    expected: &str,
    read: impl Fn(Value<'t>) -> Option<T>,
) -> Vec<T> {
    let list = reader
        .get(key)
        .map(|v| v.list(expected))
        .unwrap_or_default();
    list.into_iter().filter_map(read).collect()
}

pub(super) fn path(value: &Value<'_>) -> Option<PathBuf> {
    value.parse("the path of a file", |text| match text {
        "" => Err("it is empty"),
        _ if text.contains('\0') => Err("it has a null byte"),
        _ => Ok(PathBuf::from(text)),
    })
}
