//! The gateway's end of the control socket.

use std::future::Future;
use std::io;
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{broadcast, mpsc};

use super::filter::Filter;
use super::message::{
    CounterRow, DeleteRequest, End, How, Listed, ReloadRequest, Reply, Request, SessionsRequest,
    Status, Wish,
};
use super::socket::ControlSocket;
use super::top::{Top, TopRequest};
use crate::records::{Record, Subject};

/// Bytes of a request, at most.
const LONGEST_REQUEST: u64 = 64 * 1024;
/// Bytes of a list of sessions that are sent at once. A channel and a system call for each line would take
/// longer than the line.
const CHUNK: usize = 1 << 16;
/// So many of them may wait for a slow client.
const AHEAD: usize = 4;
const WALK_FAILED: &str = "the walk over the sessions failed; see the log";

/// The gateway, as the control socket sees it.
pub trait Service: Send + Sync + 'static {
    /// The state of the gateway.
    fn status(&self) -> Status;

    /// All counters.
    fn counters(&self) -> Vec<CounterRow>;

    /// Shows every session to `visit` until it breaks off. May take a while.
    fn sessions(&self, visit: &mut dyn FnMut(Listed) -> ControlFlow<()>);

    /// Counts who has most sessions. May take a while.
    fn top(&self, request: TopRequest) -> Top;

    /// Ends the sessions that match, and returns their number. May take a while.
    fn delete(&self, filter: &Filter) -> u64;

    /// All events from now on.
    fn follow(&self) -> broadcast::Receiver<Arc<Record>>;

    /// Name of the gateway in records.
    fn name(&self) -> String;

    /// Changes the configuration in force. The answer, or why nothing changed.
    fn change(&self, order: Order) -> impl Future<Output = Result<Reply, String>> + Send;
}

/// An order to change the configuration in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Read the file again.
    Reload(How),
    /// Keep what waits to be confirmed.
    Confirm,
    /// Go back to the configuration before.
    Rollback,
}

