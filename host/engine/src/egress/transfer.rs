//! One request and its response over a connection that is there.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::{Either, select};
use futures_util::stream;
use http::header::{CONNECTION, HOST, TRAILER, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Frame};
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::time::timeout;
use url::Position;

use super::connect::Talk;
use super::headers::{size, without_forbidden};
use super::{Bounds, Code, Failure, Incoming, Outgoing, Target};
use crate::limits::Limit;

type Sent = BoxBody<Bytes, std::convert::Infallible>;

/// Sends the request and reads the whole response.
pub(super) async fn transfer(
    stream: Box<dyn Talk>,
    h2: bool,
    target: &Target,
    bounds: &Bounds,
    request: Outgoing,
) -> Result<Incoming, Failure> {
    let pause = request.between_bytes_timeout.map_or(bounds.first_byte, |asked| asked.min(bounds.first_byte));
    let first_byte = request.first_byte_timeout.map_or(bounds.first_byte, |asked| asked.min(bounds.first_byte));
    let request = message(h2, target, request)?;
    let stream = TokioIo::new(stream);
    let before = |error: hyper::Error| Failure::unsent(Code::ConnectionTerminated, words("was lost", target, &error));
    if h2 {
        // What is a little too large is read, so that its error can say so; HTTP/2 itself has only "protocol error" for it.
        let most = u32::try_from(4 * bounds.header_bytes).unwrap_or(u32::MAX);
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let (mut sender, connection) = builder.max_header_list_size(most).handshake(stream).await.map_err(before)?;
        let exchange = async move {
            let head = head(first_byte, target, bounds, sender.try_send_request(request)).await?;
            // The sender has to live for as long as the response is read.
            let whole = read(target, bounds, pause, head).await;
            drop(sender);
            whole
        };
        drive(exchange, connection).await
    } else {
        let mut builder = http1::Builder::new();
        // The reader's buffer has to hold a whole head, and has a least size of its own.
        builder.max_buf_size(bounds.header_bytes.max(8 << 10)).max_header_size(bounds.header_bytes);
        builder.max_headers((bounds.header_bytes / LEAST_HEADER).max(1));
        let (mut sender, connection) = builder.handshake(stream).await.map_err(before)?;
        let exchange = async move {
            let head = head(first_byte, target, bounds, sender.try_send_request(request)).await?;
            let whole = read(target, bounds, pause, head).await;
            drop(sender);
            whole
        };
        drive(exchange, connection).await
    }
}

/// Bytes that a header counts for if name and value are a byte each: see [`size`].
const LEAST_HEADER: usize = 33;

/// Runs an exchange and the connection that it needs side by side, in one task: when the one is dropped, so is the other.
async fn drive<T>(exchange: impl Future<Output = T>, connection: impl Future<Output = hyper::Result<()>>) -> T {
    match select(pin!(exchange), pin!(connection)).await {
        Either::Left((outcome, _)) => outcome,
        // What went wrong with the connection is what the exchange fails with.
        Either::Right((_, exchange)) => exchange.await,
    }
}

/// The request as it goes over the wire.
fn message(h2: bool, target: &Target, request: Outgoing) -> Result<Request<Sent>, Failure> {
    let invalid = |error: &dyn std::fmt::Display| Failure::unsent(Code::RequestUriInvalid, format!("the URL: {error}"));
    let path = &request.url[Position::BeforePath..Position::AfterQuery];
    let authority = target.authority();
    let uri: Uri = match h2 {
        true => format!("{}://{authority}{path}", target.scheme.as_str()).parse().map_err(|error| invalid(&error))?,
        false => path.parse().map_err(|error| invalid(&error))?,
    };
    let mut headers = request.headers;
    if h2 {
        // Servers of gRPC want to hear that trailers are read.
        headers.insert(http::header::TE, HeaderValue::from_static("trailers"));
    } else {
        headers.insert(HOST, HeaderValue::try_from(authority).map_err(|error| invalid(&error))?);
        // There is one connection for each request: none was opened for another task, or by another rule.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let body = match request.trailers {
        None => Full::new(request.body).boxed(),
        Some(trailers) => {
            let trailers = without_forbidden(trailers);
            let names: Vec<_> = trailers.keys().map(HeaderName::as_str).collect();
            if !names.is_empty() {
                let names = HeaderValue::try_from(names.join(", ")).map_err(|error| invalid(&error))?;
                headers.insert(TRAILER, names);
            }
            let frames = [Ok(Frame::data(request.body)), Ok(Frame::trailers(trailers))];
            StreamBody::new(stream::iter(frames)).boxed()
        }
    };
    let mut message = Request::new(body);
    *message.method_mut() = request.method;
    *message.uri_mut() = uri;
    *message.headers_mut() = headers;
    Ok(message)
}

