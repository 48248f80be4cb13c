//! What has to be the same for a process to go on with the tables of another one.

use super::bound::Counted;
use super::capacity::Capacity;
use super::layout::Layout;

/// The version of the tables: how they are laid out, and what their words mean, the hashes included. Whoever
/// changes that gives it another number; a test (`tests/nat/format.rs`) notices. Counts are no part of it: whoever takes
/// tables over counts anew, the shares of networks included ([`recover`](fn@super::recover)).
pub const FORMAT: u32 = 3;

impl Layout {
    /// A capacity for which [`Layout::new`] makes this layout.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        Capacity {
            sessions: self.bound.most(Counted::Sessions),
            bindings: self.bound.most(Counted::Bindings),
            permissions: self.bound.most(Counted::Permissions),
            subscribers: self.bound.most(Counted::Subscribers),
            fragments: self.most_fragments(),
            traffic: self.traffic.count != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_known_by_its_capacity() {
        for [sessions, bindings, permissions, subscribers, fragments] in [
            [1, 1, 0, 0, 0],
            [6, 7, 5, 1, 2],
            [100, 70, 0, 9, 5],
            [1 << 20, 1 << 18, 1 << 19, 1 << 16, 999],
        ] {
            let capacity = Capacity {
                sessions,
                bindings,
                permissions,
                subscribers,
                fragments,
                traffic: sessions % 2 == 0,
            };
            let layout = Layout::new(77, &capacity);
            assert_eq!(Layout::new(77, &layout.capacity()), layout);
        }
    }
}