/// Answers clients until the task is dropped.
pub async fn serve<S: Service>(socket: ControlSocket, service: Arc<S>) {
    loop {
        match socket.listener().accept().await {
            Ok((stream, _)) => {
                let service = Arc::clone(&service);
                tokio::spawn(async move {
                    if let Err(error) = Connection::new(stream, service).run().await {
                        tracing::debug!(%error, "a control connection broke");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "control socket");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

struct Connection<S> {
    input: BufReader<OwnedReadHalf>,
    output: OwnedWriteHalf,
    service: Arc<S>,
}

impl<S: Service> Connection<S> {
    fn new(stream: UnixStream, service: Arc<S>) -> Self {
        let (input, output) = stream.into_split();
        Self {
            input: BufReader::new(input),
            output,
            service,
        }
    }

    async fn run(mut self) -> io::Result<()> {
        loop {
            let mut line = Vec::new();
            let read = (&mut self.input)
                .take(LONGEST_REQUEST)
                .read_until(b'\n', &mut line)
                .await?;
            if read == 0 {
                return Ok(());
            }
            if read as u64 == LONGEST_REQUEST && line.last() != Some(&b'\n') {
                let message = format!("a request has at most {LONGEST_REQUEST} bytes");
                return self.reply(&Reply::Error(message)).await;
            }
            match serde_json::from_slice(&line) {
                Ok(request) => self.answer(request).await?,
                Err(error) => {
                    let message = format!("this is not a request: {error}");
                    self.reply(&Reply::Error(message)).await?;
                }
            }
        }
    }

    async fn answer(&mut self, request: Request) -> io::Result<()> {
        let reply = match request {
            Request::Status => Reply::Status(Box::new(self.service.status())),
            Request::Counters => Reply::Counters(self.service.counters()),
            Request::Reload(ReloadRequest { how }) => self.change(Order::Reload(how)).await,
            Request::Confirm => self.change(Order::Confirm).await,
            Request::Rollback => self.change(Order::Rollback).await,
            Request::Top(request) => self.top(request).await,
            Request::Delete(request) => self.delete(request).await,
            Request::Sessions(request) => {
                if let Err(error) = request.filter.check() {
                    Reply::Error(error.to_string())
                } else if request.wish == Wish::Follow {
                    return self.follow(&request).await;
                } else {
                    self.list(request).await?
                }
            }
        };
        self.reply(&reply).await
    }

    async fn change(&self, order: Order) -> Reply {
        let changed = self.service.change(order).await;
        changed.unwrap_or_else(Reply::Error)
    }

    async fn top(&self, request: TopRequest) -> Reply {
        let service = Arc::clone(&self.service);
        let walk = tokio::task::spawn_blocking(move || service.top(request));
        match walk.await {
            Ok(top) => Reply::Top(top),
            Err(_) => Reply::Error(WALK_FAILED.into()),
        }
    }

    async fn delete(&self, DeleteRequest { filter }: DeleteRequest) -> Reply {
        if let Err(error) = filter.check_narrow() {
            return Reply::Error(error.to_string());
        }
        let service = Arc::clone(&self.service);
        let walk = tokio::task::spawn_blocking(move || service.delete(&filter));
        match walk.await {
            Ok(ended) => Reply::Deleted(ended),
            Err(_) => Reply::Error(WALK_FAILED.into()),
        }
    }

    async fn list(&mut self, request: SessionsRequest) -> io::Result<Reply> {
        let (sender, mut chunks) = mpsc::channel(AHEAD);
        let service = Arc::clone(&self.service);
        let walk = tokio::task::spawn_blocking(move || walk(&*service, &request, &sender));
        while let Some(chunk) = chunks.recv().await {
            self.output.write_all(&chunk).await?;
        }
        Ok(match walk.await {
            Ok(Ok(end)) => Reply::End(end),
            Ok(Err(_)) | Err(_) => Reply::Error(WALK_FAILED.into()),
        })
    }

    /// Sends events until the client hangs up.
    async fn follow(&mut self, request: &SessionsRequest) -> io::Result<()> {
        let mut events = self.service.follow();
        let mut sent = 0;
        let mut hung_up = [0];
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                read = self.input.read(&mut hung_up) => match read? {
                    0 => return Ok(()),
                    _ => continue,
                },
            };
            let record = match event {
                Ok(record) => record,
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
                Err(broadcast::error::RecvError::Lagged(lost)) => {
                    let line = serde_json::json!({"event": "records-suppressed", "count": lost});
                    self.reply(&Reply::Record(line)).await?;
                    continue;
                }
            };
            let Subject::Session(session) = &record.subject else {
                continue;
            };
            if !request.filter.admits(&record.instance, session) {
                continue;
            }
            let name = self.service.name();
            let line = serde_json::to_value(crate::records::line(&name, &record));
            let line = line.map_err(io::Error::other)?;
            self.reply(&Reply::Record(line)).await?;
            sent += 1;
            if request.limit != 0 && sent == request.limit {
                return self
                    .reply(&Reply::End(End {
                        matched: sent,
                        listed: sent,
                    }))
                    .await;
            }
        }
    }

    async fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        let mut line = Vec::new();
        write_line(&mut line, reply)?;
        self.output.write_all(&line).await
    }
}

fn write_line(out: &mut Vec<u8>, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *out, reply)?;
    out.push(b'\n');
    Ok(())
}

/// Walks over all sessions and sends those that match, up to the limit, as lines; counts the rest.
fn walk<S: Service>(
    service: &S,
    request: &SessionsRequest,
    chunks: &mpsc::Sender<Vec<u8>>,
) -> io::Result<End> {
    let mut end = End::default();
    let mut lines = Vec::with_capacity(CHUNK);
    let mut written = Ok(());
    service.sessions(&mut |listed| {
        if !request.filter.admits(&listed.instance, &listed.session) {
            return ControlFlow::Continue(());
        }
        end.matched += 1;
        let wanted =
            request.wish == Wish::List && (request.limit == 0 || end.listed < request.limit);
        if !wanted {
            return ControlFlow::Continue(());
        }
        end.listed += 1;
        written = write_line(&mut lines, &Reply::Session(listed));
        let hung_up = lines.len() >= CHUNK && chunks.blocking_send(take(&mut lines)).is_err();
        if hung_up || written.is_err() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    // Whoever hung up needs no rest.
    let _ = chunks.blocking_send(lines);
    written.map(|()| end)
}
