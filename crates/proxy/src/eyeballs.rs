//! Happy Eyeballs version 2 (RFC 8305): both families are asked for and tried, and the first connection wins.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use isthmus_dns64::NoAddress;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::dial::Server;
use crate::failure::Failure;

/// How long IPv4 addresses wait for IPv6 ones (RFC 8305 section 3).
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);
/// Time between two attempts (RFC 8305 section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Addresses of a name that are tried.
const MOST_ADDRESSES: usize = 16;

type Answer = Result<Vec<IpAddr>, NoAddress>;

/// What is known of a name, and the attempts under way.
struct Race<'j> {
    port: u16,
    judge: &'j (dyn Fn(IpAddr) -> Result<(), Failure> + Sync),
    v6: VecDeque<IpAddr>,
    v4: VecDeque<IpAddr>,
    attempts: JoinSet<(SocketAddr, io::Result<TcpStream>)>,
    last_was_v6: bool,
    next: Option<Instant>,
    why: Option<Failure>,
}

/// Connects to the first address that answers. `judge` says which addresses may be tried.
pub(crate) async fn connect(
    v6: impl Future<Output = Answer>,
    v4: impl Future<Output = Answer>,
    port: u16,
    judge: &(dyn Fn(IpAddr) -> Result<(), Failure> + Sync),
) -> Result<Server, Failure> {
    let (mut asking_v6, mut asking_v4) = (pin!(v6), pin!(v4));
    let (mut v6_open, mut v4_open) = (true, true);
    let mut race = Race {
        port,
        judge,
        v6: VecDeque::new(),
        v4: VecDeque::new(),
        attempts: JoinSet::new(),
        last_was_v6: false,
        next: None,
        why: None,
    };
    loop {
        if !v6_open && !v4_open && race.is_over() {
            return Err(race.why.unwrap_or(Failure::NameUnknown));
        }
        let due = race.next.filter(|_| race.has_more());
        tokio::select! {
            answer = &mut asking_v6, if v6_open => {
                v6_open = false;
                race.learn(answer);
                race.next.get_or_insert_with(Instant::now);
                if race.attempts.is_empty() {
                    race.next = Some(Instant::now());
                }
            }
            answer = &mut asking_v4, if v4_open => {
                v4_open = false;
                race.learn(answer);
                let delay = if v6_open { RESOLUTION_DELAY } else { Duration::ZERO };
                race.next.get_or_insert_with(|| Instant::now() + delay);
            }
            Some(ended) = race.attempts.join_next() => {
                if let Some(server) = race.end(ended) {
                    return Ok(server);
                }
            }
            () = wait(due), if due.is_some() => race.attempt(),
        }
    }
}

async fn wait(until: Option<Instant>) {
    if let Some(until) = until {
        sleep_until(until).await;
    }
}

