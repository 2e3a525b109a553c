//! What comes back, and what does not.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::peer::{Answer, Authority, Peer, answer, raw, serve};
use super::{BOUNDS, egress, egress_by, get, post, send, send_with};
use crate::egress::{Bounds, Code, Egress, Failure, Incoming, Outgoing};
use crate::limits::Limit;

const SHORT: Duration = Duration::from_millis(100);

fn here() -> Egress {
    egress(&[("localhost", &["127.0.0.1"])])
}

fn at(peer: &Peer) -> String {
    format!("http://localhost:{}/", peer.port)
}

async fn ask(peer: &Peer, bounds: Bounds) -> Result<Incoming, Failure> {
    let rule = format!("http://localhost:{}", peer.port);
    send_with(&here(), &[&rule], &[], &bounds, get(&at(peer))).await
}

/// A server that reads a request's head, writes this, and then waits or goes.
async fn writes(text: &'static str, stays: bool) -> Peer {
    raw("127.0.0.1:0", move |mut stream: TcpStream| async move {
        let _ = head(&mut stream).await;
        let _ = stream.write_all(text.as_bytes()).await;
        if stays {
            std::future::pending::<()>().await;
        }
    })
    .await
}

async fn head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte).await {
            Ok(1) => text.push(byte[0]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn chunked(chunks: usize, size: usize, trailers: Option<HeaderMap>) -> Answer {
    let data = (0..chunks).map(move |_| Ok(Frame::data(Bytes::from(vec![b'x'; size]))));
    let frames = data.chain(trailers.map(|trailers| Ok(Frame::trailers(trailers)))).collect::<Vec<_>>();
    Response::builder().header("trailer", "x-sum").body(StreamBody::new(stream::iter(frames)).boxed()).unwrap()
}

#[tokio::test]
async fn a_request_arrives_as_it_was_made() {
    let peer = serve(None, |_| answer("ok")).await;
    let mut request = post(&format!("{}a%20b?x=1#part", at(&peer)), "body");
    for (name, value) in [
        ("x-own", "1"),
        ("connection", "keep-alive, x-own"),
        ("keep-alive", "1"),
        ("te", "trailers"),
        ("upgrade", "h2c"),
        ("host", "elsewhere.example"),
        ("expect", "100-continue"),
        ("proxy-authorization", "x"),
        ("transfer-encoding", "gzip"),
        ("content-length", "4"),
    ] {
        request.headers.insert(name, HeaderValue::from_static(value));
    }
    send(&here(), &format!("http://localhost:{}", peer.port), request).await.unwrap();
    let asked = peer.last();
    assert_eq!((asked.method.as_str(), asked.uri.as_str(), &asked.body[..]), ("POST", "/a%20b?x=1", &b"body"[..]));
    let mut headers: Vec<_> =
        asked.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    headers.sort();
    let host = format!("host: localhost:{}", peer.port);
    let agent = concat!("user-agent: longhaul/", env!("CARGO_PKG_VERSION"));
    assert_eq!(headers, ["connection: close", "content-length: 4", &host, agent, "x-own: 1"]);
}

#[tokio::test]
async fn a_length_that_is_not_the_bodys_is_refused() {
    let mut request = post("https://a.example/", "body");
    request.headers.insert("content-length", HeaderValue::from_static("5"));
    let failure = send(&egress(&[("a.example", &["8.8.8.8"])]), "a.example", request).await.unwrap_err();
    assert_eq!(failure.code, Code::RequestBodySize);
}

#[tokio::test]
async fn no_text_in_a_url_becomes_a_header() {
    let peer = writes("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false).await;
    let (sender, mut heads) = tokio::sync::mpsc::unbounded_channel();
    let listening = raw("127.0.0.1:0", move |mut stream: TcpStream| {
        let sender = sender.clone();
        async move {
            let _ = sender.send(head(&mut stream).await);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
    })
    .await;
    drop(peer);
    let url = format!("{}a%0d%0aX-Evil: 1?q=\r\nX-Evil: 2&r=%0aX-Evil: 3", at(&listening));
    send(&here(), &format!("http://localhost:{}", listening.port), get(&url)).await.unwrap();
    let head = heads.recv().await.unwrap();
    assert!(head.lines().all(|line| !line.to_ascii_lowercase().starts_with("x-evil")), "{head}");
    assert!(HeaderValue::from_str("a\r\nx-evil: 1").is_err());
}

#[tokio::test]
async fn methods_that_are_not_for_a_guest_are_refused() {
    for method in ["CONNECT", "TRACE", "TRACK"] {
        let request = Outgoing { method: method.parse().unwrap(), ..get("https://a.example/") };
        let failure = send(&egress(&[]), "a.example", request).await.unwrap_err();
        assert_eq!(failure.code, Code::RequestMethodInvalid, "{method}");
    }
    let with_password = send(&egress(&[]), "a.example", get("https://user:password@a.example/")).await.unwrap_err();
    assert_eq!(with_password.code, Code::RequestUriInvalid);
    assert!(!with_password.why.contains("user:"));
}

#[tokio::test]
async fn a_body_may_have_as_many_bytes_as_its_limit_and_not_one_more() {
    let bounds = Bounds { body_bytes: 1_000, ..BOUNDS };
    let announced = serve(None, |asked| answer(vec![b'x'; asked.uri[1..].parse().unwrap_or(1_000)])).await;
    let rule = format!("http://localhost:{}", announced.port);
    let whole = ask(&announced, bounds).await.unwrap();
    assert_eq!(whole.body.len(), 1_000);
    let one_more = get(&format!("{}1001", at(&announced)));
    let failure = send_with(&here(), &[&rule], &[], &bounds, one_more).await.unwrap_err();
    assert_eq!(failure.code, Code::ResponseBodySize);
    assert!(failure.why.ends_with("a body of more than 1000 bytes") && failure.in_doubt, "{failure}");
    assert_eq!(failure.limit, Some(Limit::http_body));

    let in_pieces = serve(None, |_| chunked(100, 10, None)).await;
    assert_eq!(ask(&in_pieces, bounds).await.unwrap().body.len(), 1_000);
    let failure = ask(&in_pieces, Bounds { body_bytes: 999, ..BOUNDS }).await.unwrap_err();
    assert_eq!(failure.code, Code::ResponseBodySize);
}

#[tokio::test]
async fn an_endless_body_ends_at_its_limit() {
    let endless = raw("127.0.0.1:0", |mut stream: TcpStream| async move {
        head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    })
    .await;
    assert_eq!(ask(&endless, BOUNDS).await.unwrap_err().code, Code::ResponseBodySize);
}

#[tokio::test]
async fn headers_may_have_as_many_bytes_as_their_limit_and_not_one_more() {
    // 32 bytes are counted for each beside its name and its value.
    let peer = serve(None, |asked| {
        let length = asked.uri[1..].parse().unwrap();
        let mut response = answer("");
        response.headers_mut().insert("x", HeaderValue::try_from("v".repeat(length)).unwrap());
        response.headers_mut().insert("date", HeaderValue::from_static(""));
        response
    })
    .await;
    let rule = format!("http://localhost:{}", peer.port);
    let send = async |length: usize, header_bytes: usize| {
        let request = get(&format!("{}{length}", at(&peer)));
        send_with(&here(), &[&rule], &[], &Bounds { header_bytes, ..BOUNDS }, request).await
    };
    let rest = super::super::headers::size(&send(0, 4_096).await.unwrap().headers) + "connection: close".len() + 30;
    assert!(send(4_096 - rest, 4_096).await.is_ok());
    assert_eq!(send(4_097 - rest, 4_096).await.unwrap_err().code, Code::ResponseHeaderSectionSize);
    assert_eq!(send(100_000, 4_096).await.unwrap_err().code, Code::ResponseHeaderSectionSize);
}

#[tokio::test]
async fn many_small_headers_are_not_small() {
    let peer = serve(None, |_| {
        let mut response = answer("");
        for number in 0..1_000 {
            response
                .headers_mut()
                .insert(http::HeaderName::try_from(format!("x{number}")).unwrap(), HeaderValue::from_static("1"));
        }
        response
    })
    .await;
    assert_eq!(ask(&peer, BOUNDS).await.unwrap_err().code, Code::ResponseHeaderSectionSize);
    assert!(ask(&peer, Bounds { header_bytes: 64 << 10, ..BOUNDS }).await.is_ok());
}

#[tokio::test]
async fn a_server_that_is_silent_or_slow_is_not_waited_for() {
    let bounds = Bounds { first_byte: SHORT, ..BOUNDS };
    let silent = writes("", true).await;
    let failure = ask(&silent, bounds).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::ResponseTimeout, true));
    assert_eq!(failure.limit, Some(Limit::http_first_byte));
    let half = writes("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345", true).await;
    // The head has to be there in time, also on a machine that is busy.
    let patient = Bounds { first_byte: Duration::from_secs(2), ..BOUNDS };
    let failure = ask(&half, patient).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::ConnectionReadTimeout, true));

    // Each byte comes in time, and the whole does not.
    let drips = raw("127.0.0.1:0", |mut stream: TcpStream| async move {
        head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let failure = ask(&drips, Bounds { total: 3 * SHORT, ..BOUNDS }).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::ResponseTimeout, true));
    assert_eq!(failure.limit, Some(Limit::http_time));
}

