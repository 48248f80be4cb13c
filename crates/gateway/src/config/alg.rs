//! `alg`: the application level gateways of an instance.

use isthmus_core::config::Alg;

use super::section;
use super::table::Reader;

/// An application that has a gateway.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Application {
    /// DNS (RFC 2766 section 4)
    Dns,
    /// FTP (RFC 6384)
    Ftp,
}

/// Reads the list, in which these may stand.
pub(super) fn read(reader: &Reader<'_>, known: &[(&'static str, Application)]) -> Alg {
    let named = section::each(reader, "alg", "a list such as [\"ftp\"]", |v| v.word(known));
    Alg {
        dns: named.contains(&Application::Dns),
        ftp: named.contains(&Application::Ftp),
    }
}

/// What the gateways do, in plain words.
pub(super) fn plan(alg: Alg) -> impl Iterator<Item = String> {
    let dns = "questions and answers of DNS that pass are rewritten (RFC 2766 section 4)";
    let ftp = "EPSV and EPRT of FTP are translated to PASV and PORT (RFC 6384)";
    let lines = [(alg.dns, dns), (alg.ftp, ftp)].into_iter();
    lines.filter(|(is, _)| *is).map(|(_, line)| line.to_owned())
}
