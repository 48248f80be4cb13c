//! `[proxy]`: a host with IPv6 alone reaches a server with IPv4 alone without a translator, and nobody reaches more
//! than the configuration says.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use isthmus_lab::network::process::{self, Process};

use crate::net::text;
use crate::site::Site;
use crate::softwires::traffic::inside;

/// The proxy of most tests. The server has the resolver, too.
const PROXY: &str = r#"
[proxy]
listen = ["[2001:db8:1::1]:3128", "192.0.2.1:3128"]
allow = ["2001:db8:1::/64"]
ports = ["80", "443"]
resolvers = ["192.0.2.2:53"]
"#;
/// What a client asks for, the beginning of the sentence that it gets, and the status.
const OUT_OF_REACH: [(&str, &str, &str); 10] = [
    (
        "http://127.0.0.1/",
        "127.0.0.1 may not be reached",
        "403 000",
    ),
    ("http://[::1]/", "::1 may not be reached", "403 000"),
    (
        "http://[::ffff:127.0.0.1]/",
        "127.0.0.1 may not be reached",
        "403 000",
    ),
    (
        "http://192.0.2.1/",
        "192.0.2.1 may not be reached",
        "403 000",
    ),
    (
        "http://trap.example/",
        "192.0.2.1 may not be reached",
        "403 000",
    ),
    (
        "http://loop.example/",
        "127.0.0.1 may not be reached",
        "403 000",
    ),
    ("http://localhost/", "own machine", "403 000"),
    ("http://four.example:22/", "port 22", "403 000"),
    ("http://none.example/", "no resolver", "504 000"),
    ("http://192.0.2.77:443/", "", "50"),
];
const THERE: &str = "http://[2001:db8:1::1]:3128";

fn resolver(site: &Site) -> Process {
    let mut dnsmasq = site.net.command("server", "dnsmasq");
    dnsmasq.args([
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--listen-address=192.0.2.2",
        "--bind-interfaces",
        "--user=root",
        "--pid-file=",
        "--address=/four.example/192.0.2.2",
        "--address=/six.example/2001:db8:9::2",
        "--address=/trap.example/192.0.2.1",
        "--address=/loop.example/127.0.0.1",
    ]);
    site.net
        .server("server", &mut dnsmasq, "192.0.2.2:53".parse().unwrap())
}

/// A server of TLS with a certificate that nobody has signed.
fn tls(site: &Site, at: &str) -> Process {
    let [key, certificate] = ["key.pem", "certificate.pem"].map(|name| site.path(name));
    let mut openssl = site.net.command("server", "openssl");
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=six.example",
    ]);
    openssl
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    process::run(&mut openssl).unwrap();
    let mut openssl = site.net.command("server", "openssl");
    openssl.args(["s_server", "-quiet", "-www", "-accept", at]);
    openssl.arg("-key").arg(&key).arg("-cert").arg(&certificate);
    site.net.server("server", &mut openssl, at.parse().unwrap())
}

/// Answers every request in the server's namespace with its first line and the client's address.
fn serve(site: &Site, at: &str) {
    let at: SocketAddr = at.parse().unwrap();
    let listener = inside(site.net.node("server"), || TcpListener::bind(at)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(&stream));
        }
    });
}

fn answer(mut stream: &TcpStream) -> io::Result<()> {
    let from = stream.peer_addr()?.ip();
    let mut lines = BufReader::new(stream).lines();
    while let Some(first) = lines.next().transpose()? {
        for line in lines.by_ref() {
            if line?.is_empty() {
                break;
            }
        }
        let body = format!("{first} from {from}\n");
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
    }
    Ok(())
}

/// Content and status that curl gets on a node with these arguments. A test that fails prints why curl has none.
fn curl(site: &Site, node: &str, arguments: &[&str]) -> String {
    let mut curl = site.net.command(node, "curl");
    curl.args(["-sS", "-g", "-m", "8", "-w", "%{http_code} %{http_connect}"]);
    let output = curl.args(arguments).output().unwrap();
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    text(&output)
}

