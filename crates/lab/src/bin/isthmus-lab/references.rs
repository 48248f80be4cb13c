//! `isthmus lab references`

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use isthmus_lab::experiments::bench;

use super::bench::thoroughness;

/// Measure the kernel and other gateways alone, once each
#[derive(Args, Debug)]
pub(super) struct References {
    /// Short measurements
    #[arg(long)]
    quick: bool,
}

impl References {
    pub(super) fn run(&self) -> Result<ExitCode> {
        bench::references(
            &thoroughness(self.quick).effort(),
            |(name, result)| match result {
                Ok(figure) => println!("{name:<26} {figure}"),
                Err(error) => println!("{name:<26} not run: {error}"),
            },
        );
        Ok(ExitCode::SUCCESS)
    }
}
