//! A video call. SIP (RFC 3261) by SIPp sets calls up; then a caller learns its outside address from a STUN server
//! (RFC 8489) by coturn, tells the other, and both send packets of RTP's size and rate.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use super::{
    Application, Call, PATIENCE, Seen, Trouble, fails,
    flow::{self, Flow},
};
use crate::{
    Result,
    network::{
        leftovers,
        netns::Namespace,
        process::{self, Process},
    },
};

/// The signals and the pictures.
pub(super) const VIDEO_CALL: Application = Application {
    names: &["video call, SIP", "video call, STUN and RTP"],
    needs: &[("sipp", "sip-tester"), ("turnserver", "coturn")],
    run: |call| Ok(vec![signals(call).into(), pictures(call).into()]),
};

const SIP: u16 = 5060;
const STUN: u16 = 3478;
/// The ports of both callers' packets.
const RTP: [u16; 2] = [40000, 40002];
/// 0.8 Mb/s in each direction for three seconds.
const FLOW: Flow = Flow {
    rate: 100,
    size: 1000,
    count: 300,
};
/// The number of calls that are set up.
const TIMES: usize = 3;
/// A binding request (RFC 8489 section 5), and the attribute of its answer (section 14.2).
const REQUEST: [u8; 20] = *b"\x00\x01\x00\x00\x21\x12\xa4\x42who am I? ?!";
const COOKIE: u32 = 0x2112_a442;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;

/// Sets calls up and ends them.
fn signals(call: &Call<'_>) -> std::result::Result<Seen, Trouble> {
    let [client, server] = call.own.map(|address| address.to_string());
    let mut answering = call.server.command("sipp");
    answering.args([
        "-sn",
        "uas",
        "-nostdin",
        "-i",
        &server,
        "-p",
        &SIP.to_string(),
    ]);
    let mut answering = Process::start("sipp", &mut answering)?;
    answering.wait_until(PATIENCE, || has_udp(call.server, SIP))?;
    let mut beginnings = Vec::new();
    for _ in 0..TIMES {
        let mut calling = call.client.command("sipp");
        calling.args([
            "-sn", "uac", "-nostdin", "-m", "1", "-d", "0", "-i", &client,
        ]);
        calling.args(["-timeout", "15", "-timeout_error"]);
        let begun = Instant::now();
        let ended = process::output(calling.arg(SocketAddr::new(call.target, SIP).to_string()))?;
        if !ended.status.success() {
            return fails(format!(
                "no call is set up: sipp ends with {}",
                ended.status
            ));
        }
        beginnings.push(begun.elapsed());
    }
    Ok(Seen {
        beginnings,
        stream: None,
    })
}

/// Sends the pictures of both callers.
fn pictures(call: &Call<'_>) -> std::result::Result<Seen, Trouble> {
    let [client, server] = call.own;
    let folder = leftovers::directory()?;
    let mut stun = call.server.command("turnserver");
    stun.args([
        "--stun-only",
        "--no-auth",
        "--no-tls",
        "--no-dtls",
        "--no-cli",
    ]);
    stun.args([
        "-n",
        "--listening-ip",
        &server.to_string(),
        "--log-file",
        "stdout",
    ]);
    for (option, name) in [("--pidfile", "pid"), ("--userdb", "users")] {
        stun.arg(option).arg(folder.path().join(name));
    }
    let mut stun = Process::start("turnserver", &mut stun)?;
    stun.wait_until(PATIENCE, || has_udp(call.server, STUN))?;
    let near = flow::open(call.client, (client, RTP[0]).into())?;
    let far = flow::open(call.server, (server, RTP[1]).into())?;
    let Some(outside) = who_am_i(&near, SocketAddr::new(call.target, STUN)) else {
        return fails("the STUN server does not answer");
    };
    let to = SocketAddr::new(call.target, RTP[1]);
    flow::exchange(FLOW, [(&near, to), (&far, outside)]).map(Seen::from)
}

fn has_udp(node: &Namespace, port: u16) -> bool {
    let sockets: Result<String> = node.run(&format!("ss -Hlun sport = :{port}"));
    sockets.is_ok_and(|sockets| !sockets.trim().is_empty())
}

/// Asks a STUN server for the address from which it hears this socket.
fn who_am_i(socket: &UdpSocket, server: SocketAddr) -> Option<SocketAddr> {
    let mut answer = [0; 512];
    for _ in 0..10 {
        // It may be refused while there is no route yet.
        if socket.send_to(&REQUEST, server).is_err() {
            std::thread::sleep(Duration::from_millis(100));
        } else if let Ok(length) = socket.recv(&mut answer) {
            return mapped(&answer[..length]);
        }
    }
    None
}

/// Returns the address in an answer.
fn mapped(answer: &[u8]) -> Option<SocketAddr> {
    let transaction = answer.get(4..20)?;
    if transaction != &REQUEST[4..] {
        return None;
    }
    let mut rest = answer.get(20..)?;
    loop {
        let (&[a, b, c, d], attribute) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([c, d]));
        let value = attribute.get(..length)?;
        if u16::from_be_bytes([a, b]) == XOR_MAPPED_ADDRESS {
            return unmask(value, transaction);
        }
        rest = attribute.get(length.next_multiple_of(4)..)?;
    }
}

/// Returns the address in the value of XOR-MAPPED-ADDRESS.
fn unmask(value: &[u8], transaction: &[u8]) -> Option<SocketAddr> {
    let (&[_, family, high, low], address) = value.split_first_chunk()?;
    let port = u16::from_be_bytes([high, low]) ^ u16::try_from(COOKIE >> 16).ok()?;
    let bytes: Vec<u8> = address
        .iter()
        .zip(transaction)
        .map(|(masked, mask)| masked ^ mask)
        .collect();
    let address: IpAddr = match family {
        1 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into(),
        2 => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attribute of RFC 5769 section 2.2: 192.0.2.1, port 32853.
    #[test]
    fn the_address_is_read_as_in_rfc_5769() {
        let mut answer = REQUEST.to_vec();
        answer[0] = 1;
        answer.extend(b"\x80\x22\x00\x0btest vector\x20");
        answer.extend(b"\x00\x20\x00\x08\x00\x01\xa1\x47\xe1\x12\xa6\x43");
        assert_eq!(mapped(&answer), "192.0.2.1:32853".parse().ok());
        answer[5] = 0;
        assert_eq!(mapped(&answer), None);
    }
}
