//! Output that nobody reads any more: `isthmus counters | head`.
//!
//! The program ends as SIGPIPE would end it. The signal itself stays ignored, because a gateway and a
//! laboratory also write to sockets and to children, whose end is not theirs.

use std::io::{self, ErrorKind};
use std::panic;
use std::process::{ExitCode, exit};

/// The exit status that a shell shows for SIGPIPE.
const STATUS: u8 = 141;
/// How the standard library's panic begins when `println!` fails.
const FAILED: &str = "failed printing to stdout";

/// From now on the program ends quietly when it prints and nobody reads. `before` runs first.
pub fn end_without(before: fn()) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        if said.starts_with(FAILED) {
            before();
            exit(STATUS.into());
        }
        usual(panic);
    }));
}

/// The exit status for an error that means that nobody reads; `None` for any other.
pub fn status(error: &anyhow::Error) -> Option<ExitCode> {
    let error: &io::Error = error.downcast_ref()?;
    (error.kind() == ErrorKind::BrokenPipe).then_some(ExitCode::from(STATUS))
}
