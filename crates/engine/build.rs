//! Packs the BPF programs: without that they are a tenth of the gateway.

use std::ops::Range;
use std::path::Path;
use std::{env, fs};

use object::{Object, ObjectSection};

const OBJECTS: [&str; 3] = ["isthmus", "isthmus-weakly-ordered", "trace"];
/// The smallest that there is in a second.
const LEVEL: u8 = 9;
/// Set in the environment, it keeps the numbers of lines: `tests/guest/profile` asks the kernel for them.
const KEEP_LINES: &str = "ISTHMUS_KEEP_LINES";

fn main() {
    let out = env::var("OUT_DIR").expect("cargo names a folder");
    println!("cargo::rerun-if-env-changed={KEEP_LINES}");
    let keep_lines = env::var_os(KEEP_LINES).is_some();
    for name in OBJECTS {
        let object = format!("../bpf/{name}.bpf.o");
        println!("cargo::rerun-if-changed={object}");
        let mut content = fs::read(&object).unwrap_or_else(|error| panic!("{object}: {error}"));
        if let Some(types) = types(&content).filter(|_| !keep_lines) {
            forget_lines(&mut content[types]);
        }
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&content, LEVEL);
        let to = Path::new(&out).join(format!("{name}.bpf.o.zlib"));
        fs::write(to, packed).expect("cargo's folder can be written");
    }
}

/// Where an object has the types and lines of its functions: the section `.BTF.ext`.
fn types(object: &[u8]) -> Option<Range<usize>> {
    let file = object::File::parse(object).expect("an object is an ELF file");
    let (offset, length) = file.section_by_name(".BTF.ext")?.file_range()?;
    Some(offset as usize..(offset + length) as usize)
}

/// Takes the numbers of lines of source from a section `.BTF.ext`, of which only a verifier's log tells. They are two fifths of an
/// object, and aya copies all lines of a section for each function in it: two thirds of its work on an object.
///
/// The header is that of the kernel's `Documentation/bpf/btf.rst`: its own length, then offsets and lengths of what follows
/// it, first of the types, then of the lines.
fn forget_lines(section: &mut [u8]) {
    const HEADER: usize = 4;
    const OFFSET: usize = 16;
    const LENGTH: usize = 20;
    let word = |at: usize| {
        let octets = section[at..at + 4].try_into().expect("four octets");
        u32::from_le_bytes(octets) as usize
    };
    let from = word(HEADER) + word(OFFSET);
    let lines = from..from + word(LENGTH);
    section[lines].fill(0);
    section[LENGTH..LENGTH + 4].fill(0);
}
