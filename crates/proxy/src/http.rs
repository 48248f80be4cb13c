//! HTTP/1.1 with a client: requests that are forwarded, and tunnels.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::counter::Counter;
use crate::engine::{Engine, Place};
use crate::failure::Failure;
use crate::head::{self, Wish};
use crate::interim::{Hints, Interim};
use crate::journal::Entry;
use crate::logged::Logged;
use crate::meter::{Meter, Metered};
use crate::opening::{self, Opening};
use crate::proxy_header::Ends;
use crate::target::Target;
use crate::tunnel;
use crate::upgrade::Upgrade;
use crate::upstream::{Unsent, Upstream};
use crate::users;

/// Octets of a head, at most.
const LONGEST_HEAD: usize = 32 * 1024;
/// Headers of a request, at most.
const MOST_HEADERS: usize = 128;
/// A client whose server is silent is told so before it is taken for idle itself.
const GRACE: Duration = Duration::from_secs(5);
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
const REALM: HeaderValue = HeaderValue::from_static("Basic realm=\"proxy\", charset=\"UTF-8\"");

/// The content of a response: what a server sent, or what we say.
type Body = Either<Logged, Full<Bytes>>;

/// Whom a client takes us for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A proxy.
    Proxy,
    /// The server of every site.
    Sites,
}

/// A client's connection.
struct Session {
    engine: Arc<Engine>,
    ends: Ends,
    role: head::Role,
    /// Held until the connection, or the tunnel that it became, has ended.
    _place: Place,
    /// The server's connection of the request before. No other client gets it.
    kept: Mutex<Option<Upstream>>,
    /// Where responses before the last go.
    interim: Arc<Interim>,
    /// Why the first request has failed already.
    failed: Mutex<Option<Failure>>,
}

/// Octets that were read of a client, and why its first request has failed already.
#[derive(Default)]
pub(crate) struct Begun {
    early: Vec<u8>,
    failed: Option<Failure>,
}

/// Serves a client of a proxy until it ends. Tunnels, which most of them want, need nothing of hyper.
pub(crate) async fn proxy(mut stream: TcpStream, ends: Ends, engine: Arc<Engine>, place: Place) {
    let mut begun = Begun::default();
    // A password is asked for by hyper.
    if engine.config.users.is_none() {
        let opening = opening::read(&mut stream, &engine.pseudonym);
        let opening = match timeout(engine.config.head_timeout, opening).await {
            Ok(Ok(opening)) => opening,
            // The client is gone, or says nothing.
            Ok(Err(_)) | Err(_) => return,
        };
        match opening {
            Opening::Tunnel(target, end, octets) => {
                let mut entry = engine.journal.entry("http", ends.client);
                entry.set("method", "CONNECT");
                match dial(&engine, &target, ends, &mut entry).await {
                    Ok(server) => {
                        return tunnel(&engine, stream, server, &octets[end..], entry).await;
                    }
                    Err(failure) => begun.failed = Some(failure),
                }
                begun.early = octets;
            }
            Opening::Other(octets) => begun.early = octets,
        }
    }
    Box::pin(serve((stream, begun), ends, engine, place, Role::Proxy)).await;
}

/// Connects to the server of a tunnel.
async fn dial(
    engine: &Engine,
    target: &Target,
    ends: Ends,
    entry: &mut Entry,
) -> Result<TcpStream, Failure> {
    engine.counters.count(Counter::TunnelConnect);
    entry.target(target);
    let (server, address) = engine.dialer.dial(target, ends).await?;
    entry.server(address);
    entry.set("status", 200);
    Ok(server)
}

/// Tells the client that there is a tunnel, and carries what it carries.
async fn tunnel(engine: &Engine, client: TcpStream, server: TcpStream, early: &[u8], entry: Entry) {
    let meter = Meter::following(engine.counters.clone(), early.len());
    let limits = (engine.config.idle_timeout, &*engine.counters);
    if tunnel::write_all(&client, ESTABLISHED).await.is_ok() {
        tunnel::run(client, server, early, &meter, limits).await;
    }
    engine.journal.write(entry.ended(&meter));
}

