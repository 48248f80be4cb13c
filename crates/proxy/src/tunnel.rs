//! The octets of a tunnel: the first ones by way of a buffer, all others inside the kernel.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::unistd::pipe2;
use socket2::SockRef;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use crate::counter::{Counter, Counters};
use crate::meter::Meter;
use crate::turn::Turn;

/// Octets that are read at once.
const BUFFER: usize = 16 * 1024;
/// So many octets in one direction are worth a pipe, which takes four system calls and two descriptors.
const WORTH_A_PIPE: u64 = 64 * 1024;
/// Octets that a pipe holds, if the kernel lets it.
const PIPE: i32 = 512 * 1024;

const FLAGS: SpliceFFlags = SpliceFFlags::SPLICE_F_MOVE.union(SpliceFFlags::SPLICE_F_NONBLOCK);

thread_local! {
    static SHARED: RefCell<Vec<u8>> = RefCell::new(vec![0; BUFFER]);
}

/// One direction of a tunnel.
struct Direction<'t> {
    from: ReadHalf<'t>,
    to: WriteHalf<'t>,
    /// Tells the meter.
    carried: &'t (dyn Fn(usize) + Sync),
    counters: &'t Counters,
    /// Whether the other direction has ended. Then dropping the sockets is the end of both.
    is_last: &'t AtomicBool,
}

/// Carries what client and server send to each other until both have ended, one breaks off, or nothing comes for
/// `idle`. `early` is what the client sent before the tunnel was open.
pub(crate) async fn run(
    mut client: TcpStream,
    mut server: TcpStream,
    early: &[u8],
    meter: &Meter,
    (idle, counters): (Duration, &Counters),
) {
    let is_last = AtomicBool::new(false);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let mut up = Direction {
        from: from_client,
        to: to_server,
        carried: &|octets| meter.up(octets),
        counters,
        is_last: &is_last,
    };
    let mut down = Direction {
        from: from_server,
        to: to_client,
        carried: &|octets| meter.down(octets),
        counters,
        is_last: &is_last,
    };
    let both = async {
        write_all(up.to.as_ref(), early).await?;
        tokio::try_join!(up.carry(), down.carry())
    };
    // An error is the end of one side, and dropping the sockets tells the other.
    let _ = meter.unless_idle(idle, both).await;
}

impl Direction<'_> {
    /// Carries everything, and then the end.
    async fn carry(&mut self) -> io::Result<()> {
        match self.copy().await? {
            End::Here => {}
            End::Later(pipe) => {
                self.counters.count(Counter::Spliced);
                self.splice(&pipe).await?;
            }
        }
        match self.is_last.swap(true, Ordering::Relaxed) {
            true => Ok(()),
            false => SockRef::from(self.to.as_ref()).shutdown(Shutdown::Write),
        }
    }

    async fn copy(&mut self) -> io::Result<End> {
        let mut total = 0;
        loop {
            let (octets, rest) = poll_fn(|context| self.poll_pass(context)).await?;
            if octets == 0 {
                return Ok(End::Here);
            }
            write_all(self.to.as_ref(), &rest).await?;
            (self.carried)(octets);
            total += octets as u64;
            if total >= WORTH_A_PIPE
                && octets == BUFFER
                && let Ok(pipe) = Pipe::new()
            {
                return Ok(End::Later(pipe));
            }
        }
    }

    /// Reads once, and writes what can be written at once. Returns how many octets came, and which of them are left.
    /// All tunnels of a thread share its buffer, which so stays in the processor's cache.
    fn poll_pass(&mut self, context: &mut Context<'_>) -> Poll<io::Result<(usize, Vec<u8>)>> {
        SHARED.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            // It knows from a short read that the socket is empty, and does not ask again.
            ready!(Pin::new(&mut self.from).poll_read(context, &mut buffer))?;
            let octets = buffer.filled();
            if octets.is_empty() {
                return Poll::Ready(Ok((0, Vec::new())));
            }
            let written = match self.to.try_write(octets) {
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Poll::Ready(Err(error)),
            };
            Poll::Ready(Ok((octets.len(), octets[written..].to_vec())))
        })
    }

    async fn splice(&self, pipe: &Pipe) -> io::Result<()> {
        let (from, to) = (self.from.as_ref(), self.to.as_ref());
        loop {
            from.readable().await?;
            let turn = Turn::begin().await;
            // The pipe is empty, so that whatever would block is the socket.
            let taken = from.try_io(Interest::READABLE, || {
                Ok(splice(from, None, &pipe.entry, None, PIPE as usize, FLAGS)?)
            });
            let octets = match taken {
                Ok(0) => return Ok(()),
                Ok(octets) => octets,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            let mut left = octets - give(pipe, to, octets)?;
            turn.end().await;
            while left > 0 {
                to.writable().await?;
                left -= give(pipe, to, left)?;
            }
            (self.carried)(octets);
        }
    }
}

/// Moves octets from a pipe to a socket. Returns how many it takes.
fn give(pipe: &Pipe, to: &TcpStream, octets: usize) -> io::Result<usize> {
    let given = to.try_io(Interest::WRITABLE, || {
        Ok(splice(&pipe.exit, None, to, None, octets, FLAGS)?)
    });
    match given {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        given => given,
    }
}

/// Where the octets of a direction end.
enum End {
    /// The last one was read.
    Here,
    /// The others go through a pipe.
    Later(Pipe),
}

struct Pipe {
    exit: OwnedFd,
    entry: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (exit, entry) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        // A user may have only so much of it; a small pipe works, too.
        let _ = fcntl(&entry, FcntlArg::F_SETPIPE_SZ(PIPE));
        Ok(Self { exit, entry })
    }
}

/// Writes all octets.
pub(crate) async fn write_all(to: &TcpStream, mut octets: &[u8]) -> io::Result<()> {
    while !octets.is_empty() {
        match to.try_write(octets) {
            Ok(written) => octets = &octets[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
