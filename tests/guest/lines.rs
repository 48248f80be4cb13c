//! Prints where the functions and the source lines of all BPF programs of this machine lie in memory: `function ADDRESS
//! PROGRAM/NUMBER` and `line ADDRESS FILE:LINE`. `bpftool prog dump jited linum` does so only where it was built with a
//! disassembler.
//! Compiled by `tests/guest/profile`.

use std::collections::HashMap;
use std::ffi::{c_int, c_long, c_uint};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

const BPF: c_long = 321;
const PROG_GET_NEXT_ID: c_int = 11;
const PROG_GET_FD_BY_ID: c_int = 13;
const OBJ_GET_INFO_BY_FD: c_int = 15;
const BTF_GET_FD_BY_ID: c_int = 19;

/// `bpf(2)` with these words as its attributes.
fn bpf(command: c_int, words: &mut [u32; 4]) -> c_long {
    // SAFETY: the kernel reads and writes 16 bytes, and what the words point to, which the callers own.
    unsafe { syscall(BPF, command, words.as_mut_ptr(), 16 as c_uint) }
}

/// Fills the information about an object of the kernel in.
fn info(object: c_long, into: &mut [u64]) {
    let address = into.as_mut_ptr() as u64;
    let mut words = [
        object as u32,
        size_of_val(into) as u32,
        address as u32,
        (address >> 32) as u32,
    ];
    assert_eq!(
        bpf(OBJ_GET_INFO_BY_FD, &mut words),
        0,
        "information about an object"
    );
}

/// The words of `struct bpf_prog_info` that are used, as 64-bit words of it.
const NAME: usize = 8;
const NUMBER_OF_FUNCTIONS: usize = 13;
const FUNCTIONS: usize = 14;
const BTF: usize = 16;
const LINES: usize = 18;
const LINE_INFO: usize = 19;
const PLACES: usize = 20;
const NUMBER_OF_PLACES: usize = 21;
const SIZE_OF_PLACE: usize = 22;

/// The strings of a BTF object.
fn strings(number: u32) -> Vec<u8> {
    let object = bpf(BTF_GET_FD_BY_ID, &mut [number, 0, 0, 0]);
    let mut data = vec![0_u8; 16 << 20];
    let mut about = [data.as_mut_ptr() as u64, data.len() as u64, 0, 0];
    info(object, &mut about);
    let word = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
    let start = word(4) + word(16);
    data[start..start + word(20)].to_vec()
}

fn main() {
    let mut known: HashMap<u32, Vec<u8>> = HashMap::new();
    let mut number = 0;
    loop {
        let mut words = [number, 0, 0, 0];
        if bpf(PROG_GET_NEXT_ID, &mut words) != 0 {
            return;
        }
        number = words[1];
        let object = bpf(PROG_GET_FD_BY_ID, &mut [number, 0, 0, 0]);
        let mut first = [0_u64; 28];
        info(object, &mut first);
        let lines = (first[LINES] >> 32) as usize;
        let places = first[NUMBER_OF_PLACES] as u32 as usize;
        if lines == 0 || places != lines {
            continue;
        }
        let functions = first[NUMBER_OF_FUNCTIONS] as u32 as usize;
        let mut entries = vec![0_u64; functions];
        let mut line_info = vec![[0_u32; 4]; lines];
        let mut addresses = vec![0_u64; places];
        let mut about = [0_u64; 28];
        about[NUMBER_OF_FUNCTIONS] = functions as u64;
        about[FUNCTIONS] = entries.as_mut_ptr() as u64;
        about[LINES] = (lines as u64) << 32;
        about[LINE_INFO] = line_info.as_mut_ptr() as u64;
        about[PLACES] = addresses.as_mut_ptr() as u64;
        about[NUMBER_OF_PLACES] = places as u64 | 16 << 32;
        about[SIZE_OF_PLACE] = 8;
        info(object, &mut about);
        let name: Vec<u8> = [first[NAME], first[NAME + 1]]
            .map(u64::to_le_bytes)
            .concat();
        let name = String::from_utf8_lossy(&name)
            .trim_end_matches('\0')
            .to_owned();
        for (number, entry) in entries.iter().enumerate() {
            println!("function {entry:x} {name}/{number}");
        }
        let names = known
            .entry(first[BTF] as u32)
            .or_insert_with_key(|&btf| strings(btf));
        let text = |at: u32| {
            let rest = &names[at as usize..];
            let end = rest.iter().position(|&byte| byte == 0).unwrap();
            String::from_utf8_lossy(&rest[..end]).into_owned()
        };
        for ([_, file, _, place], address) in line_info.iter().zip(addresses) {
            println!("line {address:x} {}:{}", text(*file), place >> 10);
        }
    }
}