/// Serves a client until it ends.
pub(crate) async fn serve(
    (stream, begun): (TcpStream, Begun),
    ends: Ends,
    engine: Arc<Engine>,
    place: Place,
    role: Role,
) {
    let meter = Arc::new(Meter::new(engine.counters.clone()));
    let (head_timeout, idle) = (engine.config.head_timeout, engine.config.idle_timeout);
    let interim = Arc::new(Interim::default());
    let session = Arc::new(Session {
        engine,
        ends,
        role: match role {
            Role::Proxy => head::Role::Proxy,
            Role::Sites => head::Role::Sites(ends.local.port()),
        },
        _place: place,
        kept: Mutex::default(),
        interim: interim.clone(),
        failed: Mutex::new(begun.failed),
    });
    let metered = Metered {
        stream,
        meter: meter.clone(),
        early: begun.early,
        interim,
    };
    let answer = service_fn(move |request| {
        let session = session.clone();
        async move { Ok::<_, Infallible>(session.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_header_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS);
    let connection = builder
        .serve_connection(TokioIo::new(metered), answer)
        .with_upgrades();
    if let Some(Err(error)) = meter.unless_idle(idle + GRACE, connection).await {
        tracing::debug!(client = %ends.client, %error, "proxy");
    }
}

impl Session {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let mut entry = self.engine.journal.entry("http", self.ends.client);
        entry.set("method", request.method().as_str());
        let is_old = request.version() == Version::HTTP_10;
        let mut response = match self.clone().respond(request, &mut entry).await {
            Ok(response) => response,
            Err(failure) => {
                self.engine.counters.count(failure.counter());
                entry.set("status", failure.status().as_u16());
                self.engine.journal.write(entry.failed(&failure));
                said(&failure)
            }
        };
        if is_old {
            // RFC 9112 section 9.3: no proxy keeps a connection of HTTP/1.0.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }

    async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        entry: &mut Entry,
    ) -> Result<Response<Body>, Failure> {
        self.authenticate(&request, entry).await?;
        let (head, body) = request.into_parts();
        let wish = head::read(&head, self.role, &self.engine.pseudonym)?;
        let request = Request::from_parts(head, body);
        match wish {
            Wish::Tunnel(target) => self.tunnel(request, target, entry).await,
            Wish::Forward(target) => self.forward(request, &target, entry).await,
            Wish::Answer => Ok(Response::new(Either::Right(Full::default()))),
        }
    }

    /// RFC 9110 section 11.7. A client without a setting for a proxy knows no password.
    async fn authenticate(
        &self,
        request: &Request<Incoming>,
        entry: &mut Entry,
    ) -> Result<(), Failure> {
        let Some(users) = self.engine.config.users.as_ref() else {
            return Ok(());
        };
        if self.role != head::Role::Proxy {
            return Ok(());
        }
        let value = request.headers().get(PROXY_AUTHORIZATION);
        let (name, password) = value
            .and_then(|value| users::basic(value.as_bytes()))
            .ok_or(Failure::Unauthenticated)?;
        if !users.admits(&name, &password).await {
            return Err(Failure::Unauthenticated);
        }
        entry.set("user", name);
        Ok(())
    }

    async fn tunnel(
        self: Arc<Self>,
        request: Request<Incoming>,
        target: Target,
        entry: &mut Entry,
    ) -> Result<Response<Body>, Failure> {
        if let Some(failure) = self.failed.lock().await.take() {
            entry.target(&target);
            return Err(failure);
        }
        let server = dial(&self.engine, &target, self.ends, entry).await?;
        let entry = entry.clone();
        tokio::spawn(async move {
            let Ok(upgraded) = hyper::upgrade::on(request).await else {
                return;
            };
            let Ok(parts) = upgraded.downcast::<TokioIo<Metered>>() else {
                return;
            };
            let (client, early) = parts.io.into_inner().ended(&parts.read_buf);
            let meter = Meter::following(self.engine.counters.clone(), early.len());
            let limits = (self.engine.config.idle_timeout, &*self.engine.counters);
            tunnel::run(client, server, &early, &meter, limits).await;
            self.engine.journal.write(entry.ended(&meter));
        });
        Ok(Response::new(Either::Right(Full::default())))
    }

    async fn forward(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        target: &Target,
        entry: &mut Entry,
    ) -> Result<Response<Body>, Failure> {
        let counters = &self.engine.counters;
        counters.count(match self.role {
            head::Role::Proxy => Counter::RequestForwarded,
            head::Role::Sites(_) => Counter::RequestSite,
        });
        entry.target(target);
        entry.set("path", request.uri().path());
        let upgrade = Upgrade::asked_by(&mut request);
        let is_old = request.version() == Version::HTTP_10;
        let (mut head, body) = request.into_parts();
        head::rewrite(&mut head, target, &self.engine.pseudonym)?;
        let mut request = Request::from_parts(head, body);
        if let Some(upgrade) = &upgrade {
            upgrade.ask(request.headers_mut());
        }
        let hints = (!is_old).then(|| Hints::of(&mut request, &self.engine.pseudonym));
        let response = self.exchange(request, target, hints, entry).await?;
        match (response.status(), upgrade) {
            (StatusCode::SWITCHING_PROTOCOLS, None) => Err(Failure::BadServer(
                "it changed the protocol unasked".to_owned(),
            )),
            (StatusCode::SWITCHING_PROTOCOLS, Some(upgrade)) => {
                self.switch(upgrade, response, entry)
            }
            _ => Ok(self.finish(response, entry)),
        }
    }

    /// Sends a request, and passes on what comes before its response.
    async fn exchange(
        &self,
        mut request: Request<Incoming>,
        target: &Target,
        mut hints: Option<Hints>,
        entry: &mut Entry,
    ) -> Result<Response<Incoming>, Failure> {
        let counters = &self.engine.counters;
        let mut kept = self.kept.lock().await;
        if let Some(mut upstream) = kept.take().filter(|kept| kept.leads_to(target))
            && upstream.is_open().await
        {
            match self.interim.pass(&mut hints, upstream.send(request)).await {
                Ok(response) => {
                    counters.count(Counter::ServerReused);
                    *kept = Some(upstream);
                    return Ok(response);
                }
                // The server had hung up, and has seen nothing of it.
                Err(Unsent {
                    request: Some(back),
                    ..
                }) => request = back,
                Err(unsent) => return Err(unsent.failure),
            }
        }
        let (stream, address) = self.engine.dialer.dial(target, self.ends).await?;
        entry.server(address);
        let idle = self.engine.config.idle_timeout;
        let mut upstream = Upstream::open(stream, target.clone(), idle).await?;
        let sent = self.interim.pass(&mut hints, upstream.send(request)).await;
        let response = sent.map_err(|unsent| unsent.failure)?;
        *kept = Some(upstream);
        Ok(response)
    }

    /// Changes the protocol of both connections, which become a tunnel.
    fn switch(
        self: Arc<Self>,
        upgrade: Upgrade,
        mut response: Response<Incoming>,
        entry: &mut Entry,
    ) -> Result<Response<Body>, Failure> {
        let tunnel = upgrade.answered_by(&mut response)?;
        self.engine.counters.count(Counter::TunnelUpgrade);
        let mut entry = entry.clone();
        entry.set("status", response.status().as_u16());
        let version = response.version();
        let mut response = response.map(|_| Either::Right(Full::default()));
        head::strip(response.headers_mut());
        head::add_via(response.headers_mut(), version, &self.engine.pseudonym);
        tunnel.tell(response.headers_mut());
        tokio::spawn(async move {
            let limits = (self.engine.config.idle_timeout, &*self.engine.counters);
            let meter = Meter::new(self.engine.counters.clone());
            tunnel.run(&meter, limits).await;
            self.engine.journal.write(entry.ended(&meter));
        });
        Ok(response)
    }

    /// Makes the client's response of the server's.
    fn finish(&self, response: Response<Incoming>, entry: &mut Entry) -> Response<Body> {
        let version = response.version();
        entry.set("status", response.status().as_u16());
        let entry = entry.clone();
        let engine = self.engine.clone();
        let mut response =
            response.map(|incoming| Either::Left(Logged::new(incoming, entry, engine)));
        head::strip(response.headers_mut());
        head::add_via(response.headers_mut(), version, &self.engine.pseudonym);
        // RFC 9112 section 2.3: the version is that of the sender, which we are.
        *response.version_mut() = Version::HTTP_11;
        response
    }
}

/// The response that says what failed (RFC 9209).
fn said(failure: &Failure) -> Response<Body> {
    let text = format!("isthmus: {failure}\n");
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = failure.status();
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, plain);
    match failure {
        Failure::Method => {
            let allowed = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS";
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        Failure::Unauthenticated => {
            headers.insert(PROXY_AUTHENTICATE, REALM);
        }
        _ => {}
    }
    if failure.is_last() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = format!("isthmus; error={}", failure.proxy_error());
    if let Ok(status) = HeaderValue::try_from(status) {
        headers.insert(PROXY_STATUS, status);
    }
    response
}