/// The head of the response, in its time.
async fn head<B, R>(
    within: Duration,
    target: &Target,
    bounds: &Bounds,
    response: impl Future<Output = Result<Response<B>, TrySendError<R>>>,
) -> Result<Response<B>, Failure> {
    match timeout(within, response).await {
        Err(_) => {
            let why = format!("{target} began no answer within {within:?}");
            Err(Failure::sent(Code::ResponseTimeout, why).of_time(within, bounds))
        }
        Ok(Ok(response)) => Ok(response),
        Ok(Err(mut error)) => {
            let in_doubt = error.take_message().is_none();
            let error = error.into_error();
            let code = match (error.is_parse_too_large(), error.is_parse()) {
                (true, _) => Code::ResponseHeaderSectionSize,
                (false, true) => Code::ProtocolError,
                (false, false) => Code::ConnectionTerminated,
            };
            let limit = (code == Code::ResponseHeaderSectionSize).then_some(Limit::http_headers);
            Err(Failure { code, in_doubt, why: words("gave no answer", target, &error), limit })
        }
    }
}

/// What is behind the head.
async fn read<B>(target: &Target, bounds: &Bounds, pause: Duration, response: Response<B>) -> Result<Incoming, Failure>
where
    B: Body<Data = Bytes, Error = hyper::Error> + Unpin,
{
    let (head, mut body) = response.into_parts();
    let too_large = |what: &str, code| {
        let why = format!("{target} answered with {what} of more than {} bytes", bounds.header_bytes);
        Err(Failure::sent(code, why).of(Limit::http_headers))
    };
    if size(&head.headers) > bounds.header_bytes {
        return too_large("headers", Code::ResponseHeaderSectionSize);
    }
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        let why = format!("{target} switched to another protocol, which nobody asked it to");
        return Err(Failure::sent(Code::ProtocolError, why));
    }
    let codings = head.headers.get_all(TRANSFER_ENCODING);
    if codings.iter().any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")) {
        let why = format!("{target} answered in a transfer coding that nobody asked for");
        return Err(Failure::sent(Code::ProtocolError, why));
    }
    let endless = || {
        let why = format!("{target} answered with a body of more than {} bytes", bounds.body_bytes);
        Failure::sent(Code::ResponseBodySize, why).of(Limit::http_body)
    };
    // What is announced is not waited for.
    if body.size_hint().lower() > bounds.body_bytes {
        return Err(endless());
    }
    let mut whole = BytesMut::new();
    let mut trailers: Option<HeaderMap> = None;
    loop {
        let frame = match timeout(pause, body.frame()).await {
            Err(_) => {
                let why = format!("{target} paused for {pause:?} in the middle of its answer");
                return Err(Failure::sent(Code::ConnectionReadTimeout, why).of_time(pause, bounds));
            }
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                let why = words("broke off its answer", target, &error);
                return Err(Failure::sent(Code::ResponseIncomplete, why));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        match frame.into_data() {
            Ok(data) if (whole.len() + data.len()) as u64 > bounds.body_bytes => return Err(endless()),
            Ok(data) => whole.extend_from_slice(&data),
            Err(frame) => trailers = frame.into_trailers().ok().or(trailers),
        }
    }
    if trailers.as_ref().is_some_and(|trailers| size(trailers) > bounds.header_bytes) {
        return too_large("trailers", Code::ResponseTrailerSectionSize);
    }
    let headers = without_forbidden(head.headers);
    Ok(Incoming { status: head.status, headers, body: whole.freeze(), trailers: trailers.map(without_forbidden) })
}

/// An error of hyper's with its causes, none of which holds anything of the request.
fn words(what: &str, target: &Target, error: &hyper::Error) -> String {
    let mut text = format!("{target} {what}: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}