impl Race<'_> {
    fn has_more(&self) -> bool {
        !(self.v6.is_empty() && self.v4.is_empty())
    }

    fn is_over(&self) -> bool {
        !self.has_more() && self.attempts.is_empty()
    }

    /// Takes the answer of the DNS for one family.
    fn learn(&mut self, answer: Answer) {
        match answer {
            Ok(addresses) => {
                for address in addresses.into_iter().take(MOST_ADDRESSES) {
                    match (self.judge)(address) {
                        Ok(()) if address.is_ipv6() => self.v6.push_back(address),
                        Ok(()) => self.v4.push_back(address),
                        Err(failure) => self.note(failure),
                    }
                }
            }
            Err(NoAddress::Failed | NoAddress::Silence) => self.note(Failure::NameTimeout),
            Err(NoAddress::Nothing | NoAddress::NotAName) => {}
        }
    }

    /// Keeps the failure that says most: one of a connection, then that an address is refused, then the DNS.
    fn note(&mut self, failure: Failure) {
        let rank = |failure: &Failure| match failure {
            Failure::Unreachable(_) => 3,
            Failure::Destination(_) => 2,
            _ => 1,
        };
        if self
            .why
            .as_ref()
            .is_none_or(|old| rank(old) < rank(&failure))
        {
            self.why = Some(failure);
        }
    }

    /// Begins with the next address: the families take turns, and IPv6 is first (RFC 8305 section 4).
    fn attempt(&mut self) {
        let first = if self.last_was_v6 {
            self.v4.pop_front()
        } else {
            self.v6.pop_front()
        };
        let address = first
            .or_else(|| self.v6.pop_front())
            .or_else(|| self.v4.pop_front());
        let Some(address) = address else { return };
        self.last_was_v6 = address.is_ipv6();
        let to = SocketAddr::new(address, self.port);
        self.attempts
            .spawn(async move { (to, TcpStream::connect(to).await) });
        self.next = Some(Instant::now() + ATTEMPT_DELAY);
    }

    /// The connection, if the attempt has made one. The next one begins at once otherwise.
    fn end(
        &mut self,
        ended: Result<(SocketAddr, io::Result<TcpStream>), tokio::task::JoinError>,
    ) -> Option<Server> {
        match ended {
            Ok((to, Ok(stream))) => return Some((stream, to)),
            Ok((to, Err(error))) => self.note(Failure::Unreachable(format!("{to}: {error}"))),
            Err(error) => self.note(Failure::Unreachable(error.to_string())),
        }
        self.next = Some(Instant::now());
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use tokio::net::TcpListener;
    use tokio::time::sleep;

    const ALL: &(dyn Fn(IpAddr) -> Result<(), Failure> + Sync) = &|_| Ok(());

    async fn late(milliseconds: u64, answer: Answer) -> Answer {
        sleep(Duration::from_millis(milliseconds)).await;
        answer
    }

    fn v4() -> Answer {
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }

    fn v6() -> Answer {
        Ok(vec![Ipv6Addr::LOCALHOST.into()])
    }

    /// Listeners at the same port of both families.
    async fn both() -> (TcpListener, TcpListener, u16) {
        loop {
            let v6 = TcpListener::bind("[::1]:0").await.unwrap();
            let port = v6.local_addr().unwrap().port();
            if let Ok(v4) = TcpListener::bind(("127.0.0.1", port)).await {
                return (v6, v4, port);
            }
        }
    }

    #[tokio::test]
    async fn rfc8305_3_ipv6_is_waited_for_a_little() {
        let (_v6, _v4, port) = both().await;
        let (stream, _) = connect(late(5, v6()), late(0, v4()), port, ALL)
            .await
            .unwrap();
        assert!(stream.peer_addr().unwrap().is_ipv6());
        let (stream, _) = connect(late(5_000, v6()), late(0, v4()), port, ALL)
            .await
            .unwrap();
        assert!(stream.peer_addr().unwrap().is_ipv4());
    }

    #[tokio::test]
    async fn rfc8305_5_the_other_family_follows_a_failure_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let begun = Instant::now();
        let (stream, _) = connect(late(0, v6()), late(0, v4()), port, ALL)
            .await
            .unwrap();
        assert!(stream.peer_addr().unwrap().is_ipv4());
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[tokio::test]
    async fn failures_say_what_failed() {
        let none = || late(0, Err(NoAddress::Nothing));
        let silence = || late(0, Err(NoAddress::Silence));
        let refuse = |address| Err(Failure::Destination(address));
        assert_eq!(
            connect(none(), none(), 1, ALL).await.err(),
            Some(Failure::NameUnknown)
        );
        assert_eq!(
            connect(none(), silence(), 1, ALL).await.err(),
            Some(Failure::NameTimeout)
        );
        let refused = Failure::Destination(Ipv4Addr::LOCALHOST.into());
        assert_eq!(
            connect(silence(), late(0, v4()), 1, &refuse).await.err(),
            Some(refused)
        );
        let (v6, v4, port) = both().await;
        drop((v6, v4));
        let failed = connect(none(), late(0, self::v4()), port, ALL).await.err();
        assert!(
            matches!(failed, Some(Failure::Unreachable(_))),
            "{failed:?}"
        );
    }
}