fn possible() -> Option<Site> {
    for (tool, package) in [
        ("dnsmasq", "dnsmasq-base"),
        ("curl", "curl"),
        ("openssl", "openssl"),
    ] {
        if let Err(reason) = process::require(tool, package) {
            eprintln!("skipped: {reason}");
            return None;
        }
    }
    Site::new()
}

#[test]
fn an_ipv6_only_host_reaches_an_ipv4_only_server_through_the_proxy() {
    let Some(site) = possible() else { return };
    let _resolver = resolver(&site);
    serve(&site, "192.0.2.2:80");
    serve(&site, "192.0.2.2:443");
    site.configure(PROXY);
    let before = site.net.dump();
    let gateway = site.start();
    let fetch = |arguments: &[&str]| curl(&site, "host", &[&["-x", THERE], arguments].concat());
    for url in ["http://four.example/x", "http://192.0.2.2/x"] {
        let said = fetch(&[url]);
        let expected = "GET /x HTTP/1.1 from 192.0.2.1\n200 000";
        assert_eq!(said, expected, "{}", gateway.log());
    }
    let said = fetch(&["-p", "http://four.example:443/y"]);
    assert_eq!(said, "GET /y HTTP/1.1 from 192.0.2.1\n200 200");

    let status = gateway.json("status");
    let listens = serde_json::json!(["[2001:db8:1::1]:3128", "192.0.2.1:3128"]);
    assert_eq!(status["proxy"], listens);
    assert!(gateway.stop().success());
    assert_eq!(site.net.dump(), before);
}

#[test]
fn the_proxy_reaches_no_more_than_it_may() {
    let Some(site) = possible() else { return };
    let _resolver = resolver(&site);
    serve(&site, "192.0.2.2:80");
    site.configure_gateway("metrics = \"[2001:db8:1::1]:9464\"", PROXY);
    let _gateway = site.start();
    let fetch = |arguments: &[&str]| curl(&site, "host", &[&["-x", THERE], arguments].concat());
    for (url, said, status) in OUT_OF_REACH {
        let answer = fetch(&[url]);
        let (content, code) = answer.split_once('\n').unwrap_or((&answer, ""));
        assert!(
            content.contains(said) && code.starts_with(status),
            "{url}: {answer}"
        );
    }
    // The control of the gateway is not there for clients either.
    let metrics = fetch(&["-p", "http://[2001:db8:1::1]:443/"]);
    assert!(metrics.ends_with("000 403"), "{metrics}");
    // A stranger is nobody's client, and the victim of the attempts above is served.
    let stranger = curl(
        &site,
        "server",
        &["-x", "http://192.0.2.1:3128", "http://192.0.2.2/"],
    );
    assert_eq!(stranger, "000 000");
    assert!(fetch(&["http://four.example/"]).ends_with("200 000"));
    let page = curl(&site, "host", &["http://[2001:db8:1::1]:9464/metrics"]);
    for counted in [
        "isthmus_proxy_events_total{counter=\"stranger\"} 1",
        "isthmus_proxy_events_total{counter=\"port-refused\"} 1",
        "isthmus_proxy_events_total{counter=\"destination-refused\"} 8",
    ] {
        assert!(page.contains(counted), "{counted}\n{page}");
    }
}

