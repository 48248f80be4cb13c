//! A virtual private network: IKEv2 (RFC 7296) by strongSwan at both ends.
//!
//! ESP is in UDP, as with NAT traversal (RFC 3948): the programs have ESP in user space, which no kernel's options can
//! take away. ESP without UDP, which has no ports, is the other row.

use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use super::{
    super::vpn,
    Application, Call, Outcome, PATIENCE, Seen, Trouble, fails,
    strongswan::{self, End, Esp},
};
use crate::{LabError, network::leftovers, traffic::tools};

/// The tunnel.
pub(super) const VPN: Application = Application {
    names: &["VPN, IKEv2 with NAT traversal"],
    needs: &[strongswan::DAEMON, strongswan::CLIENT],
    run: |call| tunnel(call).map(|seen| vec![Outcome::Works(seen)]),
};

/// The packets of one without UDP.
pub(super) const ESP: Application = Application {
    names: &["VPN, ESP without NAT traversal"],
    needs: &[],
    run: |call| vpn::echo(call).map(|()| vec![Outcome::Works(Seen::default())]),
};

/// The addresses of the office, which only the tunnel reaches, and of its travellers: those of the client's protocol,
/// which has no other one.
const OFFICE_V4: Inside = Inside {
    office: IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1)),
    length: 32,
    travellers: "10.77.1.0/24",
    any: "0.0.0.0",
};
const OFFICE_V6: Inside = Inside {
    office: IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1)),
    length: 128,
    travellers: "fd77:0:0:1::/120",
    any: "::",
};
const PORT: u16 = 7700;
/// The octets that go through the tunnel as a stream.
pub(super) const SIZE: usize = 200_000;
/// The number of times that the tunnel is set up.
const TIMES: usize = 3;
/// The network in the tunnel.
struct Inside {
    office: IpAddr,
    length: u8,
    travellers: &'static str,
    any: &'static str,
}

impl Inside {
    fn of(call: &Call<'_>) -> Self {
        match call.own[0] {
            IpAddr::V4(_) => OFFICE_V4,
            IpAddr::V6(_) => OFFICE_V6,
        }
    }

    /// Returns the connection of an end: its keys, its name, the other one's, and what it keeps of the network.
    fn connection(&self, keys: &str, [own, other]: [&str; 2], side: &str) -> String {
        let child = format!("{side}_ts = {}/{}", self.office, self.length);
        strongswan::connection(2, keys, [own, other], &child)
    }
}

fn tunnel(call: &Call<'_>) -> std::result::Result<Seen, Trouble> {
    let folder = leftovers::directory()?;
    let inside = Inside::of(call);
    let address = format!("addr add {}/{} dev lo", inside.office, inside.length);
    call.server.ip(&[address])?;
    let names = ["office", "traveller"];
    let server = inside.connection("pools = inside", names, "local");
    let pool = format!(
        "pools {{\n  inside {{\n    addrs = {}\n  }}\n}}\n",
        inside.travellers
    );
    let keys = format!("remote_addrs = {}\n    vips = {}", call.target, inside.any);
    let client = inside.connection(&keys, ["traveller", "office"], "remote");
    let server = server + &pool;
    let _server = End::start(call.server, folder.path(), "office", Esp::User, &server)?;
    let client = End::start(call.client, folder.path(), "traveller", Esp::User, &client)?;
    let mut beginnings = Vec::new();
    for _ in 0..TIMES {
        let begun = Instant::now();
        client.ask(&["--initiate", "--child", "both", "--timeout", "20"])?;
        beginnings.push(begun.elapsed());
        if beginnings.len() < TIMES {
            client.ask(&["--terminate", "--ike", "both", "--timeout", "20"])?;
        }
    }
    carries(call, inside.office)?;
    Ok(Seen {
        beginnings,
        stream: None,
    })
}

/// Checks that the tunnel carries pings and a stream. Paper 002 saw one that was set up and carried nothing.
pub(super) fn carries(call: &Call<'_>, office: IpAddr) -> std::result::Result<(), Trouble> {
    let answered = tools::ping(
        call.client,
        &office.to_string(),
        3,
        Duration::from_millis(50),
        1000,
    )?;
    if answered.is_empty() {
        return fails("the tunnel is there, but nothing comes through it");
    }
    let socket = |source| LabError::Socket {
        action: "speak through the tunnel to",
        address: (office, PORT).into(),
        source,
    };
    let listener = call
        .server
        .enter(|| TcpListener::bind((office, PORT)).map_err(socket))?;
    let sending = thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(&[b'.'; SIZE])
    });
    let connect = || TcpStream::connect_timeout(&(office, PORT).into(), PATIENCE).map_err(socket);
    let stream = call.client.enter(connect);
    let came = stream.and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE)).map_err(socket)?;
        let mut came = Vec::new();
        stream.read_to_end(&mut came).map_err(socket)
    });
    match came {
        Ok(SIZE) => {
            // It has ended: all has come.
            let _ = sending.join();
            Ok(())
        }
        Ok(other) => fails(format!("{other} of {SIZE} bytes come through the tunnel")),
        Err(error) => fails(error.to_string()),
    }
}
