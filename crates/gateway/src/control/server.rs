//! The gateway's end of the control socket.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, broadcast, mpsc};

use super::answer::{Answer, Failure, many, one, write_line};
use super::filter::Filter;
use super::message::{
    CounterRow, DeleteRequest, End, How, Listed, ReloadRequest, Reply, Request, SessionsRequest,
    Status, Wish,
};
use super::socket::{ControlSocket, View};
use super::top::{Most, Top, TopRequest};
use super::trace::TraceRequest;
use crate::records::{Record, Subject};

/// Bytes of a request's head, at most.
const LONGEST_REQUEST: usize = 64 * 1024;
/// Connections of those who may only read, at a time. The others wait.
const VIEWERS: usize = 32;
/// How long somebody who may nothing may take to hear so.
const REFUSAL: Duration = Duration::from_secs(1);
/// Bytes of a list of sessions that are sent at once. A channel and a system call for each line would take
/// longer than the line.
const CHUNK: usize = 1 << 16;
/// So many of them may wait for a slow client.
const AHEAD: usize = 4;
/// Packets that may wait for a slow client.
const PACKETS_AHEAD: usize = 1024;
const WALK_FAILED: &str = "the walk over the sessions failed; see the log";
const UNCOUNTED: &str =
    "no instance counts what its sessions carry: write `count-traffic = true` into one";

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

    /// Sends the way of every packet from now on that the request asks for, until the answer is dropped. May take a
    /// while.
    fn trace(&self, request: &TraceRequest, lines: mpsc::Sender<Reply>) -> Result<Tracing, String>;

    /// Name of the gateway in records.
    fn name(&self) -> String;

    /// Changes the configuration in force. The answer, or why nothing changed.
    fn change(&self, order: Order) -> impl Future<Output = Result<Reply, String>> + Send;
}

/// Somebody follows packets, until this is dropped.
pub type Tracing = Box<dyn Send>;

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

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// All.
    Full,
    /// Nothing that changes something.
    View,
    /// Nothing.
    None,
}

/// Answers clients until the task is dropped.
pub async fn serve<S: Service>(socket: ControlSocket, service: Arc<S>) {
    let view = async {
        match socket.view() {
            Some(view) => serve_viewers(view, &service).await,
            None => std::future::pending().await,
        }
    };
    let owner = async {
        loop {
            let stream = next(socket.listener()).await;
            tokio::spawn(connection(stream, Access::Full, Arc::clone(&service)));
        }
    };
    tokio::select! {
        () = owner => {}
        () = view => {}
    }
}

async fn serve_viewers<S: Service>(view: &View, service: &Arc<S>) {
    let places = Arc::new(Semaphore::new(VIEWERS));
    loop {
        let stream = next(view.listener()).await;
        let service = Arc::clone(service);
        if !view.admits(&stream) {
            let refusal = connection(stream, Access::None, service);
            tokio::spawn(tokio::time::timeout(REFUSAL, refusal));
            continue;
        }
        let places = Arc::clone(&places);
        tokio::spawn(async move {
            let _place = places.acquire().await;
            connection(stream, Access::View, service).await;
        });
    }
}

/// The next client.
async fn next(listener: &UnixListener) -> UnixStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "control socket");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection<S: Service>(stream: UnixStream, access: Access, service: Arc<S>) {
    let answers = service_fn(move |request: hyper::Request<Incoming>| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(answer(&request, access, service).await) }
    });
    let served = http1::Builder::new()
        .max_buf_size(LONGEST_REQUEST)
        .serve_connection(TokioIo::new(stream), answers)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a control connection broke");
    }
}

async fn answer<S: Service>(
    request: &hyper::Request<Incoming>,
    access: Access,
    service: Arc<S>,
) -> Answer {
    let (method, uri) = (request.method(), request.uri());
    let request = match Request::from_http(method, uri.path(), uri.query()) {
        Ok(request) => request,
        Err(failure) => return one(Err(failure)),
    };
    let refusal = match access {
        Access::Full => None,
        Access::View if matches!(request, Request::Trace(_)) => {
            Some("only the owner of the gateway's own socket sees packets")
        }
        Access::View if *method == Method::GET => None,
        Access::View => Some("this socket is for those who only read"),
        Access::None => Some("only members of `view-group` may read here"),
    };
    if let Some(message) = refusal {
        return one(Err(Failure::new(StatusCode::FORBIDDEN, message)));
    }
    one(match request {
        Request::Status => Ok(Reply::Status(Box::new(service.status()))),
        Request::Counters => Ok(Reply::Counters(service.counters())),
        Request::Reload(ReloadRequest { how }) => change(&*service, Order::Reload(how)).await,
        Request::Confirm => change(&*service, Order::Confirm).await,
        Request::Rollback => change(&*service, Order::Rollback).await,
        Request::Top(request) => top(service, request).await,
        Request::Trace(request) => return trace(service, request).await,
        Request::Delete(request) => delete(service, request).await,
        Request::Sessions(request) => {
            let (lines, answer) = mpsc::channel(AHEAD);
            if request.wish == Wish::Follow {
                tokio::spawn(follow(service, request, lines));
            } else {
                tokio::task::spawn_blocking(move || walk(&*service, &request, &lines));
            }
            return many(answer);
        }
    })
}

