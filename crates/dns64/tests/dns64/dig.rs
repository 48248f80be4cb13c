//! `dig` as a client, and dnsmasq and unbound as upstream resolvers: programs that know nothing of
//! this one. What is not installed is skipped, and said.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{own_address, prefix, site};
use isthmus_dns64::{Config, Counter, Handle, Server};

/// A resolver of this test, ended with it.
struct Resolver {
    process: Child,
    address: SocketAddr,
    file: Option<PathBuf>,
}

impl Drop for Resolver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn installed(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

impl Resolver {
    /// Waits until it replies to anything.
    fn ready(mut self) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(self.address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let begun = Instant::now();
        let question =
            crate::common::ask("ready.example.", hickory_proto::rr::RecordType::A).bytes();
        while begun.elapsed() < Duration::from_secs(60) {
            let _ = socket.send(&question);
            if socket.recv(&mut [0; 512]).is_ok() {
                return self;
            }
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none(), "the resolver has ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{} does not reply", self.address);
    }
}

fn dnsmasq() -> Resolver {
    let address = own_address();
    let long = "x".repeat(250);
    let process = Command::new("dnsmasq")
        .args([
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--no-resolv",
            "--no-hosts",
        ])
        .args([
            &format!("--listen-address={}", address.ip()),
            "--bind-interfaces",
            "--user=root",
            "--pid-file=",
        ])
        .args([
            &format!("--port={}", address.port()),
            "--local=/example/",
            "--local-ttl=60",
        ])
        .args([
            "--host-record=www.example,192.0.2.33",
            "--cname=alias.example,www.example",
        ])
        .args(["--host-record=dual.example,192.0.2.5,2001:db8::5"])
        .arg(format!(
            "--txt-record=long.example,{long},{long},{long},{long},{long},{long}"
        ))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let resolver = Resolver {
        process,
        address,
        file: None,
    };
    resolver.ready()
}

fn unbound() -> Resolver {
    let address = own_address();
    let name = format!("isthmus-dns64-test-{}.conf", address.ip());
    let file = std::env::temp_dir().join(name);
    let long = "x".repeat(250);
    let long = format!("\\\"{long}\\\" ").repeat(6);
    let configuration = format!(
        "server:\n interface: {ip}@{port}\n port: {port}\n do-daemonize: no\n chroot: \"\"\n \
         username: \"\"\n pidfile: \"\"\n use-syslog: no\n module-config: \"iterator\"\n \
         local-zone: \"example.\" static\n \
         local-data: \"example. 300 SOA ns.example. admin.example. 1 2 3 4 300\"\n \
         local-data: \"www.example. 60 A 192.0.2.33\"\n \
         local-data: \"dual.example. 60 A 192.0.2.5\"\n \
         local-data: \"dual.example. 60 AAAA 2001:db8::5\"\n \
         local-data: 'long.example. 60 TXT {}'\n \
         local-data-ptr: \"192.0.2.33 60 www.example.\"\n\
         remote-control:\n control-enable: no\n",
        long.replace('\\', ""),
        ip = address.ip(),
        port = address.port(),
    );
    std::fs::write(&file, configuration).unwrap();
    let process = Command::new("unbound")
        .arg("-d")
        .arg("-c")
        .arg(&file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let resolver = Resolver {
        process,
        address,
        file: Some(file),
    };
    resolver.ready()
}

async fn start(resolver: &Resolver) -> (Handle, SocketAddr) {
    let config = Config {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        upstream: vec![resolver.address],
        deadline: Duration::from_secs(30),
        ..site()
    };
    let handle = Server::start(config).await.unwrap();
    let address = handle.addresses().next().unwrap();
    (handle, address)
}

/// The output of `dig`.
async fn dig(server: SocketAddr, arguments: &str) -> String {
    let arguments: Vec<_> = arguments.split(' ').map(str::to_owned).collect();
    tokio::task::spawn_blocking(move || {
        let output = Command::new("dig")
            .args([
                &format!("@{}", server.ip()),
                "-p",
                &server.port().to_string(),
            ])
            .args(["+tries=1", "+timeout=30"])
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    })
    .await
    .unwrap()
}

async fn check(resolver: Resolver) {
    let (handle, server) = start(&resolver).await;
    let short = "2001:db8:64::c000:221\n";
    assert_eq!(dig(server, "+short AAAA www.example").await, short);
    assert_eq!(dig(server, "+short AAAA WWW.eXample").await, short);
    assert_eq!(dig(server, "+short +tcp AAAA www.example").await, short);
    assert_eq!(dig(server, "+short +noedns AAAA www.example").await, short);
    assert_eq!(dig(server, "+short A www.example").await, "192.0.2.33\n");
    assert_eq!(
        dig(server, "+short AAAA dual.example").await,
        "2001:db8::5\n"
    );

    let full = dig(server, "AAAA www.example").await;
    assert!(full.contains("flags: qr rd ra;"), "{full}");
    assert!(
        full.contains("EDNS: version: 0, flags:; udp: 1232"),
        "{full}"
    );
    assert!(!full.to_lowercase().contains("warning"), "{full}");

    let missing = dig(server, "AAAA missing.example").await;
    assert!(missing.contains("status: NXDOMAIN"), "{missing}");

    let reverse = dig(server, "+short -x 2001:db8:64::c000:221").await;
    assert_eq!(reverse, "33.2.0.192.in-addr.arpa.\nwww.example.\n");

    let validating = dig(server, "+dnssec +cd AAAA www.example").await;
    assert!(
        validating.contains("status: NOERROR") && validating.contains("ANSWER: 0"),
        "{validating}"
    );

    let long = dig(server, "+bufsize=512 TXT long.example").await;
    assert!(long.contains("Truncated, retrying in TCP mode"), "{long}");
    assert!(
        long.contains("ANSWER: 1") && long.contains("(TCP)"),
        "{long}"
    );
    assert!(handle.counters().get(Counter::Truncated) >= 1);

    let version = dig(server, "+edns=1 +noednsnegotiation AAAA www.example").await;
    assert!(version.contains("status: BADVERS"), "{version}");
    let notify = dig(server, "+opcode=notify SOA www.example").await;
    assert!(notify.contains("status: NOTIMP"), "{notify}");
    let transfer = dig(server, "+noall +comments AXFR example").await;
    assert!(transfer.contains("Transfer failed"), "{transfer}");
    let any = dig(server, "+short ANY www.example").await;
    assert_eq!(any, "\"RFC8482\" \"\"\n");

    let mut well_known: Vec<_> = dig(server, "+short AAAA ipv4only.arpa")
        .await
        .lines()
        .map(str::to_owned)
        .collect();
    well_known.sort();
    assert_eq!(well_known, ["2001:db8:64::c000:aa", "2001:db8:64::c000:ab"]);
    handle.stop().await;
}

#[tokio::test]
async fn dig_through_to_dnsmasq() {
    if !installed("dig") || !installed("dnsmasq") {
        return;
    }
    let resolver = dnsmasq();
    let (handle, server) = start(&resolver).await;
    let chain = dig(server, "+short AAAA alias.example").await;
    assert_eq!(chain, "www.example.\n2001:db8:64::c000:221\n");
    handle.stop().await;
    check(resolver).await;
}

#[tokio::test]
async fn dig_through_to_unbound() {
    if !installed("dig") || !installed("unbound") {
        return;
    }
    check(unbound()).await;
}

#[tokio::test]
async fn dig_sees_one_aaaa_for_each_prefix() {
    if !installed("dig") || !installed("dnsmasq") {
        return;
    }
    let resolver = dnsmasq();
    let (mut handle, server) = start(&resolver).await;
    let mut config = handle.config().clone();
    config.prefixes = vec![prefix("2001:db8:122::", 48), prefix("2001:db8:64::", 96)];
    handle.reload(config).await.unwrap();
    let both = dig(server, "+short AAAA www.example").await;
    // RFC 6052 section 2.4, table 1.
    assert_eq!(both, "2001:db8:122:c000:2:2100::\n2001:db8:64::c000:221\n");
    handle.stop().await;
}
