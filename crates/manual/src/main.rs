//! Writes a manual page for each command of the gateway into the folder that is named. It is no part of the gateway, which has
//! no need of what writes pages.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os()
        .nth(1)
        .ok_or("expected the folder of the pages")?;
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    // Each command has a page, and none of its own for `help`.
    let command = isthmus::command().disable_help_subcommand(true);
    Ok(clap_mangen::generate_to(command, folder)?)
}
