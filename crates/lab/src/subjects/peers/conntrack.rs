//! The kernel's table of tracked connections, by the messages of ctnetlink
//! (`linux/netfilter/nfnetlink_conntrack.h`). The tool that sends them is not on every machine.

use std::{io, os::fd::OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
    netlink::{self, SocketAddrNetlink},
    recv, sendto, socket_with,
};

use crate::{LabError, Result, network::netns::Namespace};

/// `IPCTNL_MSG_CT_DELETE` of the subsystem `NFNL_SUBSYS_CTNETLINK`. A message that names no connection deletes all.
const DELETE: u16 = 1 << 8 | 2;
/// `NLM_F_REQUEST` and `NLM_F_ACK`.
const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
/// `NLMSG_ERROR`, which acknowledges if its number is zero.
const ERROR: u16 = 2;
/// Octets of a netlink header, and of ctnetlink's own header.
const HEADER: usize = 16;
const FAMILY: usize = 4;

/// Removes all connections of a namespace. They are gone when it returns.
pub(super) fn flush(namespace: &Namespace) -> Result<()> {
    namespace.enter(|| {
        ask().map_err(|source| LabError::Start {
            command: "a flush of tracked connections".into(),
            source,
        })
    })
}

fn ask() -> io::Result<()> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::NETFILTER),
    )?;
    sendto(
        &socket,
        &request(),
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    acknowledged(&socket)
}

fn request() -> [u8; HEADER + FAMILY] {
    let mut message = [0; HEADER + FAMILY];
    message[0..4].copy_from_slice(&((HEADER + FAMILY) as u32).to_ne_bytes());
    message[4..6].copy_from_slice(&DELETE.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Sequence number, port, and an unspecified family.
    message
}

fn acknowledged(socket: &OwnedFd) -> io::Result<()> {
    let mut answer = [0; 256];
    let (length, _) = recv(socket, &mut answer, RecvFlags::empty())?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    if length < HEADER + 4 || kind != ERROR {
        return Err(io::ErrorKind::InvalidData.into());
    }
    match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
