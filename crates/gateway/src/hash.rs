//! A number for a name, which is the same in every run.

/// FNV-1a, 32 bits.
pub(crate) fn of_name(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
