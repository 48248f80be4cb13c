//! A configuration on a capture file instead of on links: how it is tried out and tested.

use std::io;

use isthmus_core::nat::{StaticBinding, StaticError};
use isthmus_core::time::Instant;
use isthmus_engine::bpf::{self, Hook, KernelTranslator};
use isthmus_engine::memory::Region;
use isthmus_engine::offline::UserTranslator;

use crate::config::{CompileError, Compiled, Document, Secrets};

/// Why a configuration cannot run on a capture file.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No engine takes it.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The system has no memory for its tables.
    #[error("no memory for the tables of the configuration: {0}")]
    Memory(#[from] io::Error),
    /// A static binding has no place in the tables.
    #[error("the static binding of {:?} cannot be made: {error:?}", binding.outside)]
    Static {
        /// The binding.
        binding: Box<StaticBinding>,
        /// Why not.
        error: StaticError,
    },
    /// The kernel does not take the programs.
    #[error("cannot run in the kernel, which needs root: {0}")]
    Kernel(#[from] bpf::Error),
}

/// The user-space engine with this configuration. The same seed gives the same choices.
///
/// # Errors
/// See [`CaptureError`].
pub fn user(document: &Document, seed: u64) -> Result<UserTranslator, CaptureError> {
    let compiled = document.compile(&Secrets::repeated(seed))?;
    let state = Region::anonymous(compiled.state_lines)?;
    fill_tables(&compiled, &state)?;
    Ok(UserTranslator::new(compiled.ruleset()?, state, seed))
}

/// Where an engine in the kernel comes from.
#[derive(Debug)]
pub enum Programs {
    /// The kernel has yet to load them, which takes it seconds.
    Fresh(Hook),
    /// They have done their work with another configuration.
    Used(Box<KernelTranslator>),
}

/// An engine in the kernel with this configuration, empty tables, and counters at zero. Moves the
/// calling thread to a network namespace of its own.
///
/// # Errors
/// See [`CaptureError`].
pub fn kernel(
    document: &Document,
    seed: u64,
    programs: Programs,
) -> Result<KernelTranslator, CaptureError> {
    let compiled = document.compile(&Secrets::repeated(seed))?;
    let (ruleset, lines) = (compiled.ruleset()?, compiled.state_lines);
    let translator = match programs {
        Programs::Fresh(hook) => KernelTranslator::new(hook, ruleset, lines, seed)?,
        Programs::Used(translator) => translator.restart(ruleset, lines, seed)?,
    };
    fill_tables(&compiled, translator.state())?;
    Ok(translator)
}

fn fill_tables(compiled: &Compiled, state: &Region) -> Result<(), CaptureError> {
    compiled
        .fill_tables(state, Instant::default())
        .map_err(|(binding, error)| CaptureError::Static {
            binding: Box::new(binding),
            error,
        })
}
