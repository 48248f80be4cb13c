//! `isthmus lab`: starts the laboratory, which is a program of its own.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Error, Result};
use clap::Args;

/// The laboratory's program.
const PROGRAM: &str = "isthmus-lab";
/// The exit status of a usage error, as in clap.
const USAGE: u8 = 2;

/// Show and measure gateways in networks of their own (needs root, except for calculations)
///
/// The laboratory is the program isthmus-lab, beside this one or on the path. It gets all arguments.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct Lab {
    /// A command of the laboratory, and its arguments
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl Lab {
    /// Replaces this process with the laboratory. Returns only if that fails.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let Some(program) = find() else {
            eprintln!(
                "isthmus: the laboratory is not installed: there is no {PROGRAM} beside this program or on the path. \
                 `make && make install` in the sources of Isthmus installs both."
            );
            return Ok(ExitCode::from(USAGE));
        };
        Err(start(&program, &self.arguments))
    }
}

/// Returns the laboratory's arguments for `isthmus help lab ...`, or `None` for other arguments.
pub(crate) fn help(mut arguments: impl Iterator<Item = OsString>) -> Option<Lab> {
    let help = arguments.next().filter(|word| word == "help")?;
    arguments.next().filter(|word| word == "lab")?;
    Some(Lab {
        arguments: [help].into_iter().chain(arguments).collect(),
    })
}

/// Returns the laboratory's program if it is installed: the one beside this program, or the first on the path.
pub(crate) fn find() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(PROGRAM))
        .find(|program| program.is_file())
}

/// Replaces this process with the laboratory. Returns the error if that fails.
pub(crate) fn start(program: &Path, arguments: &[OsString]) -> Error {
    let error = Command::new(program).args(arguments).exec();
    Error::new(error).context(format!("cannot start {}", program.display()))
}
