//! Whether BPF programs can run here, as far as that can be known without loading one.

use caps::{CapSet, Capability};
use isthmus_engine::bpf;
use nix::sys::utsname::uname;

/// The oldest kernel on which the programs are tested.
const OLDEST: (u32, u32) = (6, 1);

/// The reason why this machine runs none of the programs: its kernel is too old, or its processor another.
pub(crate) fn unsupported() -> Option<String> {
    let release = uname().map_or_else(
        |_| String::new(),
        |uname| uname.release().to_string_lossy().into_owned(),
    );
    match version(&release) {
        Some(version) if version < OLDEST => Some(format!("this is Linux {release}")),
        _ if !bpf::HAS_PROGRAMS => Some(format!(
            "this is a processor of the kind {}",
            std::env::consts::ARCH
        )),
        _ => None,
    }
}

/// The capabilities that this process has in effect.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn held() -> Result<caps::CapsHashSet, caps::errors::CapsError> {
    caps::read(None, CapSet::Effective)
}

/// Whether capabilities are enough to load BPF programs.
pub(crate) fn may_load(held: &caps::CapsHashSet) -> bool {
    let needed = [Capability::CAP_BPF, Capability::CAP_PERFMON];
    held.contains(&Capability::CAP_SYS_ADMIN) || needed.iter().all(|one| held.contains(one))
}

/// The first two numbers of a release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_begins_with_two_numbers() {
        assert_eq!(version("6.1.0-28-amd64"), Some((6, 1)));
        assert_eq!(version("5.15.0"), Some((5, 15)));
        assert!(version("5.15.0") < Some(OLDEST) && version("6.18.44-fc") > Some(OLDEST));
        assert_eq!(version("strange"), None);
    }

    #[test]
    fn two_capabilities_together_load_programs_or_one_alone() {
        let may = |held: &[Capability]| may_load(&held.iter().copied().collect());
        assert!(may(&[Capability::CAP_SYS_ADMIN]));
        assert!(may(&[Capability::CAP_BPF, Capability::CAP_PERFMON]));
        assert!(!may(&[Capability::CAP_BPF, Capability::CAP_NET_ADMIN]));
        assert!(!may(&[]));
    }
}
