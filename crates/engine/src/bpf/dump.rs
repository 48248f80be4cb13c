//! Reads tables of the kernel over netlink.

use std::io;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Requests a dump with this message in the network namespace of the calling thread.
///
/// # Errors
/// The kernel refuses, or `take` fails: then the rest is not read.
pub(super) fn dump(
    message: RouteNetlinkMessage,
    take: impl FnMut(RouteNetlinkMessage) -> io::Result<()>,
) -> io::Result<()> {
    request(message, NLM_F_REQUEST | NLM_F_DUMP, take)
}

/// Sends a request with these flags, likewise, and reads one answer, or all of a dump.
///
/// # Errors
/// The same.
pub(super) fn request(
    message: RouteNetlinkMessage,
    flags: u16,
    mut take: impl FnMut(RouteNetlinkMessage) -> io::Result<()>,
) -> io::Result<()> {
    let mut message = NetlinkMessage::from(message);
    message.header.flags = flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);

    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let mut answer = Vec::with_capacity(64 * 1024);
    loop {
        answer.clear();
        socket.recv(&mut answer, 0)?;
        let mut rest = answer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::InnerMessage(one) => {
                    take(one)?;
                    if flags & NLM_F_DUMP != NLM_F_DUMP {
                        return Ok(());
                    }
                }
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
            // Messages begin at multiples of four bytes.
            let length = (message.header.length as usize).next_multiple_of(4).max(4);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}
