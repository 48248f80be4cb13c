//! `isthmus schema`: the JSON Schema of the configuration.

use clap::Args;

/// The committed file, which `make docs` writes.
const SCHEMA: &str = include_str!("../../../../packaging/isthmus.schema.json");

/// Print the JSON Schema of the configuration, for editors
///
/// An editor that knows it completes keys, shows what they mean, and marks mistakes. It cannot see all of them:
/// `isthmus check` does.
#[derive(Args, Debug)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(&self) {
        print!("{SCHEMA}");
    }
}
