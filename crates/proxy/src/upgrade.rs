//! A change of protocol in the middle of a connection (RFC 9110 section 7.8): to WebSocket (RFC 6455), and to no other,
//! since whatever follows is not looked at.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{HeaderMap, Request, Response, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::counter::Counters;
use crate::failure::Failure;
use crate::meter::{Meter, Metered};
use crate::tunnel;

const WEBSOCKET: &str = "websocket";

/// The wish of a client to go on with another protocol.
pub(crate) struct Upgrade {
    client: OnUpgrade,
}

/// The same, when the server has agreed.
pub(crate) struct Switched {
    client: OnUpgrade,
    server: OnUpgrade,
}

impl Upgrade {
    /// The protocol that a request asks for, if that is for us and known (RFC 9110 section 7.8). HTTP/1.0 cannot ask.
    pub(crate) fn asked_by(request: &mut Request<Incoming>) -> Option<Self> {
        let headers = request.headers();
        let asks = request.version() == Version::HTTP_11
            && names(headers, &CONNECTION, "upgrade")
            && names(headers, &UPGRADE, WEBSOCKET);
        asks.then(|| Self {
            client: hyper::upgrade::on(request),
        })
    }

    /// Asks the server.
    pub(crate) fn ask(&self, headers: &mut HeaderMap) {
        tell(headers);
    }

    /// Takes the answer of a server that agrees.
    pub(crate) fn answered_by(
        self,
        response: &mut Response<Incoming>,
    ) -> Result<Switched, Failure> {
        if !names(response.headers(), &UPGRADE, WEBSOCKET) {
            let why = "it changed to a protocol that nobody asked for";
            return Err(Failure::BadServer(why.to_owned()));
        }
        Ok(Switched {
            client: self.client,
            server: hyper::upgrade::on(response),
        })
    }
}

impl Switched {
    /// Tells the client.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        tell(headers);
    }

    /// Carries what both send to each other from now on.
    pub(crate) async fn run(self, meter: &Meter, limits: (Duration, &Counters)) {
        let (Ok(client), Ok(server)) = tokio::join!(self.client, self.server) else {
            return;
        };
        let client = client.downcast::<TokioIo<Metered>>();
        let server = server.downcast::<TokioIo<TcpStream>>();
        let (Ok(client), Ok(server)) = (client, server) else {
            return;
        };
        let (from, early) = client.io.into_inner().ended(&client.read_buf);
        let to = server.io.into_inner();
        if tunnel::write_all(&from, &server.read_buf).await.is_ok() {
            meter.down(server.read_buf.len());
            tunnel::run(from, to, &early, meter, limits).await;
        }
    }
}

fn tell(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(WEBSOCKET));
}

/// Whether the lists of this name have an element.
fn names(headers: &HeaderMap, name: &hyper::header::HeaderName, element: &str) -> bool {
    let values = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut elements = values.flat_map(|value| value.split(','));
    elements.any(|it| it.trim().eq_ignore_ascii_case(element))
}
