//! The mechanisms that programs are loaded for: a constant of the programs, so that the verifier leaves out all others.
//! It looks at a fifth of the instructions of the first program then.

use std::os::fd::AsFd as _;

use aya::Ebpf;
use isthmus_abi::programs::{MECHANISMS, Mechanisms};
use isthmus_core::mechanism::{AnyMechanism, Instance};

use super::{Error, kept};
use crate::sys;

/// All of them.
pub(super) const ALL: Mechanisms = [1; AnyMechanism::KINDS];

/// Those of these instances.
pub(super) fn of(instances: &[Instance]) -> Mechanisms {
    let mut mechanisms = [0; AnyMechanism::KINDS];
    for instance in instances {
        mechanisms[instance.mechanism.number()] = 1;
    }
    mechanisms
}

/// These and others.
pub(super) fn with(mut mechanisms: Mechanisms, others: Mechanisms) -> Mechanisms {
    for (there, other) in mechanisms.iter_mut().zip(others) {
        *there |= other;
    }
    mechanisms
}

/// Makes these the mechanisms of the programs that are loaded from now on. The verifier trusts a value that nobody can
/// change, so that another one is another map in its place.
pub(super) fn set(ebpf: &Ebpf, mechanisms: &Mechanisms) -> Result<(), Error> {
    let there = ebpf.map(MECHANISMS).and_then(kept::descriptor);
    let there = there.ok_or(Error::Missing(MECHANISMS))?;
    let constant = sys::bpf::constant(mechanisms)?;
    Ok(sys::replace(there, constant.as_fd())?)
}

/// A name for them: a letter for each that is there.
pub(super) fn label(mechanisms: &Mechanisms) -> String {
    let letters = (b'a'..=b'z').zip(mechanisms);
    letters
        .filter(|(_, there)| **there != 0)
        .map(|(letter, _)| char::from(letter))
        .collect()
}

const _: () = assert!(AnyMechanism::KINDS <= 26, "there is a letter for each");