#[tokio::test]
async fn a_guest_may_wait_for_less_and_not_for_more() {
    let silent = writes("", true).await;
    let rule = format!("http://localhost:{}", silent.port);
    let less = Outgoing { first_byte_timeout: Some(SHORT), ..get(&at(&silent)) };
    let failure = send(&here(), &rule, less).await.unwrap_err();
    assert_eq!((failure.code, failure.limit), (Code::ResponseTimeout, None), "it was the guest's own");
    let more = Outgoing { first_byte_timeout: Some(Duration::from_secs(600)), ..get(&at(&silent)) };
    let bounds = Bounds { first_byte: SHORT, ..BOUNDS };
    let failure = send_with(&here(), &[&rule], &[], &bounds, more).await.unwrap_err();
    assert_eq!(failure.code, Code::ResponseTimeout);
}

#[tokio::test]
async fn a_connection_that_breaks_says_whether_the_request_is_in_doubt() {
    // A port that was free a moment ago.
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let request = get(&format!("http://localhost:{port}/"));
    let failure = send(&here(), &format!("http://localhost:{port}"), request).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::ConnectionRefused, false));

    let gone = writes("", false).await;
    let failure = ask(&gone, BOUNDS).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::ConnectionTerminated, true));

    for half in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12",
    ] {
        let failure = ask(&writes(half, false).await, BOUNDS).await.unwrap_err();
        assert_eq!((failure.code, failure.in_doubt), (Code::ResponseIncomplete, true));
    }
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    for text in [
        "220 mail.example ESMTP\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: 1\r\n folded: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ] {
        let failure = ask(&writes(text, false).await, BOUNDS).await.unwrap_err();
        assert_eq!((failure.code, failure.in_doubt), (Code::ProtocolError, true), "{text}");
    }
}

