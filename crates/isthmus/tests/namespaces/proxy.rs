//! `[proxy]`: a host with IPv6 alone reaches a server with IPv4 alone without a translator, and nobody reaches more
//! than the configuration says.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;

use isthmus_lab::process;

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
const THERE: &str = "http://[2001:db8:1::1]:3128";

/// A resolver in the server's namespace, gone when this is dropped.
struct Resolver(Child);

impl Resolver {
    fn start(site: &Site) -> Self {
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
            "--address=/trap.example/192.0.2.1",
            "--address=/loop.example/127.0.0.1",
        ]);
        let child = dnsmasq.stderr(Stdio::null()).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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

/// Status and content that curl gets on a node with these arguments.
fn curl(site: &Site, node: &str, arguments: &[&str]) -> String {
    let mut curl = site.net.command(node, "curl");
    curl.args(["-s", "-g", "-m", "8", "-w", "%{http_code} %{http_connect}"]);
    text(&curl.args(arguments).output().unwrap())
}

fn possible() -> Option<Site> {
    for (tool, package) in [("dnsmasq", "dnsmasq-base"), ("curl", "curl")] {
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
    let _resolver = Resolver::start(&site);
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
    let _resolver = Resolver::start(&site);
    serve(&site, "192.0.2.2:80");
    site.configure_gateway("metrics = \"[2001:db8:1::1]:9464\"", PROXY);
    let _gateway = site.start();
    let fetch = |arguments: &[&str]| curl(&site, "host", &[&["-x", THERE], arguments].concat());
    for (url, said, status) in [
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
    ] {
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
    let _resolver = Resolver::start(&site);
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
