//! Through a proxy.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

use super::peer::{Authority, Peer, answer, raw, serve};
use super::{egress_by, get, send};
use crate::egress::{Code, Egress, HttpConfig};

/// A proxy that leads everything to one port of this machine, and keeps what it was asked.
async fn proxy(to: u16, says: &'static str) -> (Peer, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = asked.clone();
    let peer = raw("127.0.0.1:0", move |mut stream: TcpStream| {
        let heard = heard.clone();
        async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            heard.lock().unwrap().push(String::from_utf8(head).unwrap());
            stream.write_all(says.as_bytes()).await.unwrap();
            if says.contains(" 200 ") {
                let mut far = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut far).await;
            }
        }
    })
    .await;
    (peer, asked)
}

const OPEN: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

fn by(authority: &Authority, toml: &str, names: &[(&str, &[&str])]) -> Egress {
    let config: HttpConfig = toml::from_str(toml).unwrap();
    egress_by(&HttpConfig { ca: authority.trusted().ca, ..config }, names)
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_address_that_was_judged_and_the_server_for_its_name() {
    let authority = Authority::new();
    let origin = serve(Some(authority.server("api.example.com", &["h2"], 2090)), |_| answer("far")).await;
    let (proxy, asked) = proxy(origin.port, OPEN).await;
    let config = format!("proxy = 'http://user:pass%20word@127.0.0.1:{}'", proxy.port);
    let egress = by(&authority, &config, &[("api.example.com", &["8.8.8.8"])]);
    let response = send(&egress, "api.example.com", get("https://api.example.com/x?secret=1")).await.unwrap();
    assert_eq!(response.body, "far");
    assert_eq!(origin.last().uri, "https://api.example.com/x?secret=1");
    let asked = asked.lock().unwrap().pop().unwrap();
    assert!(asked.starts_with("CONNECT 8.8.8.8:443 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("proxy-authorization: Basic dXNlcjpwYXNzIHdvcmQ=\r\n"), "{asked}");
    assert!(!asked.contains("secret"), "{asked}");
}

#[tokio::test]
async fn a_proxy_does_not_lead_where_no_rule_does() {
    let authority = Authority::new();
    let (proxy, asked) = proxy(1, OPEN).await;
    let config = format!("proxy = 'http://127.0.0.1:{}'", proxy.port);
    let egress = by(&authority, &config, &[("api.example.com", &["10.0.0.1"])]);
    let failure = send(&egress, "api.example.com", get("https://api.example.com/")).await.unwrap_err();
    assert_eq!(failure.code, Code::DestinationIpProhibited);
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_proxy_that_resolves_is_asked_for_the_name() {
    let authority = Authority::new();
    let origin = serve(None, |_| answer("far")).await;
    let (proxy, asked) = proxy(origin.port, OPEN).await;
    let config = format!("proxy = 'http://127.0.0.1:{}'\nproxy_resolves = true", proxy.port);
    let egress = by(&authority, &config, &[]);
    let response = send(&egress, "http://api.example.com", get("http://api.example.com/x")).await.unwrap();
    assert_eq!(response.body, "far");
    assert!(asked.lock().unwrap()[0].starts_with("CONNECT api.example.com:80 HTTP/1.1\r\n"));
    assert_eq!(
        (origin.last().uri.as_str(), origin.last().headers["host"].to_str().unwrap()),
        ("/x", "api.example.com")
    );
}

#[tokio::test]
async fn hosts_that_need_no_proxy_are_reached_without_it() {
    let authority = Authority::new();
    let origin = serve(None, |_| answer("near")).await;
    let (proxy, asked) = proxy(1, OPEN).await;
    let config = format!("proxy = 'http://127.0.0.1:{}'\nno_proxy = ['internal', '10.0.0.0/8']", proxy.port);
    let egress = by(&authority, &config, &[("api.internal", &["127.0.0.1"])]);
    let rule = format!("http://api.internal:{} private", origin.port);
    let response = send(&egress, &rule, get(&format!("http://api.internal:{}/", origin.port))).await.unwrap();
    assert_eq!(response.body, "near");
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_proxy_that_says_no_is_named() {
    let authority = Authority::new();
    for (says, code, why) in [
        (
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\n\r\nnope",
            Code::DestinationUnavailable,
            "the proxy opens no way to 8.8.8.8:443: it answered 403 Forbidden",
        ),
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
            Code::ConfigurationError,
            "the proxy wants a user and a password, or others",
        ),
    ] {
        let (proxy, _) = proxy(1, says).await;
        let config = format!("proxy = 'http://127.0.0.1:{}'", proxy.port);
        let egress = by(&authority, &config, &[("api.example.com", &["8.8.8.8"])]);
        let failure = send(&egress, "api.example.com", get("https://api.example.com/")).await.unwrap_err();
        assert_eq!((failure.code, failure.why.as_str(), failure.in_doubt), (code, why, false));
    }
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    for (text, why) in [
        ("proxy = 'socks5://127.0.0.1:1'", "a proxy is spoken to by http or https"),
        ("proxy = 'http://user:password@a.example/path'", "the URL of a proxy ends after host and port"),
        ("proxy = 'proxy:3128'", "a proxy is spoken to by http or https"),
        ("proxies = 1", "unknown field"),
        ("ca = 'ca.pem'", "`ca.pem` does not begin at the root; write it so"),
    ] {
        let error = toml::from_str::<HttpConfig>(text).unwrap_err();
        assert!(error.message().contains(why), "{}", error.message());
    }
    let config: HttpConfig = toml::from_str("no_proxy = ['a']").unwrap();
    let error = Egress::new(&config).err().unwrap();
    assert_eq!(error, "`no_proxy` and `proxy_resolves` mean nothing without a `proxy`");
    let config: HttpConfig = toml::from_str("proxy = 'http://user:password@a.example'").unwrap();
    assert_eq!(format!("{:?}", config.proxy.unwrap()), "http://a.example:80");
}
