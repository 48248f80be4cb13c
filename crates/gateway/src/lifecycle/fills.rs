//! How full the tables are, and who fills them: for `status`, for metrics, and in the log when a table refuses.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use isthmus_core::nat::{self, Fill};
use isthmus_core::table::Memory;

use super::tables::Table;
use crate::control::TableStatus;

/// The time between two lines of the log about one table.
const INTERVAL: Duration = Duration::from_secs(60);
/// Sessions that are looked at to find who has the most. They lie in the order of their hashes.
const SAMPLE: u32 = 4096;
/// The prefix lengths of the networks that are told of: what sites and small providers have.
const NETWORK_V6: u8 = 48;
const NETWORK_V4: u8 = 16;

/// Returns how full the tables of an instance are.
pub(super) fn of(memory: &impl Memory, table: &Table) -> Vec<TableStatus> {
    let status = |fill: Fill| TableStatus {
        table: fill.table.name().into(),
        used: fill.used,
        limit: fill.limit.into(),
        refused: fill.refused,
    };
    nat::fills(memory, &table.config).map(status).collect()
}

/// Refusals that were told of already, by instance and table.
#[derive(Default)]
pub(super) struct Crowding(HashMap<(Arc<str>, &'static str), Told>);

struct Told {
    refused: u64,
    at: Instant,
}

impl Crowding {
    /// Writes to the log which tables refuse entries, and who has most of them; for each not more than once a minute.
    pub(super) fn look(&mut self, memory: &impl Memory, tables: &[Table], now: Instant) {
        for table in tables {
            for fill in nat::fills(memory, &table.config) {
                if let Some(refused) = self.news(table, &fill, now) {
                    tell(memory, table, &fill, refused);
                }
            }
        }
    }

    /// Returns the refusals since they were told of, if it is time to tell of them.
    fn news(&mut self, table: &Table, fill: &Fill, now: Instant) -> Option<u64> {
        let key = (Arc::clone(&table.name), fill.table.name());
        let told = self.0.entry(key).or_insert_with(|| Told {
            refused: 0,
            at: now.checked_sub(INTERVAL).unwrap_or(now),
        });
        // A reload that makes the table anew begins at 0.
        let refused = fill
            .refused
            .checked_sub(told.refused)
            .unwrap_or(fill.refused);
        if refused == 0 || now.duration_since(told.at) < INTERVAL {
            return None;
        }
        *told = Told {
            refused: fill.refused,
            at: now,
        };
        Some(refused)
    }
}

fn tell(memory: &impl Memory, table: &Table, fill: &Fill, refused: u64) {
    tracing::warn!(
        instance = %table.name,
        table = fill.table.name(),
        used = fill.used,
        limit = fill.limit,
        refused,
        "a table refuses entries; {}",
        hoarders(memory, table)
    );
}

/// Describes who has the most sessions, by a sample.
fn hoarders(memory: &impl Memory, table: &Table) -> String {
    let mut subscribers = HashMap::new();
    let mut networks = HashMap::new();
    let mut seen = 0;
    let all = 0..table.config.layout.buckets();
    let _ = nat::sessions(memory, &table.config, all, |session| {
        seen += 1;
        let inside = session.binding.inside.host();
        *subscribers.entry(table.subscriber(inside)).or_insert(0) += 1;
        *networks.entry(network(inside)).or_insert(0) += 1;
        if seen < SAMPLE {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    match (most(&subscribers), most(&networks)) {
        (Some((subscriber, own)), Some((network, shared))) => {
            let percent = |count: u32| 100 * count / seen;
            format!(
                "of the sessions subscriber {subscriber} has most, about {} %, and network {network} about {} %",
                percent(own),
                percent(shared)
            )
        }
        _ => "there are no sessions".into(),
    }
}

fn network(host: IpAddr) -> IpNet {
    let bits = if host.is_ipv6() {
        NETWORK_V6
    } else {
        NETWORK_V4
    };
    IpNet::new(host, bits).map_or_else(|_| host.into(), |net| net.trunc())
}

fn most<T: Copy + Eq + Hash>(counts: &HashMap<T, u32>) -> Option<(T, u32)> {
    let counts = counts.iter().map(|(who, count)| (*who, *count));
    counts.max_by_key(|(_, count)| *count)
}
