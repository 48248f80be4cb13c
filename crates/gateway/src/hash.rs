//! Numbers for texts, which are the same in every run.

/// FNV-1a, 32 bits.
pub(crate) fn of_name(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// FNV-1a, 64 bits, over texts one after another, of which each ends with an octet that UTF-8 does not have.
pub(crate) fn of_texts<'t>(texts: impl Iterator<Item = &'t str>) -> u64 {
    let octets = texts.flat_map(|text| text.bytes().chain([0xff]));
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the published test vectors of FNV-1a: "" and "foobar".
    #[test]
    fn fnv_1a() {
        assert_eq!(of_texts([].into_iter()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of_name("foobar"), 0xbf9c_f968);
        assert_ne!(
            of_texts(["a", "b"].into_iter()),
            of_texts(["ab", ""].into_iter())
        );
    }
}
