//! Applications between two hosts: which of them work through a mechanism, and why the others do not.
//!
//! Paper 002 tried the programs that people use. Here each kind has a stand-in that behaves the same everywhere: real
//! clients (`curl`, `dig`, `ping`, `traceroute`) use real servers, and where there is no such client,
//! sockets stand in for it. All run at once. A failure is known within seconds.

pub mod everyday;
mod flow;
mod ftp;
mod limits;
mod servers;
mod unasked;
mod vpn;

use std::{
    net::{IpAddr, SocketAddr},
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    LabError, Result,
    network::{netns::Namespace, plan, process, threads::join},
    traffic::{
        services::{self, PAGE, WEB_NAME},
        tools,
    },
};
use limits::PATIENCE;
use servers::{FILE, Servers};

/// The port of a call.
const RTP: u16 = 5004;
/// A second of speech: 20 ms of G.711 in each datagram (RFC 3551 section 4.5.14), and 12 octets of RTP.
const SPEECH: flow::Flow = flow::Flow {
    rate: 50,
    size: 172,
    count: 50,
};
/// The share of lost datagrams that a call tolerates.
const LOST: f64 = 0.05;

/// The two hosts of an application.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The host that calls.
    pub client: &'a Namespace,
    /// The host that is called.
    pub server: &'a Namespace,
    /// The server's address as the client knows it.
    pub target: IpAddr,
    /// Their own addresses: the client's, the server's.
    pub own: [IpAddr; 2],
}

/// The result of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The application.
    pub name: &'static str,
    /// The reason why it does not work, if it does not.
    pub trouble: Option<String>,
}

/// A failure of an application.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The laboratory could not try it.
    Lab(LabError),
    /// It does not work, for this reason.
    Fails(String),
}

impl From<LabError> for Trouble {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Command { output, .. } => {
                let said = output.lines().rev().find(|line| !line.trim().is_empty());
                Self::Fails(said.unwrap_or("it says nothing").trim().into())
            }
            LabError::Output { output, .. } => Self::Fails(output),
            other => Self::Lab(other),
        }
    }
}

