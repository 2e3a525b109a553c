//! Secrets on the wire, and nowhere else.

use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tempfile::TempDir;

use super::peer::{Peer, answer, serve};
use super::{BOUNDS, SEED, egress, get, post, send_with};
use crate::egress::{Code, Egress, Failure, Incoming, Outgoing, Secret, SecretSource};

const VALUE: &str = "c4n4ry/To+ken=0123";

/// A secret that lies in a file.
struct Kept {
    dir: TempDir,
    secret: Secret,
}

fn kept(usage: &str) -> Kept {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, VALUE).unwrap();
    let secret =
        Secret { name: "token".into(), source: SecretSource::File(path), usage: toml::from_str(usage).unwrap() };
    Kept { dir, secret }
}

fn here() -> Egress {
    egress(&[("localhost", &["127.0.0.1"]), ("other.localhost", &["127.0.0.1"]), ("api.example.com", &["8.8.8.8"])])
}

async fn send(peer: &Peer, kept: &Kept, request: Outgoing) -> Result<Incoming, Failure> {
    let rules = ["localhost", "other.localhost"].map(|host| format!("http://{host}:{}", peer.port));
    let rules: Vec<_> = rules.iter().map(String::as_str).collect();
    send_with(&here(), &rules, std::slice::from_ref(&kept.secret), &BOUNDS, request).await
}

fn usage(peer: &Peer, place: &str) -> String {
    format!("to = ['http://localhost:{}/v1']\nas = {place}", peer.port)
}

fn url(peer: &Peer, path: &str) -> String {
    format!("http://localhost:{}{path}", peer.port)
}

#[tokio::test]
async fn a_secret_is_put_where_its_use_says_over_what_the_guest_put_there() {
    let peer = serve(None, |_| answer("ok")).await;
    for (place, header, expected) in [
        ("'bearer'", "authorization", format!("Bearer {VALUE}")),
        ("{ header = 'x-api-key' }", "x-api-key", VALUE.to_owned()),
        ("{ header = 'authorization', prefix = 'Token ' }", "authorization", format!("Token {VALUE}")),
        ("{ basic = 'user' }", "authorization", "Basic dXNlcjpjNG40cnkvVG8ra2VuPTAxMjM=".to_owned()),
    ] {
        let kept = kept(&usage(&peer, place));
        let mut request = get(&url(&peer, "/v1"));
        request.headers.append(header, HeaderValue::from_static("the guest's"));
        request.headers.append(header, HeaderValue::from_static("and another"));
        send(&peer, &kept, request).await.unwrap();
        let sent: Vec<_> = peer.last().headers.get_all(header).iter().cloned().collect();
        assert_eq!(sent, [expected.as_str()], "{place}");
    }
    let kept = kept(&usage(&peer, "{ query = 'key' }"));
    send(&peer, &kept, get(&url(&peer, "/v1?a=1&key=guess&b=%2B"))).await.unwrap();
    assert_eq!(peer.last().uri, "/v1?a=1&b=%2B&key=c4n4ry%2FTo%2Bken%3D0123");
}

#[tokio::test]
async fn a_secret_goes_nowhere_else() {
    let peer = serve(None, |_| answer("ok")).await;
    let kept = kept(&usage(&peer, "'bearer'"));
    for other in [
        format!("http://other.localhost:{}/v1", peer.port),
        url(&peer, "/v2"),
        url(&peer, "/v1/%2e%2e/v2"),
        url(&peer, "/v1/..%2fv2"),
    ] {
        send(&peer, &kept, get(&other)).await.unwrap();
        assert!(!peer.last().headers.contains_key("authorization"), "{other}");
    }
}

#[tokio::test]
async fn a_secret_does_not_go_unencrypted_to_a_public_address() {
    let kept = kept("to = ['http://api.example.com private']\nas = 'bearer'");
    // Where it would be connected to does not matter: a machine without a network fails earlier, and says so.
    let secrets = [kept.secret];
    let request =
        Outgoing { connect_timeout: Some(std::time::Duration::from_millis(1)), ..get("http://api.example.com/") };
    let failure = send_with(&here(), &["http://api.example.com"], &secrets, &BOUNDS, request).await.unwrap_err();
    assert!(!failure.in_doubt, "{failure}");
    assert!(failure.why.contains("may not go to http://api.example.com unencrypted"), "{failure}");
}

#[tokio::test]
async fn a_placeholder_becomes_the_secret_where_the_use_allows_it() {
    let peer = serve(None, |_| answer("ok")).await;
    let in_headers = kept(&usage(&peer, "'placeholder'"));
    let token = in_headers.secret.placeholder(&SEED).unwrap();
    let request = |path| {
        let mut request = post(&url(&peer, path), "");
        request.body = format!("<{token}> and <{token}>").into();
        request.headers.insert("x-signed", HeaderValue::try_from(format!("key={token};")).unwrap());
        request
    };
    send(&peer, &in_headers, request("/v1")).await.unwrap();
    assert_eq!(peer.last().headers["x-signed"], format!("key={VALUE};").as_str());
    assert_eq!(peer.last().body, format!("<{token}> and <{token}>"));
    let in_body = kept(&usage(&peer, "{ placeholder = 'body' }"));
    send(&peer, &in_body, request("/v1")).await.unwrap();
    assert_eq!(peer.last().body, format!("<{VALUE}> and <{VALUE}>"));
    assert_eq!(peer.last().headers["content-length"], peer.last().body.len().to_string().as_str());
    send(&peer, &in_body, request("/elsewhere")).await.unwrap();
    assert_eq!(peer.last().body, format!("<{token}> and <{token}>"));
}

