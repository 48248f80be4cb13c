//! The memories of the core: arrays of lines, which user space maps. The loader sets how many lines there are of the first
//! two.

use isthmus_core::table::Line;

/// The map of bindings, sessions and fragments.
pub const STATE: &str = "STATE";
/// The map of the tables of the configuration.
pub const RULES: &str = "RULES";

/// The map of the [shares](isthmus_core::slow::shares) of the slow path.
pub const SHARES: &str = "SHARES";

/// `BPF_F_MMAPABLE`: user space works on the same memory.
pub const MMAPABLE: usize = 1 << 10;

/// A line as plain words: the type of a map's value. Programs and user space access it as a [`Line`].
pub type LineWords = [u64; 8];
const _: () = {
    assert!(size_of::<LineWords>() == size_of::<Line>());
    assert!(align_of::<LineWords>() == align_of::<Line>());
};
