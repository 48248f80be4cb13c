//! `tayga.conf`.
//!
//! TAYGA translates without state: by its prefix, by maps, and by maps that it makes for hosts that it sees
//! (`dynamic-pool`). The first two are a `siit`, the third alone is a `nat64`.

mod read;
mod write;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::draft::Draft;
use super::sink::{Place, Sink};

/// A value with its place.
#[derive(Clone)]
struct At<T> {
    value: T,
    place: Place,
}

/// The directives of a file, and of the maps that it names.
#[derive(Default)]
struct Directives {
    device: Option<At<String>>,
    own_v4: Option<At<Ipv4Addr>>,
    own_v6: Option<At<Ipv6Addr>>,
    prefix: Option<At<Ipv6Net>>,
    strict: Option<At<bool>>,
    pool: Option<At<Ipv4Net>>,
    maps: Vec<At<(Ipv4Net, Ipv6Net)>>,
    checksum: Option<At<Checksum>>,
    mtu: Option<At<u16>>,
    workers: Option<At<u16>>,
    addresses: Vec<At<IpNet>>,
    routes: Vec<At<IpNet>>,
    data_folder: Option<At<String>>,
    map_file: Option<At<String>>,
}

/// `udp-cksum-mode`
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checksum {
    Drop,
    Calculate,
    Forward,
}

/// Reads a file, and writes what it says.
pub(super) fn import(path: &Path, text: &str, sink: &Sink) -> Option<Draft> {
    let mut directives = Directives::default();
    read::file(path, text, &mut directives, sink);
    read::map_file(&mut directives, sink);
    write::write(path, &directives, sink)
}