#[tokio::test]
async fn a_placeholder_in_a_url_becomes_the_secret_written_as_data() {
    let peer = serve(None, |_| answer("ok")).await;
    let kept = kept(&usage(&peer, "{ placeholder = 'url' }"));
    let token = kept.secret.placeholder(&SEED).unwrap();
    let asked = url(&peer, &format!("/v1/bot{token}/send?to=1&key={token}&again={token}"));
    send(&peer, &kept, get(&asked)).await.unwrap();
    let written = "c4n4ry%2FTo%2Bken%3D0123";
    assert_eq!(peer.last().uri, format!("/v1/bot{written}/send?to=1&key={written}&again={written}"));
    let mut elsewhere = post(&url(&peer, &format!("/v2/{token}")), "");
    elsewhere.body = token.clone().into();
    send(&peer, &kept, elsewhere).await.unwrap();
    assert_eq!(peer.last().uri, format!("/v2/{token}"));
    assert_eq!(peer.last().body, token);
}

#[tokio::test]
async fn a_secret_that_comes_back_is_masked() {
    let peer = serve(None, |asked| {
        let sent = asked.headers.get("authorization").cloned().unwrap_or(HeaderValue::from_static(VALUE));
        let mut response = answer(format!("you sent {}", sent.to_str().unwrap()));
        response.headers_mut().insert("x-echo", sent);
        response
    })
    .await;
    let kept = kept(&usage(&peer, "'bearer'"));
    let response = send(&peer, &kept, get(&url(&peer, "/v1"))).await.unwrap();
    assert_eq!(response.body, "you sent Bearer [secret:token]");
    assert_eq!(response.headers["x-echo"], "Bearer [secret:token]");
    assert_eq!(response.headers["content-length"], response.body.len().to_string().as_str());
    // Who knows it may tell it later, when nobody sent it.
    let response = send(&peer, &kept, get(&url(&peer, "/stored"))).await.unwrap();
    assert_eq!(response.body, "you sent [secret:token]");
}

#[tokio::test]
async fn what_cannot_be_looked_through_is_not_delivered() {
    let peer = serve(None, |asked| {
        let (status, coding) = match asked.uri.as_str() {
            "/v1/gzip" => (StatusCode::OK, "gzip"),
            "/v1/part" => (StatusCode::PARTIAL_CONTENT, "identity"),
            _ => (StatusCode::OK, "identity"),
        };
        let response = Response::builder().status(status).header("content-encoding", coding);
        response.body(Full::from("body").boxed()).unwrap()
    })
    .await;
    let kept = kept(&usage(&peer, "'bearer'"));
    let request = |path| {
        let mut request = get(&url(&peer, path));
        request.headers.insert("accept-encoding", HeaderValue::from_static("gzip"));
        request.headers.insert("range", HeaderValue::from_static("bytes=0-3"));
        request
    };
    send(&peer, &kept, request("/v1")).await.unwrap();
    assert_eq!(peer.last().headers["accept-encoding"], "identity");
    assert!(!peer.last().headers.contains_key("range"));
    for path in ["/v1/gzip", "/v1/part"] {
        let failure = send(&peer, &kept, request(path)).await.unwrap_err();
        assert_eq!((failure.code, failure.in_doubt), (Code::ResponseContentCoding, true), "{path}");
    }
}

#[tokio::test]
async fn a_new_secret_is_used_from_the_next_request_on() {
    let peer = serve(None, |_| answer("ok")).await;
    let kept = kept(&usage(&peer, "'bearer'"));
    std::fs::write(kept.dir.path().join("token"), "another secret of enough length").unwrap();
    send(&peer, &kept, get(&url(&peer, "/v1"))).await.unwrap();
    assert_eq!(peer.last().headers["authorization"], "Bearer another secret of enough length");
}

#[tokio::test]
async fn a_request_whose_secret_is_missing_is_not_sent_without_it() {
    let peer = serve(None, |_| answer("ok")).await;
    let kept = kept(&usage(&peer, "'bearer'"));
    std::fs::remove_file(kept.dir.path().join("token")).unwrap();
    let failure = send(&peer, &kept, get(&url(&peer, "/v1"))).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::ConfigurationError, false));
    assert!(failure.why.starts_with("the secret `token` is not there"), "{}", failure.why);
    // Nor one to which it does not belong, if that host may know it: what came back could not be looked through.
    let failure = send(&peer, &kept, get(&url(&peer, "/v2"))).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::ConfigurationError, false));
    assert_eq!(peer.connections(), 0);
    send(&peer, &kept, get(&format!("http://other.localhost:{}/", peer.port))).await.unwrap();
}

#[tokio::test]
async fn promise_7_a_secret_that_was_rotated_or_is_gone_is_masked_all_the_same() {
    const NEW: &str = "another secret of enough length";
    let peer = serve(None, |_| answer(format!("{VALUE} {NEW}"))).await;
    let kept = kept(&usage(&peer, "'bearer'"));
    let (path, egress) = (kept.dir.path().join("token"), here());
    let rules = ["localhost", "other.localhost"].map(|host| format!("http://{host}:{}", peer.port));
    let rules: Vec<_> = rules.iter().map(String::as_str).collect();
    let told = async |url: String| {
        let response = send_with(&egress, &rules, std::slice::from_ref(&kept.secret), &BOUNDS, get(&url)).await;
        String::from_utf8(response.unwrap().body.to_vec()).unwrap()
    };
    // Nobody was told the new one yet.
    assert_eq!(told(url(&peer, "/v1")).await, format!("[secret:token] {NEW}"));
    std::fs::write(&path, NEW).unwrap();
    for url in [url(&peer, "/v1"), url(&peer, "/stored")] {
        assert_eq!(told(url).await, "[secret:token] [secret:token]");
    }
    // A host that it never went to may have it of another.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(told(format!("http://other.localhost:{}/", peer.port)).await, "[secret:token] [secret:token]");
}
