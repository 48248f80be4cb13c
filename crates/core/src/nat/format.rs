//! What has to be the same for a process to go on with the tables of another one.

use super::capacity::Capacity;
use super::layout::Layout;

/// The version of the tables: how they are laid out, and what their words mean, the hashes included. Whoever
/// changes that gives it another number; a test (`tests/nat/format.rs`) notices.
pub const FORMAT: u32 = 1;

impl Layout {
    /// A capacity for which [`Layout::new`] makes this layout.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        let [sessions, bindings] = self.bound.most();
        Capacity {
            sessions,
            bindings,
            subscribers: self.subscribers.control.count * 6,
            fragments: self.most_fragments(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_known_by_its_capacity() {
        for (sessions, bindings, subscribers, fragments) in [
            (1, 1, 0, 0),
            (6, 7, 1, 2),
            (100, 70, 9, 5),
            (1 << 20, 1 << 18, 1 << 16, 999),
        ] {
            let layout = Layout::new(
                77,
                &Capacity {
                    sessions,
                    bindings,
                    subscribers,
                    fragments,
                },
            );
            assert_eq!(Layout::new(77, &layout.capacity()), layout);
        }
    }
}
