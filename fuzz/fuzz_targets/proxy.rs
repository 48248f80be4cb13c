#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| isthmus_fuzz_targets::run("proxy", input));