/// The function of an application, which returns nothing if it works.
type Try = fn(&Call<'_>, &Servers) -> std::result::Result<(), Trouble>;

/// All of them, in the order of reports.
const APPLICATIONS: [(&str, Try); 16] = [
    ("ping", |call, _| ping(call, 56)),
    ("large ping", |call, _| ping(call, 4000)),
    ("traceroute", |call, _| traceroute(call)),
    ("DNS by UDP", |call, _| dns(call, &[])),
    ("DNS by TCP", |call, _| dns(call, &["+tcp"])),
    ("HTTP", |call, _| page(call, &[], call.target)),
    ("HTTPS", https),
    ("download", |call, _| download(call)),
    ("upload", |call, servers| upload(call, servers)),
    ("call", |call, _| voice(call)),
    ("passive FTP", |call, _| fetch(call, &["--ftp-pasv"])),
    ("active FTP", active_ftp),
    ("ESP", |call, _| vpn::echo(call)),
    ("IPv4 literal", |call, _| literal(call, &[])),
    ("IPv4-only program", |call, _| literal(call, &["--ipv4"])),
    ("unasked from outside", |call, _| unasked::reach(call)),
];

/// Tries all applications at once.
///
/// # Errors
/// A program is not installed, or a server does not start.
pub fn try_all(call: &Call<'_>) -> Result<Vec<Tried>> {
    for (program, package) in [
        ("ping", "iputils-ping"),
        ("traceroute", "traceroute"),
        ("curl", "curl"),
    ] {
        process::require(program, package)?;
    }
    let servers = Servers::start(call.server, call.own[1])?;
    let _without_ipv4 = WithoutIpv4::for_call(call)?;
    thread::scope(|scope| {
        let serving = servers.serve_ftp(scope, call.server);
        let servers = &servers;
        let tries = APPLICATIONS.map(|(name, run)| (name, scope.spawn(move || run(call, servers))));
        let tried = tries.map(|(name, run)| {
            let trouble = match join(run) {
                Ok(()) => None,
                Err(Trouble::Fails(why)) => Some(why),
                Err(Trouble::Lab(error)) => return Err(error),
            };
            Ok(Tried { name, trouble })
        });
        serving.end()?;
        tried.into_iter().collect()
    })
}

/// Returns the failure of an application for this reason.
fn fails<T>(why: impl Into<String>) -> std::result::Result<T, Trouble> {
    Err(Trouble::Fails(why.into()))
}

/// Formats an address for a URL.
fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn curl(call: &Call<'_>) -> Command {
    tools::curl(call.client, PATIENCE)
}

/// Sends three pings of this many bytes; all must be answered.
fn ping(call: &Call<'_>, bytes: u32) -> std::result::Result<(), Trouble> {
    let address = call.target.to_string();
    // The first large ones may be lost: by them the hosts learn the path MTU.
    let ping = |count| {
        tools::ping(
            call.client,
            &address,
            count,
            Duration::from_millis(50),
            bytes,
        )
    };
    let mut answered = Ok(Vec::new());
    for _ in 0..4 {
        answered = ping(3);
        if answered.as_ref().is_ok_and(|times| times.len() == 3) {
            return Ok(());
        }
    }
    let answered = answered?.len();
    Err(Trouble::Fails(format!("{answered} of 3 answered")))
}

/// Traces the route: every router and the server must answer.
fn traceroute(call: &Call<'_>) -> std::result::Result<(), Trouble> {
    let target = call.target.to_string();
    let hops = tools::hops(call.client, &target, Duration::from_secs(1), 12)?;
    if hops.last() == Some(&target) && !hops.iter().any(|hop| hop == "*") {
        return Ok(());
    }
    Err(Trouble::Fails(format!("it shows {}", hops.join(", "))))
}

/// Queries the server's name server for an address that it has. A resolver asks again where no answer comes (RFC 1035
/// section 7.2): a datagram that is lost beside all other applications is no failure.
fn dns(call: &Call<'_>, options: &[&str]) -> std::result::Result<(), Trouble> {
    let question = [options, &["+tries=3", WEB_NAME, "A"]].concat();
    let said = services::dig(call.client, &call.target.to_string(), &question)?;
    let address = plan::HOST4.to_string();
    if said.lines().any(|line| line == address) {
        return Ok(());
    }
    Err(Trouble::Fails(said))
}

/// Fetches the page from an address.
fn page(call: &Call<'_>, options: &[&str], address: IpAddr) -> std::result::Result<(), Trouble> {
    let mut command = curl(call);
    command.args(options);
    is_page(process::run(
        command.arg(format!("http://{}/", in_url(address))),
    )?)
}

fn is_page(came: String) -> std::result::Result<(), Trouble> {
    if came == PAGE {
        return Ok(());
    }
    Err(Trouble::Fails(format!("another page: {came}")))
}

/// Fetches the page with TLS, by the name in the server's certificate.
fn https(call: &Call<'_>, servers: &Servers) -> std::result::Result<(), Trouble> {
    let mut command = curl(call);
    let address = SocketAddr::new(call.target, 443);
    command.arg("--cacert").arg(servers.certificate());
    command.args(["--connect-to", &format!("{WEB_NAME}:443:{address}")]);
    is_page(process::run(command.arg(format!("https://{WEB_NAME}/")))?)
}

/// Fetches a file. Its packets are as large as the server's link takes, until an error reports a smaller MTU.
fn download(call: &Call<'_>) -> std::result::Result<(), Trouble> {
    let mut command = curl(call);
    command.args(["--output", "/dev/null", "--write-out", "%{size_download}"]);
    let url = format!(
        "http://{}{}",
        in_url(call.target),
        services::Files::path(FILE)
    );
    let came = process::run(command.arg(url))?;
    if came == FILE.to_string() {
        return Ok(());
    }
    Err(Trouble::Fails(format!("{came} of {FILE} bytes came")))
}

/// Sends a file in the other direction, by FTP.
fn upload(call: &Call<'_>, servers: &Servers) -> std::result::Result<(), Trouble> {
    let mut command = curl(call);
    command.arg("--upload-file").arg(servers.file());
    process::run(command.arg(format!("ftp://{}/file", in_url(call.target))))?;
    Ok(())
}

/// Makes a telephone call. A socket can hold all that comes, so that a host that is slow to read loses nothing.
fn voice(call: &Call<'_>) -> std::result::Result<(), Trouble> {
    let [near, far] = [(call.client, call.own[0]), (call.server, call.own[1])]
        .map(|(node, own)| flow::open(node, (own, RTP).into()));
    let (near, far, to) = (near?, far?, SocketAddr::new(call.target, RTP));
    let Some(caller) = flow::greet([&near, &far], to) else {
        return fails("the server does not hear the caller");
    };
    let spoken = flow::exchange(SPEECH, [(&near, to), (&far, caller)])?;
    if spoken.lost() <= LOST {
        return Ok(());
    }
    let lost = 100.0 * spoken.lost();
    fails(format!("{lost:.0} % of datagrams were lost"))
}

/// Fetches the page by FTP. `way` selects who connects for the transfer: the client as a rule, or the server.
fn fetch(call: &Call<'_>, way: &[&str]) -> std::result::Result<(), Trouble> {
    let mut command = curl(call);
    command.args(way);
    let came = process::run(command.arg(format!("ftp://{}/page", in_url(call.target))))?;
    is_page(came)
}

/// Fetches the page where the server connects. A refusal in the server's words is clearer than curl's.
fn active_ftp(call: &Call<'_>, servers: &Servers) -> std::result::Result<(), Trouble> {
    fetch(call, &["--ftp-port", "-"]).map_err(|trouble| match (trouble, servers.refused()) {
        (Trouble::Fails(_), Some(refusal)) => Trouble::Fails(refusal),
        (trouble, _) => trouble,
    })
}

/// Fetches the page from the server's own IPv4 address, as a program does that was given this address, or that has
/// IPv4 sockets only (RFC 6877 section 1).
fn literal(call: &Call<'_>, options: &[&str]) -> std::result::Result<(), Trouble> {
    match call.own[1] {
        address @ IpAddr::V4(_) => page(call, options, address),
        IpAddr::V6(_) => Err(Trouble::Fails("the server has no IPv4 address".into())),
    }
}

/// A client with IPv6 alone, whatever the laboratory has configured: until this is dropped, it has no route to any
/// IPv4 address.
struct WithoutIpv4<'a>(&'a Namespace);

