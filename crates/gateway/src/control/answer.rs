//! Answers over HTTP: lines of JSON, each an object whose one key says what it is.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use super::message::Reply;

/// An answer.
pub(super) type Answer = Response<Either<Full<Bytes>, Lines>>;

/// Lines that come while they are read.
pub(super) struct Lines(mpsc::Receiver<Vec<u8>>);

impl Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = self.0.poll_recv(context);
        chunk.map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk.into()))))
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// The methods of the path, if it was the method.
    pub(super) allow: Option<&'static str>,
}

impl Failure {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            allow: None,
        }
    }

    /// The request is a mistake.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The gateway could not do it.
    pub(super) fn own(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

/// An answer of one line, or why there is none.
pub(super) fn one(reply: Result<Reply, Failure>) -> Answer {
    let (status, reply, allow) = match reply {
        Ok(reply) => (StatusCode::OK, reply, None),
        Err(failure) => (failure.status, Reply::Error(failure.message), failure.allow),
    };
    let mut line = Vec::new();
    if let Err(error) = write_line(&mut line, &reply) {
        tracing::error!(%error, "an answer cannot be written");
    }
    let mut answer = respond(status, "application/json", Either::Left(Full::from(line)));
    if let Some(methods) = allow {
        let headers = answer.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static(methods));
    }
    answer
}

/// An answer of lines.
pub(super) fn many(lines: mpsc::Receiver<Vec<u8>>) -> Answer {
    respond(
        StatusCode::OK,
        "application/jsonl",
        Either::Right(Lines(lines)),
    )
}

fn respond<B>(status: StatusCode, kind: &'static str, body: B) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Appends a line.
pub(super) fn write_line(out: &mut Vec<u8>, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *out, reply)?;
    out.push(b'\n');
    Ok(())
}
