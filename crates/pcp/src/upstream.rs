//! Whether a server has lost its state, by the epochs in its responses (RFC 6887 section 8.5).

use std::time::Duration;

/// Whether a server still has its mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// It does, by its epoch.
    Kept,
    /// It began anew.
    Lost,
}

/// The epoch of a server, and when it was heard of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Epoch(Option<Heard>);

#[derive(Clone, Copy, Debug)]
struct Heard {
    server: u64,
    client: u64,
}

impl Epoch {
    /// Takes the epoch of a response that came at `now`.
    pub(crate) fn hear(&mut self, epoch: Duration, now: Duration) -> Memory {
        let (server, client) = (epoch.as_secs(), now.as_secs());
        let before = self.0.replace(Heard { server, client });
        let Some(before) = before else {
            return Memory::Kept;
        };
        // It may go back by a second: messages may come in another order.
        if server + 1 < before.server {
            return Memory::Lost;
        }
        let server = server.saturating_sub(before.server);
        let client = client.saturating_sub(before.client);
        // Two seconds for rounding, a sixteenth for clocks.
        if client + 2 < server - server / 16 || server + 2 < client - client / 16 {
            return Memory::Lost;
        }
        Memory::Kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(between: (u64, u64)) -> Memory {
        let seconds = Duration::from_secs;
        let mut epoch = Epoch::default();
        assert_eq!(epoch.hear(seconds(5000), seconds(100)), Memory::Kept);
        let (server, client) = between;
        epoch.hear(seconds(server), seconds(client))
    }

    /// By the arithmetic of RFC 6887 section 8.5: 1600 seconds may be reported as 1498 to 1708.
    #[test]
    fn rfc6887_8_5_epochs() {
        for (server, client, expected) in [
            (5000, 100, Memory::Kept),
            (4999, 100, Memory::Kept),
            (4998, 100, Memory::Lost),
            (6600, 1700, Memory::Kept),
            (0, 1700, Memory::Lost),
            (5000 + 1498, 1700, Memory::Kept),
            (5000 + 1497, 1700, Memory::Lost),
            (5000 + 1708, 1700, Memory::Kept),
            (5000 + 1709, 1700, Memory::Lost),
        ] {
            assert_eq!(memory((server, client)), expected, "{server} at {client}");
        }
    }
}
