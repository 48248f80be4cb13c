//! Whom limits are for: a client is an IPv4 address or an IPv6 /56, which is what a customer gets.
//!
//! Hosts of one customer or one link share a /56. So a single IPv6 address has half of what its client may
//! have, and no host takes all from its neighbours.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bits of an IPv6 address that a client's hosts have in common.
const SITE: u32 = 56;
/// Entries of a [`Buckets`] that one hash may lie in.
const WAYS: usize = 4;
/// Groups of so many entries: 32,768 clients take 600 KB.
const GROUPS: usize = 8_192;
const SECOND: u64 = 1_000_000_000;

/// One holder of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    /// An IPv4 address, or the first bits of an IPv6 address.
    Site(u128),
    /// An IPv6 address.
    Host(u128),
}

/// A client, as its address shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    site: Holder,
    host: Option<Holder>,
}

impl Client {
    /// The client with this address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self {
                site: Holder::Site(v4.to_ipv6_mapped().to_bits()),
                host: None,
            },
            IpAddr::V6(v6) => Self {
                site: Holder::Site(v6.to_bits() >> (128 - SITE) << (128 - SITE)),
                host: Some(Holder::Host(v6.to_bits())),
            },
        }
    }

    /// Its holders with the part of `whole` that each may have; the smaller first.
    fn parts(self, whole: u64) -> impl Iterator<Item = (Holder, u64)> {
        let host = self.host.map(|host| (host, whole.div_ceil(2)));
        host.into_iter().chain([(self.site, whole)])
    }
}

/// Token buckets for all clients in bounded memory. Each holds the tokens of one second.
///
/// An entry is the time at which a bucket is full again. When entries are short, the bucket that is
/// nearest to full is forgotten, and with it the least.
pub(crate) struct Buckets {
    hasher: RandomState,
    groups: Box<[Mutex<[Bucket; WAYS]>]>,
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    holder: u64,
    full_at: u64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            groups: (0..GROUPS).map(|_| Mutex::default()).collect(),
        }
    }
}

impl Buckets {
    /// Takes a token of a client that gets `rate` in a second, at `now` in nanoseconds; 0 is no limit. `Err`:
    /// there is none, and so many nanoseconds pass until there is.
    pub(crate) fn take(&self, client: Client, rate: u32, now: u64) -> Result<(), u64> {
        if rate == 0 {
            return Ok(());
        }
        client
            .parts(rate.into())
            .try_for_each(|(holder, rate)| self.take_one(holder, rate, now))
    }

    fn take_one(&self, holder: Holder, rate: u64, now: u64) -> Result<(), u64> {
        let hash = self.hasher.hash_one(holder);
        let group = &self.groups[hash as usize % GROUPS];
        let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
        let at = group
            .iter()
            .position(|bucket| bucket.holder == hash)
            .unwrap_or_else(|| nearest_to_full(&group));
        let bucket = &mut group[at];
        if bucket.holder != hash {
            *bucket = Bucket {
                holder: hash,
                full_at: 0,
            };
        }
        let full_at = bucket.full_at.max(now) + SECOND / rate;
        let most = now + SECOND;
        if full_at > most {
            return Err(full_at - most);
        }
        bucket.full_at = full_at;
        Ok(())
    }
}

fn nearest_to_full(group: &[Bucket; WAYS]) -> usize {
    let full_at = |at: &usize| group[*at].full_at;
    (0..WAYS).min_by_key(full_at).unwrap_or_default()
}

/// The number of things that each client has at the same time, such as connections. Clients without any
/// take no memory.
#[derive(Clone, Debug, Default)]
pub struct Shares(Arc<Mutex<HashMap<Holder, usize>>>);

/// One thing of a client. The client may have another when this is dropped.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    client: Client,
}

impl Shares {
    /// One more for a client that may have `most`; `None` if it has as many.
    #[must_use]
    pub fn take(&self, client: Client, most: usize) -> Option<Share> {
        let mut counts = self.counts();
        let full = |(holder, most): (Holder, u64)| {
            counts.get(&holder).is_some_and(|&has| has as u64 >= most)
        };
        if client.parts(most as u64).any(full) {
            return None;
        }
        for (holder, _) in client.parts(0) {
            *counts.entry(holder).or_default() += 1;
        }
        drop(counts);
        Some(Share {
            shares: self.clone(),
            client,
        })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Holder, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.shares.counts();
        for (holder, _) in self.client.parts(0) {
            if let Some(count) = counts.get_mut(&holder) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&holder);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Client {
        Client::of(text.parse().unwrap())
    }

    fn taken(buckets: &Buckets, who: &str, now: u64) -> usize {
        let tries = (0..1_000).map(|_| buckets.take(client(who), 100, now));
        tries.filter(Result::is_ok).count()
    }

    #[test]
    fn a_burst_of_one_second_then_the_rate() {
        let buckets = Buckets::default();
        assert_eq!(taken(&buckets, "192.0.2.1", 5 * SECOND), 100);
        assert_eq!(taken(&buckets, "192.0.2.1", 5 * SECOND + SECOND / 4), 25);
        assert_eq!(
            taken(&buckets, "192.0.2.2", 5 * SECOND),
            100,
            "another client"
        );
        assert_eq!(taken(&buckets, "::ffff:192.0.2.1", 60 * SECOND), 100);
        let wait = buckets.take(client("192.0.2.1"), 100, 60 * SECOND);
        assert_eq!(wait, Err(SECOND / 100));
        assert_eq!(buckets.take(client("192.0.2.1"), 0, 60 * SECOND), Ok(()));
    }

    #[test]
    fn a_host_has_half_of_its_site() {
        let buckets = Buckets::default();
        assert_eq!(taken(&buckets, "2001:db8:0:1::1", SECOND), 50);
        assert_eq!(taken(&buckets, "2001:db8:0:2::1", SECOND), 50);
        assert_eq!(taken(&buckets, "2001:db8:0:3::1", SECOND), 0);
        assert_eq!(
            taken(&buckets, "2001:db8:0:100::1", SECOND),
            50,
            "another /56"
        );
    }

    /// A million addresses neither take memory nor give a busy client a new bucket.
    #[test]
    fn a_flood_of_sources_does_not_wash_out_the_buckets_of_the_busy() {
        let buckets = Buckets::default();
        let busy: Vec<_> = (0..64).map(|n| format!("203.0.113.{n}")).collect();
        for who in &busy {
            assert_eq!(taken(&buckets, who, SECOND), 100);
        }
        for n in 0..1_000_000u32 {
            let source = Client::of(IpAddr::from(n.to_be_bytes()));
            let _ = buckets.take(source, 100, SECOND);
        }
        let again: usize = busy.iter().map(|who| taken(&buckets, who, SECOND)).sum();
        assert_eq!(again, 0);
    }

    #[test]
    fn shares_come_back() {
        let shares = Shares::default();
        let take = |who: &str| shares.take(client(who), 4);
        let host: Vec<_> = (0..3).filter_map(|_| take("2001:db8::1")).collect();
        assert_eq!(host.len(), 2, "half");
        let site: Vec<_> = (0..9)
            .filter_map(|n| take(&format!("2001:db8::2:{n}")))
            .collect();
        assert_eq!(site.len(), 2, "the rest");
        assert!(take("2001:db8:1::1").is_some() && take("192.0.2.1").is_some());
        drop(host);
        assert!(take("2001:db8::1").is_some());
        drop(site);
        assert!(shares.counts().is_empty());
    }
}
