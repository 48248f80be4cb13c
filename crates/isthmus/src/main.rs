//! The gateway's program.

use std::process::ExitCode;

fn main() -> ExitCode {
    isthmus::run()
}
