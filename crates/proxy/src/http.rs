//! HTTP/1.1 with a client: requests that are forwarded, and tunnels.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::counter::Counter;
use crate::engine::{Engine, Place};
use crate::failure::Failure;
use crate::head::{self, Wish};
use crate::meter::{Meter, Metered};
use crate::target::Target;
use crate::tunnel;
use crate::upstream::{Unsent, Upstream};

/// Octets of a head, at most.
const LONGEST_HEAD: usize = 64 * 1024;
/// Headers of a request, at most.
const MOST_HEADERS: usize = 128;
/// A client whose server is silent is told so before it is taken for idle itself.
const GRACE: Duration = Duration::from_secs(5);
const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");

/// The content of a response: what a server sent, or what we say.
pub(crate) type Body = Either<Incoming, Full<Bytes>>;

/// A client's connection.
struct Session {
    engine: Arc<Engine>,
    client: IpAddr,
    meter: Arc<Meter>,
    /// Held until the connection, or the tunnel that it became, has ended.
    _place: Place,
    /// The server's connection of the request before. No other client gets it.
    kept: Mutex<Option<Upstream>>,
}

/// Serves a client until it ends.
pub(crate) async fn serve(stream: TcpStream, client: IpAddr, engine: Arc<Engine>, place: Place) {
    let meter = Arc::new(Meter::new(engine.counters.clone()));
    let (head_timeout, idle) = (engine.config.head_timeout, engine.config.idle_timeout);
    let session = Arc::new(Session {
        engine,
        client,
        meter: meter.clone(),
        _place: place,
        kept: Mutex::default(),
    });
    let metered = Metered {
        stream,
        meter: meter.clone(),
    };
    let answer = service_fn(move |request| {
        let session = session.clone();
        async move { Ok::<_, Infallible>(session.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS);
    let connection = builder
        .serve_connection(TokioIo::new(metered), answer)
        .with_upgrades();
    if let Some(Err(error)) = meter.unless_idle(idle + GRACE, connection).await {
        tracing::debug!(%client, %error, "proxy");
    }
}

impl Session {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        match self.clone().respond(request).await {
            Ok(response) => response,
            Err(failure) => {
                self.engine.counters.count(failure.counter());
                tracing::debug!(client = %self.client, %failure, "proxy");
                said(&failure)
            }
        }
    }

    async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Failure> {
        let (head, body) = request.into_parts();
        match head::read(&head, &self.engine.pseudonym)? {
            Wish::Tunnel(target) => self.tunnel(Request::from_parts(head, body), target).await,
            Wish::Forward(target) => self.forward(Request::from_parts(head, body), &target).await,
            Wish::Answer => Ok(Response::new(Either::Right(Full::default()))),
        }
    }

    async fn tunnel(
        self: Arc<Self>,
        request: Request<Incoming>,
        target: Target,
    ) -> Result<Response<Body>, Failure> {
        self.engine.counters.count(Counter::TunnelConnect);
        let server = self.engine.dialer.dial(&target).await?;
        tokio::spawn(async move {
            let Ok(upgraded) = hyper::upgrade::on(request).await else {
                return;
            };
            let Ok(parts) = upgraded.downcast::<TokioIo<Metered>>() else {
                return;
            };
            let client = parts.io.into_inner().stream;
            let limits = (self.engine.config.idle_timeout, &*self.engine.counters);
            tunnel::run(client, server, &parts.read_buf, &self.meter, limits).await;
            drop(self);
        });
        Ok(Response::new(Either::Right(Full::default())))
    }

    async fn forward(
        &self,
        request: Request<Incoming>,
        target: &Target,
    ) -> Result<Response<Body>, Failure> {
        let counters = &self.engine.counters;
        counters.count(Counter::RequestForwarded);
        let (mut head, body) = request.into_parts();
        head::rewrite(&mut head, target, &self.engine.pseudonym)?;
        let mut request = Request::from_parts(head, body);
        let mut kept = self.kept.lock().await;
        if let Some(mut upstream) = kept.take().filter(|kept| kept.leads_to(target))
            && upstream.is_open().await
        {
            match upstream.send(request).await {
                Ok(response) => {
                    counters.count(Counter::ServerReused);
                    *kept = Some(upstream);
                    return Ok(self.finish(response));
                }
                // The server had hung up, and has seen nothing of it.
                Err(Unsent {
                    request: Some(back),
                    ..
                }) => request = back,
                Err(unsent) => return Err(unsent.failure),
            }
        }
        let stream = self.engine.dialer.dial(target).await?;
        let idle = self.engine.config.idle_timeout;
        let mut upstream = Upstream::open(stream, target.clone(), idle).await?;
        let sent = upstream.send(request).await;
        let response = sent.map_err(|unsent| unsent.failure)?;
        *kept = Some(upstream);
        Ok(self.finish(response))
    }

    /// Makes the client's response of the server's.
    fn finish(&self, response: Response<Incoming>) -> Response<Body> {
        let version = response.version();
        let mut response = response.map(Either::Left);
        head::strip(response.headers_mut());
        head::add_via(response.headers_mut(), version, &self.engine.pseudonym);
        response
    }
}

/// The response that says what failed (RFC 9209).
pub(crate) fn said(failure: &Failure) -> Response<Body> {
    let text = format!("isthmus: {failure}\n");
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = failure.status();
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, plain);
    if failure.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS");
        headers.insert(hyper::header::ALLOW, allowed);
    }
    let status = format!("isthmus; error={}", failure.proxy_error());
    if let Ok(status) = HeaderValue::try_from(status) {
        headers.insert(PROXY_STATUS, status);
    }
    response
}
