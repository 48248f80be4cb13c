//! The congestion control of TCP in a namespace. A namespace begins with the machine's, and that may pace: a figure of TCP
//! would then be that of a clock.

use std::{fs, io, path::Path};

use crate::{LabError, Result};

/// The file in which a namespace has it.
pub const FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The algorithms that may be used, the best first: Linux's own (RFC 9438), and the one that each kernel has and lets each
/// namespace use. A namespace may have another than the machine's only if the machine's
/// `net.ipv4.tcp_allowed_congestion_control` has it.
pub const ALGORITHMS: [&str; 2] = ["cubic", "reno"];

/// Gives the namespace of this thread the first algorithm that it may have, whichever it begins with.
///
/// # Errors
/// It may have none of them.
pub(super) fn settle() -> Result<()> {
    choose(write_here).map_err(LabError::file(Path::new(FILE)))
}

/// Sets the algorithm of the thread's namespace.
fn write_here(algorithm: &str) -> io::Result<()> {
    fs::write(FILE, algorithm)
}

/// Sets the first algorithm that can be set.
fn choose(set: impl Fn(&str) -> io::Result<()>) -> io::Result<()> {
    let [best, rest] = ALGORITHMS;
    set(best).or_else(|_| set(rest))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::network::netns::Namespace;

    #[test]
    fn the_second_is_taken_only_if_the_first_cannot_be() {
        let set = |allowed: &'static [&str]| {
            let tried = RefCell::new(Vec::new());
            let done = choose(|algorithm| {
                tried.borrow_mut().push(algorithm.to_owned());
                match allowed.contains(&algorithm) {
                    true => Ok(()),
                    false => Err(io::ErrorKind::PermissionDenied.into()),
                }
            });
            (done.is_ok(), tried.into_inner())
        };
        let tried = |algorithms: &[&str]| algorithms.iter().map(|one| one.to_string()).collect();
        assert_eq!(set(&["cubic", "reno"]), (true, tried(&["cubic"])));
        assert_eq!(set(&["reno", "bbr"]), (true, tried(&["cubic", "reno"])));
        assert_eq!(set(&["bbr"]), (false, tried(&["cubic", "reno"])));
    }

    fn here(namespace: &Namespace) -> String {
        namespace.run(&format!("cat {FILE}")).unwrap().trim().into()
    }

    /// A namespace may be given any of the allowed algorithms, as if the machine had it.
    #[test]
    #[ignore = "makes a namespace, as root: of the tier namespaces"]
    fn whatever_a_namespace_begins_with_it_gets_the_same() {
        let namespace = Namespace::create("congestion").unwrap();
        let settled = here(&namespace);
        assert!(ALGORITHMS.contains(&settled.as_str()), "{settled}");
        let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
        for other in allowed.unwrap().split_whitespace() {
            namespace
                .sysctl(&[("net.ipv4.tcp_congestion_control", other)])
                .unwrap();
            assert_eq!(here(&namespace), other);
            namespace.enter(settle).unwrap();
            assert_eq!(here(&namespace), settled, "after {other}");
        }
    }
}
