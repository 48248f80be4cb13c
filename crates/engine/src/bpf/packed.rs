//! Objects of BPF programs as the gateway carries them: packed, which is a quarter of their size.

/// An object, packed by this crate's build script.
#[derive(Hash)]
pub(super) struct Packed(pub(super) &'static [u8]);

/// The object of `crates/bpf` with this name.
macro_rules! packed {
    ($name:literal) => {
        $crate::bpf::packed::Packed(include_bytes!(concat!(
            env!("OUT_DIR"),
            "/",
            $name,
            ".bpf.o.zlib"
        )))
    };
}
pub(super) use packed;

impl Packed {
    /// The object.
    pub(super) fn unpack(&self) -> Vec<u8> {
        miniz_oxide::inflate::decompress_to_vec_zlib(self.0)
            .expect("the build script packs what this unpacks")
    }
}
