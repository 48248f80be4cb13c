//! What the fuzzers run: each target is a function of bytes that panics if something is wrong.
//!
//! The libFuzzer programs in `fuzz/fuzz_targets` call them, and the test `replay` of this crate
//! gives them every input of `fuzz/corpus`.

mod alg;
mod checked;
mod config;
mod dns64;
mod gateways;
mod pcp;
mod pref64;
mod proxy;
mod reader;
mod slow;
mod softwire46;
mod translate;

/// A target and its name, which is also that of its archive in `fuzz/corpus`.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const ALL: [Target; 9] = [
    ("alg", alg::run),
    ("config", config::run),
    ("dns64", dns64::run),
    ("pcp", pcp::run),
    ("pref64", pref64::run),
    ("proxy", proxy::run),
    ("slow", slow::run),
    ("softwire46", softwire46::run),
    ("translate", translate::run),
];

/// Runs the target of this name on an input.
///
/// # Panics
/// There is no such target, or it found something.
pub fn run(name: &str, input: &[u8]) {
    let target = ALL.iter().find(|(known, _)| *known == name);
    let (_, function) = target.unwrap_or_else(|| panic!("there is no target \"{name}\""));
    function(input);
}
