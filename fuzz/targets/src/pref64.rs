//! Any bytes as a router's message, and as addresses of `ipv4only.arpa`: what is read comes out again,
//! and what a prefix was found in was made with it.

use std::net::Ipv6Addr;

use isthmus_core::address::pref64::{WELL_KNOWN, prefix_of};
use isthmus_core::address::special::is_illegal_source_v6;
use isthmus_core::wire::pref64::Pref64;
use isthmus_core::wire::router::{Advertisement, Envelope, check_solicitation};

/// The first byte tells whether the rest is a message or addresses.
pub(crate) fn run(input: &[u8]) {
    match input.split_first() {
        Some((0, message)) => self::message(message),
        Some((_, addresses)) => self::addresses(addresses),
        None => {}
    }
}

fn message(message: &[u8]) {
    let envelope = Envelope {
        source: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
        hop_limit: 255,
    };
    if let Ok(advertisement) = Advertisement::parse(&envelope, message) {
        for option in advertisement.prefixes().flatten() {
            assert_eq!(Pref64::parse(&option.emit()), Ok(option));
            assert_eq!(option.lifetime.secs() % 8, 0);
        }
    }
    let far = Envelope {
        hop_limit: 254,
        ..envelope
    };
    assert!(Advertisement::parse(&far, message).is_err());
    assert!(check_solicitation(&far, message).is_err());
    let _ = check_solicitation(&envelope, message);
}

fn addresses(bytes: &[u8]) {
    let addresses = bytes.chunks_exact(16).take(64);
    let addresses: Vec<Ipv6Addr> = addresses
        .filter_map(|chunk| <[u8; 16]>::try_from(chunk).ok())
        .map(Ipv6Addr::from)
        .collect();
    for &address in &addresses {
        if let Ok(prefix) = prefix_of(address, &addresses) {
            let embedded = prefix.extract(address.into()).map(std::net::Ipv4Addr::from);
            assert!(
                embedded.is_some_and(|inside| WELL_KNOWN.contains(&inside)),
                "{address}"
            );
            assert!(!is_illegal_source_v6(prefix.network()), "{prefix}");
        }
    }
}
