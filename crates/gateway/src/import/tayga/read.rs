//! The lines of the file.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::super::sink::{Place, Sink};
use super::{At, Checksum, Directives};

/// A directive and its words.
struct Line<'l> {
    name: String,
    words: Vec<&'l str>,
    place: Place,
    sink: &'l Sink,
}

/// Reads all lines of the file.
pub(super) fn file(path: &Path, text: &str, into: &mut Directives, sink: &Sink) {
    for line in lines(path, text, sink) {
        line.directive(into);
    }
}

/// Reads the maps of the file that `map-file` names.
pub(super) fn map_file(into: &mut Directives, sink: &Sink) {
    let Some(named) = into.map_file.clone() else {
        return;
    };
    let folder = into.data_folder.as_ref().map_or("", |folder| &folder.value);
    let path = Path::new(folder).join(&named.value);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let problem = format!("cannot read the map-file {}: {error}", path.display());
            sink.mistake(named.place, problem);
            return;
        }
    };
    for line in lines(&path, &text, sink) {
        match line.name.as_str() {
            "map" => line.map(into),
            _ => line.wrong("only `map` is expected in a map-file"),
        }
    }
}

fn lines<'l>(path: &Path, text: &'l str, sink: &'l Sink) -> Vec<Line<'l>> {
    let file = path.display().to_string();
    let line = |(index, line): (usize, &'l str)| {
        let mut words = line.split_whitespace();
        let words = words.by_ref().take_while(|word| !word.starts_with('#'));
        let mut words: Vec<&str> = words.collect();
        if words.is_empty() {
            return None;
        }
        Some(Line {
            name: words.remove(0).to_lowercase(),
            words,
            place: Place::Line(file.clone(), index + 1),
            sink,
        })
    };
    text.lines().enumerate().filter_map(line).collect()
}

impl Line<'_> {
    fn directive(&self, into: &mut Directives) {
        match self.name.as_str() {
            "tun-device" => self.once(&mut into.device, |text| Some(text.to_owned()), "a name"),
            "ipv4-addr" => self.once(&mut into.own_v4, parsed, "an IPv4 address"),
            "ipv6-addr" => self.once(&mut into.own_v6, parsed, "an IPv6 address"),
            "prefix" => self.once(&mut into.prefix, prefix, "an IPv6 prefix of RFC 6052"),
            "wkpf-strict" => self.once(&mut into.strict, switch, "`yes` or `no`"),
            "dynamic-pool" => self.once(&mut into.pool, network, "an IPv4 network"),
            "map" => self.map(into),
            "udp-cksum-mode" => {
                self.once(&mut into.checksum, checksum, "`drop`, `calc` or `fwd`");
            }
            "offlink-mtu" => self.once(&mut into.mtu, mtu, "bytes from 1280 to 65535"),
            "workers" => self.once(&mut into.workers, parsed, "a number"),
            "tun-ip" => self.more(&mut into.addresses, address),
            "tun-route" => self.more(&mut into.routes, route),
            "data-dir" => {
                let path = |text: &str| text.starts_with('/').then(|| text.to_owned());
                self.once(&mut into.data_folder, path, "an absolute path");
            }
            "map-file" => {
                self.once(&mut into.map_file, |text| Some(text.to_owned()), "a path");
            }
            // The gateway's link is up while it runs.
            "tun-up" => {}
            _ => self.other(),
        }
    }

    /// The directives that are never carried over.
    fn other(&self) {
        let instead = match self.name.as_str() {
            "log" => {
                "`isthmus counters` tells why packets were dropped, and `level` of `[log]` what is logged"
            }
            "strict-frag-hdr" => {
                let on = ["true", "on", "1"];
                let first = self.words.first().map(|word| word.to_lowercase());
                if !first.is_some_and(|word| on.contains(&word.as_str())) {
                    return;
                }
                "RFC 7915 section 4 adds no fragment header to whole packets; there is nothing to do"
            }
            _ => return self.wrong("TAYGA has no such directive"),
        };
        let value = format!("{} {}", self.name, self.words.join(" "));
        self.sink.left_out(self.place.clone(), value, instead);
    }

    /// `map IPV4[/LENGTH] IPV6[/LENGTH]`
    fn map(&self, into: &mut Directives) {
        const EXPECTED: &str =
            "expected `map 192.0.2.1 2001:db8::1`, or two networks of as many addresses";
        let [v4, v6] = self.words[..] else {
            return self.wrong(EXPECTED);
        };
        match network(v4).zip(v6_network(v6)) {
            Some((v4, v6)) if 32 - v4.prefix_len() == 128 - v6.prefix_len() => {
                into.maps.push(self.at((v4, v6)));
            }
            _ => self.wrong(EXPECTED),
        }
    }

    fn once<T>(&self, slot: &mut Option<At<T>>, read: impl Fn(&str) -> Option<T>, expected: &str) {
        if slot.is_some() {
            return self.wrong(format_args!("`{}` is there twice", self.name));
        }
        *slot = self.word(read, expected);
    }

    fn more<T>(&self, list: &mut Vec<At<T>>, read: impl Fn(&str) -> Option<T>) {
        list.extend(self.word(read, "a network or an address"));
    }

    fn word<T>(&self, read: impl Fn(&str) -> Option<T>, expected: &str) -> Option<At<T>> {
        let value = match self.words[..] {
            [word] => read(word),
            _ => None,
        };
        if value.is_none() {
            let (name, words) = (&self.name, self.words.join(" "));
            self.wrong(format_args!("`{name}` is \"{words}\"; expected {expected}"));
        }
        value.map(|value| self.at(value))
    }

    fn at<T>(&self, value: T) -> At<T> {
        let place = self.place.clone();
        At { value, place }
    }

    fn wrong(&self, problem: impl Display) {
        self.sink.mistake(self.place.clone(), problem);
    }
}

fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// TAYGA takes everything but `no` for `yes`.
fn switch(text: &str) -> Option<bool> {
    Some(text != "no")
}

fn checksum(text: &str) -> Option<Checksum> {
    match text {
        "drop" => Some(Checksum::Drop),
        "calc" => Some(Checksum::Calculate),
        "fwd" => Some(Checksum::Forward),
        _ => None,
    }
}

fn mtu(text: &str) -> Option<u16> {
    text.parse().ok().filter(|mtu| *mtu >= 1280)
}

fn prefix(text: &str) -> Option<Ipv6Net> {
    let prefix = v6_network(text)?;
    [32, 40, 48, 56, 64, 96]
        .contains(&prefix.prefix_len())
        .then_some(prefix)
}

/// A network, or an address alone.
fn network(text: &str) -> Option<Ipv4Net> {
    let address = || Some(Ipv4Net::from(text.parse::<std::net::Ipv4Addr>().ok()?));
    let net: Ipv4Net = parsed(text).or_else(address)?;
    (net.trunc() == net).then_some(net)
}

fn v6_network(text: &str) -> Option<Ipv6Net> {
    let address = || Some(Ipv6Net::from(text.parse::<std::net::Ipv6Addr>().ok()?));
    let net: Ipv6Net = parsed(text).or_else(address)?;
    (net.trunc() == net).then_some(net)
}

/// An address with the length of its network, whose other bits may be set.
fn address(text: &str) -> Option<IpNet> {
    let address = || Some(IpNet::from(text.parse::<std::net::IpAddr>().ok()?));
    parsed(text).or_else(address)
}

fn route(text: &str) -> Option<IpNet> {
    address(text).map(|net| net.trunc())
}
