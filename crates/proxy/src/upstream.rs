//! A connection to a server, which carries one request after the other.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::head;
use crate::target::Target;

/// A connection to a server of HTTP.
pub(crate) struct Upstream {
    sender: SendRequest<Incoming>,
    target: Target,
    patience: Duration,
}

impl Upstream {
    /// Begins with a connection to `target`, whose server may take so long for a response.
    pub(crate) async fn open(
        stream: TcpStream,
        target: Target,
        patience: Duration,
    ) -> Result<Self, Failure> {
        let mut builder = Builder::new();
        // RFC 9112 section 5.1: a proxy takes them out.
        builder.allow_spaces_after_header_name_in_responses(true);
        let handshake = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(bad)?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "proxy: server");
            }
        });
        Ok(Self {
            sender,
            target,
            patience,
        })
    }

    /// Whether requests for this target go here.
    pub(crate) fn leads_to(&self, target: &Target) -> bool {
        self.target == *target
    }

    /// Whether another request may be sent. The response before must have been read.
    pub(crate) async fn is_open(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Sends a request. One that the server has not seen comes back with the failure.
    pub(crate) async fn send(
        &mut self,
        request: Request<Incoming>,
    ) -> Result<Response<Incoming>, Unsent> {
        let sent = timeout(self.patience, self.sender.try_send_request(request)).await;
        match sent {
            Ok(Ok(response)) => checked(response).map_err(Unsent::of),
            Ok(Err(mut error)) => Err(Unsent {
                request: error.take_message(),
                failure: bad(error.into_error()),
            }),
            Err(_) => Err(Unsent::of(Failure::ResponseTimeout)),
        }
    }
}

/// Why there is no response, and the request if it was not sent.
pub(crate) struct Unsent {
    pub(crate) failure: Failure,
    pub(crate) request: Option<Request<Incoming>>,
}

impl Unsent {
    fn of(failure: Failure) -> Self {
        Self {
            failure,
            request: None,
        }
    }
}

fn checked(response: Response<Incoming>) -> Result<Response<Incoming>, Failure> {
    match head::is_readable(response.headers()) {
        true => Ok(response),
        false => Err(Failure::BadServer("an unknown transfer coding".to_owned())),
    }
}

fn bad(error: hyper::Error) -> Failure {
    Failure::BadServer(error.to_string())
}