async fn change<S: Service>(service: &S, order: Order) -> Result<Reply, Failure> {
    let refused = |message| Failure::new(StatusCode::CONFLICT, message);
    service.change(order).await.map_err(refused)
}

async fn top<S: Service>(service: Arc<S>, request: TopRequest) -> Result<Reply, Failure> {
    let walk = tokio::task::spawn_blocking(move || service.top(request));
    let top = walk.await.map_err(|_| Failure::own(WALK_FAILED))?;
    if !top.counted && matches!(request.most, Most::Packets | Most::Bytes) {
        return Err(Failure::new(StatusCode::CONFLICT, UNCOUNTED));
    }
    Ok(Reply::Top(top))
}

async fn delete<S: Service>(
    service: Arc<S>,
    DeleteRequest { filter }: DeleteRequest,
) -> Result<Reply, Failure> {
    let checked = filter.check_narrow();
    checked.map_err(|error| Failure::bad(error.to_string()))?;
    let walk = tokio::task::spawn_blocking(move || service.delete(&filter));
    let ended = walk.await.map_err(|_| Failure::own(WALK_FAILED))?;
    Ok(Reply::Deleted(ended))
}

async fn trace<S: Service>(service: Arc<S>, request: TraceRequest) -> Answer {
    let (sender, mut replies) = mpsc::channel(PACKETS_AHEAD);
    let begin = tokio::task::spawn_blocking(move || service.trace(&request, sender));
    let tracing = match begin.await {
        Ok(Ok(tracing)) => tracing,
        Ok(Err(message)) => return one(Err(Failure::own(message))),
        Err(_) => return one(Err(Failure::own("the trace failed; see the log"))),
    };
    let (lines, answer) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let mut some = Vec::new();
        loop {
            let count = tokio::select! {
                count = replies.recv_many(&mut some, PACKETS_AHEAD) => count,
                () = lines.closed() => break,
            };
            let mut chunk = Vec::new();
            let written = some
                .drain(..)
                .try_for_each(|reply| write_line(&mut chunk, &reply));
            if count == 0 || written.is_err() || lines.send(chunk).await.is_err() {
                break;
            }
        }
        // The kernel waits for its programs to end.
        tokio::task::spawn_blocking(move || drop(tracing));
    });
    many(answer)
}

/// Sends events until the client hangs up.
async fn follow<S: Service>(
    service: Arc<S>,
    request: SessionsRequest,
    lines: mpsc::Sender<Vec<u8>>,
) {
    let mut events = service.follow();
    let mut sent = 0;
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = lines.closed() => return,
        };
        let line = match event {
            Ok(record) => {
                let Subject::Session(session) = &record.subject else {
                    continue;
                };
                if !request.filter.admits(&record.instance, session) {
                    continue;
                }
                sent += 1;
                serde_json::to_value(crate::records::line(&service.name(), &record))
            }
            Err(broadcast::error::RecvError::Closed) => return,
            Err(broadcast::error::RecvError::Lagged(lost)) => {
                Ok(serde_json::json!({"event": "records-suppressed", "count": lost}))
            }
        };
        let ends = request.limit != 0 && sent == request.limit;
        let mut chunk = Vec::new();
        let written = line.map_err(io::Error::other).and_then(|line| {
            write_line(&mut chunk, &Reply::Record(line))?;
            if ends {
                let (matched, listed) = (sent, sent);
                write_line(&mut chunk, &Reply::End(End { matched, listed }))?;
            }
            Ok(())
        });
        if written.is_err() || lines.send(chunk).await.is_err() || ends {
            return;
        }
    }
}

/// Walks over all sessions and sends those that match, up to the limit, as lines; counts the rest.
fn walk<S: Service>(service: &S, request: &SessionsRequest, chunks: &mpsc::Sender<Vec<u8>>) {
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
    let last = match written {
        Ok(()) => Reply::End(end),
        Err(_) => Reply::Error(WALK_FAILED.into()),
    };
    if write_line(&mut lines, &last).is_ok() {
        // Whoever hung up needs no rest.
        let _ = chunks.blocking_send(lines);
    }
}