#[test]
fn the_proxy_follows_a_reload_and_a_bad_one_changes_nothing() {
    let Some(site) = possible() else { return };
    let _resolver = resolver(&site);
    serve(&site, "192.0.2.2:80");
    site.configure(PROXY);
    let gateway = site.start();
    let fetch = |port: u16| {
        let there = format!("http://[2001:db8:1::1]:{port}");
        curl(&site, "host", &["-x", &there, "http://four.example/"])
    };
    assert!(fetch(3128).ends_with("200 000"), "{}", gateway.log());
    site.configure(&PROXY.replace("1]:3128", "1]:8080"));
    gateway.json("reload");
    assert!(fetch(8080).ends_with("200 000"), "{}", gateway.log());
    assert_eq!(fetch(3128), "000 000");
    // An address that is not there.
    site.configure(&PROXY.replace("192.0.2.1:3128", "192.0.2.99:3128"));
    let said = gateway.client("reload");
    assert!(!said.status.success());
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains("proxy: cannot listen on 192.0.2.99:3128"),
        "{said}"
    );
    assert!(fetch(8080).ends_with("200 000"), "{}", gateway.log());
    site.configure(&PROXY.replace("allow = [\"2001:db8:1::/64\"]", ""));
    assert!(!gateway.client("reload").status.success());
    assert!(fetch(8080).ends_with("200 000"), "{}", gateway.log());
}

/// A client with IPv4 alone, and without a setting: the DNS of its network, which curl stands in for, leads it to the
/// gateway.
#[test]
fn an_ipv4_only_client_without_a_setting_reaches_an_ipv6_only_site() {
    let Some(site) = possible() else { return };
    site.net.dual_stack();
    site.net
        .ip("gateway", "addr add 2001:db8:9::1/64 dev tos nodad");
    site.net
        .ip("server", "addr add 2001:db8:9::2/64 dev eth0 nodad");
    let _resolver = resolver(&site);
    let _server = tls(&site, "[2001:db8:9::2]:443");
    serve(&site, "[2001:db8:9::2]:80");
    let listen = "sites = [\"192.168.7.1:443\", \"192.168.7.1:80\"]\nallow = [\"192.168.7.0/24\"]";
    let allow = "allow = [\"2001:db8:1::/64\"]";
    site.configure(&PROXY.replace(allow, listen));
    let gateway = site.start();
    let fetch = |url: &str| {
        let hosts = ["443", "80"].map(|port| format!("six.example:{port}:192.168.7.1"));
        let [tls, http] = &hosts;
        curl(
            &site,
            "host",
            &["-k", "--resolve", tls, "--resolve", http, url],
        )
    };
    let said = fetch("http://six.example/x");
    assert_eq!(
        said,
        "GET /x HTTP/1.1 from 2001:db8:9::1\n200 000",
        "{}",
        gateway.log()
    );
    let said = fetch("https://six.example/");
    assert!(
        said.contains("s_server") && said.ends_with("200 000"),
        "{said}\n{}",
        gateway.log()
    );
}

/// SOCKS5 as curl speaks it, with a user; RFC 1929.
#[test]
fn a_client_of_socks5_needs_its_password() {
    let Some(site) = possible() else { return };
    let _resolver = resolver(&site);
    serve(&site, "192.0.2.2:80");
    let hash = process::run(
        site.net
            .command("host", "openssl")
            .args(["passwd", "-5", "secret"]),
    )
    .unwrap();
    std::fs::write(site.path("proxy.users"), format!("alice:{hash}")).unwrap();
    let users = "socks = [\"[2001:db8:1::1]:1080\"]\nusers = \"proxy.users\"";
    site.configure(&format!("{PROXY}{users}\n"));
    let gateway = site.start();
    let fetch = |user: &str, password: &str| {
        let by = format!("socks5h://{user}:{password}@[2001:db8:1::1]:1080");
        curl(&site, "host", &["-x", &by, "http://four.example/"])
    };
    let expected = "GET / HTTP/1.1 from 192.0.2.1\n200 000";
    assert_eq!(fetch("alice", "secret"), expected, "{}", gateway.log());
    assert_eq!(fetch("alice", "guess"), "000 000");
    assert_eq!(fetch("bob", "secret"), "000 000");
    // HTTP asks for it, too.
    assert!(curl(&site, "host", &["-x", THERE, "http://four.example/"]).ends_with("407 000"));
}
