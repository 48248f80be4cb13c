//! The capabilities of the process: only those that the gateway needs, from the start on.
//!
//! The capabilities that stay are those of a start and of any later reload:
//!
//! | capability | for |
//! |---|---|
//! | `CAP_NET_ADMIN` | the TUN link, addresses, routes, forwarding, attaching programs |
//! | `CAP_NET_RAW` | packets that the user-space engine sends past the TUN link, router advertisements and solicitations |
//! | `CAP_NET_BIND_SERVICE` | DNS64 on port 53, the proxy on port 443 |
//! | `CAP_SYS_NICE` | making the kernel threads of the TUN link wait for ours |
//! | `CAP_BPF`, `CAP_PERFMON` | loading the XDP and tc programs |
//!
//! The right to read and write other users' files is dropped, too: the configuration, the
//! records and the control socket's directory must be accessible to the user that runs the
//! gateway. It goes before the configuration is read, so that a reload can do what the start
//! could. Capabilities belong to threads: this must run before the first thread is made.

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files that may be open, sockets included.
const OPEN_FILES: u64 = 65_536;

/// The capabilities that are kept.
const KEPT: [Capability; 6] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_SYS_NICE,
];

/// Why the process cannot become a gateway.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// It may not configure links.
    #[error(
        "a gateway needs CAP_NET_ADMIN: run it as root, or with AmbientCapabilities= in its systemd unit"
    )]
    Missing,
    /// The system refuses to take rights away.
    #[error("privileges cannot be dropped: {0}")]
    Refused(String),
}

/// Gives up everything but what the gateway needs, for good.
///
/// # Errors
///
/// If `CAP_NET_ADMIN` is not there, or the system refuses.
pub fn drop_privileges() -> Result<(), PrivilegeError> {
    let refused = |error: &dyn std::fmt::Display| PrivilegeError::Refused(error.to_string());
    let held = caps::read(None, CapSet::Permitted).map_err(|error| refused(&error))?;
    if !held.contains(&Capability::CAP_NET_ADMIN) {
        return Err(PrivilegeError::Missing);
    }
    let kept: CapsHashSet = KEPT.into_iter().filter(|cap| held.contains(cap)).collect();
    // The bounding set can only be changed with CAP_SETPCAP, and without it nothing of it can be
    // gained either once no_new_privs is set.
    if held.contains(&Capability::CAP_SETPCAP) {
        for cap in caps::runtime::thread_all_supported() {
            if !kept.contains(&cap) {
                caps::drop(None, CapSet::Bounding, cap).map_err(|error| refused(&error))?;
            }
        }
    }
    caps::clear(None, CapSet::Ambient).map_err(|error| refused(&error))?;
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        let wanted = match set {
            CapSet::Inheritable => CapsHashSet::new(),
            _ => kept.clone(),
        };
        caps::set(None, set, &wanted).map_err(|error| refused(&error))?;
    }
    nix::sys::prctl::set_no_new_privs().map_err(|error| refused(&error))
}

/// Raises the number of files that may be open, as far as the process may: the DNS64 has a socket for each
/// question under way, and each TCP connection; a tunnel of the proxy has two and four ends of pipes.
pub fn raise_open_files() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    let wanted = OPEN_FILES.min(hard);
    if soft < wanted
        && let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)
    {
        tracing::warn!(%error, "the number of open files stays at {soft}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_are_raised_as_far_as_possible() {
        raise_open_files();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert!(soft >= OPEN_FILES.min(hard));
    }

    /// Capabilities belong to threads, so a thread of its own may lose them.
    #[test]
    fn what_is_not_needed_is_gone_for_good() {
        let held = caps::read(None, CapSet::Permitted).unwrap();
        if !held.contains(&Capability::CAP_NET_ADMIN) {
            eprintln!("skipped: the test has no CAP_NET_ADMIN");
            return;
        }
        std::thread::spawn(|| {
            drop_privileges().unwrap();
            let now = caps::read(None, CapSet::Effective).unwrap();
            assert!(now.contains(&Capability::CAP_NET_ADMIN));
            for gone in [
                Capability::CAP_SYS_ADMIN,
                Capability::CAP_DAC_OVERRIDE,
                Capability::CAP_SETUID,
            ] {
                assert!(!now.contains(&gone), "{gone}");
                assert!(
                    caps::raise(None, CapSet::Effective, gone).is_err(),
                    "{gone}"
                );
            }
            assert!(nix::sys::prctl::get_no_new_privs().unwrap());
        })
        .join()
        .unwrap();
    }
}
