//! How many ports of the pools are in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use isthmus_core::nat::{self, Layout, Protocol};
use isthmus_engine::memory::Region;

use super::tables::Table;
use super::view::lock;
use crate::control::PoolStatus;

/// How old a count may be: it takes a walk over all bindings, and anybody may ask for metrics.
const AGE: Duration = Duration::from_secs(5);

/// The last counts, by instance.
#[derive(Debug, Default)]
pub(super) struct PortUse(Mutex<HashMap<Arc<str>, Count>>);

#[derive(Clone, Copy, Debug)]
struct Count {
    at: Instant,
    of: Layout,
    tcp: u64,
    udp: u64,
}

impl PortUse {
    /// The pool of an instance, and how much of it is in use.
    pub(super) fn pool(&self, memory: &Region, table: &Table, now: Instant) -> PoolStatus {
        let mut counts = lock(&self.0);
        let known = counts.get(&table.name).copied().filter(|count| {
            count.of == table.config.layout && now.saturating_duration_since(count.at) < AGE
        });
        let count = known.unwrap_or_else(|| {
            let count = count(memory, table, now);
            counts.insert(Arc::clone(&table.name), count);
            count
        });
        let pool = &table.config.pool;
        PoolStatus {
            addresses: pool.addresses().into(),
            ports: pool.ports(),
            tcp: count.tcp,
            udp: count.udp,
        }
    }
}

fn count(memory: &Region, table: &Table, now: Instant) -> Count {
    let mut count = Count {
        at: now,
        of: table.config.layout,
        tcp: 0,
        udp: 0,
    };
    for binding in nat::bindings(memory, &table.config) {
        match binding.protocol {
            Protocol::Tcp => count.tcp += 1,
            Protocol::Udp => count.udp += 1,
            // An identifier is no port.
            Protocol::Icmp => {}
        }
    }
    count
}