#[tokio::test]
async fn what_is_compressed_stays_compressed() {
    let bomb = b"\x1f\x8b\x08 these bytes are the guest's to unpack";
    let peer = serve(None, |_| {
        let mut response = answer(&bomb[..]);
        response.headers_mut().insert("content-encoding", HeaderValue::from_static("gzip"));
        response.headers_mut().insert("keep-alive", HeaderValue::from_static("timeout=5"));
        response
    })
    .await;
    let response = ask(&peer, BOUNDS).await.unwrap();
    assert_eq!(response.body, &bomb[..]);
    assert_eq!(response.headers["content-encoding"], "gzip");
    assert!(!response.headers.contains_key("keep-alive") && !response.headers.contains_key("connection"));
    assert!(!peer.last().headers.contains_key("accept-encoding"));
}

#[tokio::test]
async fn trailers_go_both_ways() {
    let authority = Authority::new();
    let sum: HeaderMap = [("x-sum".parse().unwrap(), HeaderValue::from_static("42"))].into_iter().collect();
    for protocol in ["http/1.1", "h2"] {
        let answer = sum.clone();
        let tls = authority.server("localhost", &[protocol], 2090);
        let peer = serve(Some(tls), move |_| chunked(3, 5, Some(answer.clone()))).await;
        let egress = egress_by(&authority.trusted(), &[("localhost", &["127.0.0.1"])]);
        let url = format!("https://localhost:{}/", peer.port);
        let request = Outgoing { trailers: Some(sum.clone()), ..post(&url, "body") };
        let response = send(&egress, &format!("localhost:{}", peer.port), request).await.unwrap();
        assert_eq!((response.body.len(), response.status), (15, StatusCode::OK), "{protocol}");
        // This server sends them over HTTP/1.1 only to those who say that they want them.
        if protocol == "h2" {
            assert_eq!(response.trailers.unwrap()["x-sum"], "42");
        }
        let asked = peer.last();
        assert_eq!((&asked.body[..], asked.trailers.unwrap()["x-sum"].to_str().unwrap()), (&b"body"[..], "42"));
    }
    let text =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nx-sum: 42\r\n\r\n";
    let response = ask(&writes(text, false).await, BOUNDS).await.unwrap();
    assert_eq!(response.trailers.unwrap()["x-sum"], "42");
}

#[tokio::test]
async fn http_2_is_spoken_where_a_server_has_it() {
    let authority = Authority::new();
    let egress = egress_by(&authority.trusted(), &[("localhost", &["127.0.0.1"])]);
    let peer = serve(Some(authority.server("localhost", &["h2"], 2090)), |asked| {
        let mut response = answer("two");
        if asked.method == "PUT" {
            response.headers_mut().insert("x", HeaderValue::try_from("v".repeat(20_000)).unwrap());
        }
        response
    })
    .await;
    let rule = format!("localhost:{}", peer.port);
    let url = format!("https://localhost:{}/p?q=1", peer.port);
    assert_eq!(send(&egress, &rule, get(&url)).await.unwrap().body, "two");
    assert_eq!(peer.last().uri, url);
    let large = Outgoing { method: Method::PUT, ..get(&url) };
    let failure = send(&egress, &rule, large).await.unwrap_err();
    assert_eq!(failure.code, Code::ResponseHeaderSectionSize, "{failure}");
}

#[tokio::test]
async fn requests_share_no_connection() {
    let peer = serve(None, |_| Response::new(Full::default().boxed())).await;
    for _ in 0..3 {
        ask(&peer, BOUNDS).await.unwrap();
    }
    assert_eq!(peer.connections(), 3);
}
