//! Asks the kernel to which links XDP programs can send, and which links run them (`linux/netdev.h`).
//!
//! A driver takes frames only where somebody fetches them. A veth does if its other end polls: if that has GRO, or an
//! XDP program. Everything that is sent to another one is lost, and no counter of a link shows it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME` of `linux/genetlink.h`.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// The family, `NETDEV_CMD_DEV_GET`, `NETDEV_A_DEV_IFINDEX` and `NETDEV_A_DEV_XDP_FEATURES` of `linux/netdev.h`.
const FAMILY: &[u8] = b"netdev\0";
const GET_DEVICE: u8 = 1;
const NUMBER: u16 = 1;
const XDP_FEATURES: u16 = 3;
/// `NETDEV_XDP_ACT_BASIC` and `NETDEV_XDP_ACT_NDO_XMIT`.
const RUNS_PROGRAMS: u64 = 1;
const TAKES_FRAMES: u64 = 1 << 2;

/// Bytes of `struct nlmsghdr` and `struct genlmsghdr`.
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;

/// The abilities of a link's driver with XDP, as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpAbilities {
    /// It runs programs by itself.
    pub runs_programs: bool,
    /// It takes frames that programs on other links send.
    pub takes_frames: bool,
}

/// The abilities of all links of the network namespace of the calling thread, by link number.
pub(super) type Abilities = BTreeMap<u32, XdpAbilities>;

/// The number of the family, or that there is none, once the kernel has said so: it is a part of the kernel and no
/// module. Who asks for a family that is not there has the kernel run `modprobe` each time, so that others wait for who asks.
static FOUND: Mutex<Option<Option<u16>>> = Mutex::new(None);

/// Asks for the abilities of all links. `None`: the kernel is older than 6.3 and does not know.
///
/// # Errors
/// There is no socket, or the answer makes no sense.
pub(super) fn abilities() -> io::Result<Option<Abilities>> {
    let Some(family) = known_family()? else {
        return Ok(None);
    };
    let mut socket = socket()?;
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
    socket.send(&request(family, flags as u16, GET_DEVICE, &[]), 0)?;
    let mut abilities = Abilities::new();
    answers(&mut socket, |attributes| {
        let read = |kind| attributes.get(&kind).and_then(|value| number(value));
        if let (Some(link), Some(features)) = (read(NUMBER), read(XDP_FEATURES)) {
            let has = |feature: u64| features & feature != 0;
            let ability = XdpAbilities {
                runs_programs: has(RUNS_PROGRAMS),
                takes_frames: has(TAKES_FRAMES),
            };
            abilities.insert(link as u32, ability);
        }
    })?;
    Ok(Some(abilities))
}

/// The number of the family, which is asked for once.
fn known_family() -> io::Result<Option<u16>> {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    match *found {
        Some(known) => Ok(known),
        None => Ok(*found.insert(family(&mut socket()?)?)),
    }
}

/// A socket to the kernel.
fn socket() -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// The number of the family; kernels without it say that there is none.
fn family(socket: &mut Socket) -> io::Result<Option<u16>> {
    let name = [(FAMILY_NAME, FAMILY)];
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
    socket.send(&request(CONTROLLER, flags as u16, GET_FAMILY, &name), 0)?;
    let mut found = None;
    let answered = answers(socket, |attributes| {
        let id = attributes.get(&FAMILY_ID).and_then(|value| number(value));
        found = id.map(|id| id as u16);
    });
    match answered {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(()) => Ok(found),
    }
}

fn request(family: u16, flags: u16, command: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut message = Vec::new();
    // The length is filled in below; sequence and port stay 0.
    message.extend(0_u32.to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    for (kind, value) in attributes {
        message.extend((value.len() as u16 + 4).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(*value);
        message.resize(message.len().next_multiple_of(4), 0);
    }
    let length = (message.len() as u32).to_ne_bytes();
    message[..4].copy_from_slice(&length);
    message
}

/// Passes the attributes of each answer to `take`, until the kernel says that there are no more.
fn answers(socket: &mut Socket, mut take: impl FnMut(BTreeMap<u16, &[u8]>)) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(64 * 1024);
    loop {
        bytes.clear();
        socket.recv(&mut bytes, 0)?;
        let mut rest = bytes.as_slice();
        while let Some((kind, content, after)) = message(rest) {
            match kind {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => return outcome(content),
                _ => take(attributes(
                    content.get(GENERIC_HEADER..).unwrap_or_default(),
                )),
            }
            rest = after;
        }
    }
}

const NLMSG_ERROR: u16 = libc::NLMSG_ERROR as u16;
const NLMSG_DONE: u16 = libc::NLMSG_DONE as u16;

/// An acknowledgement, which begins with 0 or a negative error.
fn outcome(content: &[u8]) -> io::Result<()> {
    match content
        .first_chunk()
        .map(|first| i32::from_ne_bytes(*first))
    {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The type and content of the first message, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let content = bytes.get(HEADER..length)?;
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, content, after))
}

fn attributes(mut bytes: &[u8]) -> BTreeMap<u16, &[u8]> {
    let mut all = BTreeMap::new();
    while let Some([a, b, c, d]) = bytes.first_chunk() {
        let length = usize::from(u16::from_ne_bytes([*a, *b]));
        let Some(value) = bytes.get(4..length) else {
            break;
        };
        all.insert(u16::from_ne_bytes([*c, *d]), value);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    all
}

/// A number of two, four or eight bytes.
fn number(value: &[u8]) -> Option<u64> {
    Some(match value.len() {
        2 => u16::from_ne_bytes(value.try_into().ok()?).into(),
        4 => u32::from_ne_bytes(value.try_into().ok()?).into(),
        8 => u64::from_ne_bytes(value.try_into().ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        request(kind, 0, GET_DEVICE, attributes)
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let features = (TAKES_FRAMES | RUNS_PROGRAMS).to_ne_bytes();
        let link = 7_u32.to_ne_bytes();
        let mut bytes = answer(
            0x1c,
            &[(NUMBER, &link), (9, b"odd"), (XDP_FEATURES, &features)],
        );
        bytes.extend(answer(NLMSG_DONE, &[]));
        let (kind, content, after) = message(&bytes).unwrap();
        assert_eq!(kind, 0x1c);
        let read = attributes(&content[GENERIC_HEADER..]);
        assert_eq!(number(read[&NUMBER]), Some(7));
        assert_eq!(number(read[&XDP_FEATURES]), Some(5));
        assert_eq!(message(after).unwrap().0, NLMSG_DONE);
    }

    #[test]
    fn what_is_cut_off_is_no_message() {
        let bytes = answer(0x1c, &[(NUMBER, &7_u32.to_ne_bytes())]);
        for length in 0..bytes.len() {
            assert!(message(&bytes[..length]).is_none(), "{length}");
        }
        assert!(attributes(&[9, 0, 1, 0, 0]).is_empty());
        assert!(attributes(&[0, 0, 1, 0]).is_empty());
    }

    #[test]
    fn an_error_is_one() {
        assert!(outcome(&0_i32.to_ne_bytes()).is_ok());
        let refused = outcome(&(-libc::ENOENT).to_ne_bytes()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
    }

    /// The loopback link is everywhere, and takes no frames.
    #[test]
    fn the_kernel_tells_of_the_loopback_link() {
        match abilities().unwrap() {
            Some(abilities) => assert_eq!(abilities[&1], XdpAbilities::default()),
            None => println!("skipped: the kernel does not know what links do with XDP"),
        }
    }
}
