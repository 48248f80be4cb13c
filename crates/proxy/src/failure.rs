//! Why a request fails: what the client is told, and what is counted.

use std::net::IpAddr;

use hyper::StatusCode;

use crate::counter::Counter;
use crate::target::NoTarget;

/// Why a request cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The request contradicts itself, or a rule.
    #[error("the request cannot be understood: {0}")]
    BadRequest(&'static str),
    /// Its target is none.
    #[error("the request names no destination: {0}")]
    NoTarget(#[from] NoTarget),
    /// It is one for an origin server.
    #[error("this is a proxy: the request needs an absolute URI, or the method CONNECT")]
    NotForAProxy,
    /// Its target is longer than any that is taken (RFC 9110 section 15.5.15).
    #[error("the URI is longer than {0} octets")]
    LongTarget(usize),
    /// Its content is encoded for the transfer by other means than chunks (RFC 9112 section 6.1).
    #[error("only chunked is known as a transfer coding")]
    Coding,
    /// It expects what nobody knows (RFC 9110 section 10.1.1).
    #[error("only 100-continue is known as an expectation")]
    Expectation,
    /// Its scheme is not `http`.
    #[error("a request with an absolute URI can be one of http only; use CONNECT for others")]
    Scheme,
    /// A method that is not forwarded.
    #[error("the method TRACE is not forwarded")]
    Method,
    /// The request is not one of a user.
    #[error("this proxy needs the name and the password of a user")]
    Unauthenticated,
    /// The port may not be reached.
    #[error("port {0} may not be reached through this proxy")]
    Port(u16),
    /// The address may not be reached.
    #[error("{0} may not be reached through this proxy")]
    Destination(IpAddr),
    /// The name is one of the machine itself.
    #[error("this name is one of the proxy's own machine")]
    LocalName,
    /// The proxy has seen this request before.
    #[error("the request has been here before")]
    Loop,
    /// The DNS has no such name.
    #[error("the DNS has no address for this name")]
    NameUnknown,
    /// No resolver has an answer.
    #[error("no resolver has an answer about this name")]
    NameTimeout,
    /// No address leads to the destination.
    #[error("the destination cannot be reached: {0}")]
    Unreachable(String),
    /// The destination did not answer.
    #[error("the destination did not answer in time")]
    ConnectTimeout,
    /// The server did not respond.
    #[error("the server did not respond in time")]
    ResponseTimeout,
    /// The server does not speak HTTP, or hung up.
    #[error("the server did not answer as one of HTTP does: {0}")]
    BadServer(String),
}

impl Failure {
    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) | Self::NoTarget(_) | Self::NotForAProxy => StatusCode::BAD_REQUEST,
            Self::LongTarget(_) => StatusCode::URI_TOO_LONG,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::Scheme | Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unauthenticated => StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            Self::Port(_) | Self::Destination(_) | Self::LocalName => StatusCode::FORBIDDEN,
            Self::Loop | Self::NameUnknown | Self::Unreachable(_) | Self::BadServer(_) => {
                StatusCode::BAD_GATEWAY
            }
            Self::NameTimeout | Self::ConnectTimeout | Self::ResponseTimeout => {
                StatusCode::GATEWAY_TIMEOUT
            }
        }
    }

    /// The error of `Proxy-Status` (RFC 9209 section 2.3).
    #[must_use]
    pub fn proxy_error(&self) -> &'static str {
        match self {
            Self::BadRequest(_)
            | Self::NoTarget(_)
            | Self::NotForAProxy
            | Self::LongTarget(_)
            | Self::Coding
            | Self::Expectation
            | Self::Scheme
            | Self::Method => "http_request_error",
            Self::Unauthenticated | Self::Port(_) | Self::LocalName => "http_request_denied",
            Self::Destination(_) => "destination_ip_prohibited",
            Self::Loop => "proxy_loop_detected",
            Self::NameUnknown => "dns_error",
            Self::NameTimeout => "dns_timeout",
            Self::Unreachable(_) => "destination_unavailable",
            Self::ConnectTimeout => "connection_timeout",
            Self::ResponseTimeout => "http_response_timeout",
            Self::BadServer(_) => "http_protocol_error",
        }
    }

    /// Whether nobody knows where the next request of the client begins, so that there is none.
    #[must_use]
    pub fn is_last(&self) -> bool {
        matches!(self, Self::BadRequest(_) | Self::Coding)
    }

    /// What is counted.
    #[must_use]
    pub fn counter(&self) -> Counter {
        match self {
            Self::BadRequest(_)
            | Self::NoTarget(_)
            | Self::NotForAProxy
            | Self::LongTarget(_)
            | Self::Coding
            | Self::Expectation
            | Self::Scheme
            | Self::Method => Counter::BadRequest,
            Self::Unauthenticated => Counter::Unauthenticated,
            Self::Port(_) => Counter::PortRefused,
            Self::Destination(_) | Self::LocalName => Counter::DestinationRefused,
            Self::Loop => Counter::Loop,
            Self::NameUnknown => Counter::NameUnknown,
            Self::NameTimeout => Counter::NameTimeout,
            Self::Unreachable(_) => Counter::Unreachable,
            Self::ConnectTimeout => Counter::ConnectTimeout,
            Self::ResponseTimeout => Counter::ResponseTimeout,
            Self::BadServer(_) => Counter::BadServer,
        }
    }
}