impl<'a> WithoutIpv4<'a> {
    /// Returns one if the client calls an IPv4 host by IPv6.
    fn for_call(call: &Call<'a>) -> Result<Option<Self>> {
        let [IpAddr::V6(_), IpAddr::V4(_)] = call.own else {
            return Ok(None);
        };
        call.client.ip(&["rule add pref 1 unreachable".into()])?;
        Ok(Some(Self(call.client)))
    }
}

impl Drop for WithoutIpv4<'_> {
    fn drop(&mut self) {
        // The namespace may be gone already.
        let _ = self.0.ip(&["rule del pref 1".into()]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_application_has_a_unique_name() {
        let names: BTreeSet<_> = APPLICATIONS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), APPLICATIONS.len());
    }

    #[test]
    fn the_last_line_of_a_tool_is_the_reason() {
        let error = LabError::Command {
            command: "curl".into(),
            status: "7".into(),
            output: "first\ncurl: (7) No route to host\n\n".into(),
        };
        let Trouble::Fails(why) = error.into() else {
            panic!("it was tried");
        };
        assert_eq!(why, "curl: (7) No route to host");
        let missing = LabError::Missing {
            program: "curl".into(),
            package: "curl".into(),
        };
        assert!(matches!(missing.into(), Trouble::Lab(_)));
    }
}
