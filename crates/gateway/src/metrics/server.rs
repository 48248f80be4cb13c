//! `GET /metrics`, `/healthz` and `/readyz` over HTTP/1.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue, VARY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::collector::{Source, encode};
use super::exposition::Format;

/// Connections at a time.
const CONNECTIONS: usize = 16;
/// How long a client may take to ask and to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A listening metrics server.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
}

impl Endpoint {
    /// Listens on `address`.
    ///
    /// # Errors
    ///
    /// If the address is not ours or taken.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// Those of `getsockname(2)`.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until the task is dropped.
    pub async fn serve<S: Source>(self, source: Arc<S>) {
        let mut guests = Guests::default();
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    guests.make_room();
                    let served = connection(stream, Arc::clone(&source));
                    let place = guests.tasks.spawn(async move {
                        let _ = tokio::time::timeout(PATIENCE, served).await;
                    });
                    guests.there.push_back((from.ip(), place));
                }
                Err(error) => {
                    tracing::warn!(%error, "metrics server");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// The connections of now, the oldest first.
#[derive(Default)]
struct Guests {
    tasks: JoinSet<()>,
    there: VecDeque<(IpAddr, AbortHandle)>,
}

impl Guests {
    /// Sees that there is room for one more. If there are as many as may be, the oldest of the address that
    /// has most of them has to go: nobody keeps others out by holding connections.
    fn make_room(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        self.there.retain(|(_, task)| !task.is_finished());
        if self.there.len() < CONNECTIONS {
            return;
        }
        let of = |address: IpAddr| self.there.iter().filter(|(it, _)| *it == address).count();
        let most = self.there.iter().map(|(address, _)| of(*address)).max();
        let oldest = self
            .there
            .iter()
            .position(|(address, _)| Some(of(*address)) == most);
        if let Some((_, task)) = oldest.and_then(|at| self.there.remove(at)) {
            task.abort();
        }
    }
}

async fn connection<S: Source>(stream: TcpStream, source: Arc<S>) {
    let service = service_fn(move |request| {
        let answer = answer(&request, &source);
        async move { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a metrics connection broke");
    }
}

/// The type of everything that is for people.
const PLAIN: &str = "text/plain; charset=utf-8";

fn answer<S: Source>(request: &Request<Incoming>, source: &Arc<S>) -> Response<String> {
    let path = request.uri().path();
    let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
    match path {
        "/metrics" | "/healthz" | "/readyz" if !is_read => {
            let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, PLAIN, String::new());
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            response
        }
        "/metrics" => metrics(request, source),
        // Who reads this knows that the process lives.
        "/healthz" => respond(StatusCode::OK, PLAIN, "alive\n".into()),
        "/readyz" => ready(source),
        _ => {
            let text = "there are /metrics, /healthz and /readyz\n";
            respond(StatusCode::NOT_FOUND, PLAIN, text.into())
        }
    }
}

fn metrics<S: Source>(request: &Request<Incoming>, source: &Arc<S>) -> Response<String> {
    let accepted = request.headers().get_all(ACCEPT).iter();
    let accepted: Vec<&str> = accepted.filter_map(|it| it.to_str().ok()).collect();
    let format = Format::preferred(&accepted.join(","));
    let text = encode(source, format);
    let mut response = respond(StatusCode::OK, format.content_type(), text);
    let vary = HeaderValue::from_static("Accept");
    response.headers_mut().insert(VARY, vary);
    response
}

/// Whether packets are translated as configured, and else the reasons, one a line.
fn ready<S: Source>(source: &Arc<S>) -> Response<String> {
    let health = source.health();
    if health.is_ready() {
        return respond(StatusCode::OK, PLAIN, "ready\n".into());
    }
    let reasons = health.reasons.iter();
    let reasons = reasons.map(|reason| format!("{} (since {})\n", reason.what, reason.since));
    respond(StatusCode::SERVICE_UNAVAILABLE, PLAIN, reasons.collect())
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
