//! Packs the BPF programs: without that they are a tenth of the gateway.

use std::path::Path;
use std::{env, fs};

const OBJECTS: [&str; 3] = ["isthmus", "isthmus-weakly-ordered", "trace"];
/// The smallest that there is in a second.
const LEVEL: u8 = 9;

fn main() {
    let out = env::var("OUT_DIR").expect("cargo names a folder");
    for name in OBJECTS {
        let object = format!("../bpf/{name}.bpf.o");
        println!("cargo::rerun-if-changed={object}");
        let content = fs::read(&object).unwrap_or_else(|error| panic!("{object}: {error}"));
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&content, LEVEL);
        let to = Path::new(&out).join(format!("{name}.bpf.o.zlib"));
        fs::write(to, packed).expect("cargo's folder can be written");
    }
}
