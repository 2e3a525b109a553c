//! Guests on the network: where they may not go, what they may not say, and servers that are out for trouble.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use longhaul::{EventKind, Limits, NewTask, Task};
use longhaul_tests::embedded::journal;
use longhaul_tests::peer::Peer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::arena::{Arena, broke, completed, limited, said};

/// A server that reads the head of each request and then does with the connection what it is told; and the heads.
struct Raw {
    at: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    async fn start<F: Future<Output = ()> + Send + 'static>(talk: impl Fn(TcpStream) -> F + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let (at, heads) = (listener.local_addr().expect("an address"), Arc::new(Mutex::new(Vec::new())));
        let noted = heads.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => break,
                    }
                }
                noted.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
                tokio::spawn(talk(stream));
            }
        });
        Self { at, heads }
    }

    /// One that answers so, and goes.
    async fn answers(text: impl Into<Vec<u8>>) -> Self {
        let text: Vec<u8> = text.into();
        let text: Arc<[u8]> = text.into();
        Self::start(move |mut stream| {
            let text = text.clone();
            async move {
                let _ = stream.write_all(&text).await;
            }
        })
        .await
    }

    /// One that begins so, and then repeats that for as long as anybody listens, with a pause after each.
    async fn repeats(begin: &'static str, more: &str, pause: Duration) -> Self {
        let more: Arc<str> = more.into();
        Self::start(move |mut stream| {
            let more = more.clone();
            async move {
                let _ = stream.write_all(begin.as_bytes()).await;
                while stream.write_all(more.as_bytes()).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            }
        })
        .await
    }

    fn url(&self) -> String {
        format!("http://{}/", self.at)
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// What the probe has noted.
fn values(task: &Task) -> Vec<String> {
    completed(task);
    let output = task.output.as_ref().and_then(|output| output.structured.as_ref()).expect("the probe's trace");
    let values = output["values"].as_array().expect("values");
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Why its requests failed, and what it was refused, as its journal has it.
async fn failed(arena: &Arena, task: &Task) -> (Vec<String>, Vec<String>) {
    let (mut errors, mut refused) = (Vec::new(), Vec::new());
    for event in journal(&arena.host, &task.id).await {
        match event.kind {
            EventKind::Http { error: Some(error), .. } => errors.push(error),
            EventKind::Refused { what, why } => refused.push(format!("{what}: {why}")),
            _ => {}
        }
    }
    (errors, refused)
}

fn fetch(input: Value) -> NewTask {
    NewTask::new("probe", "fetch").input(input)
}

/// Tries all of these, some at a time, and none must be reached: why each was not.
async fn none_is_reached(arena: &Arena, urls: &[String], granted: &str) -> Vec<String> {
    let mut why = Vec::new();
    for some in urls.chunks(12) {
        let task = NewTask::new("probe", "fetch_several").input(json!({ "urls": some })).grant_http(granted);
        let task = arena.beside(task).await;
        let noted = values(&task);
        let refused = noted.iter().filter(|value| *value == "kind=Refused" || value.starts_with("not begun=")).count();
        assert_eq!(refused, some.len(), "{noted:#?}");
        why.extend(failed(arena, &task).await.0);
    }
    why
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_this_machine_is_reached_by_no_spelling_of_its_address() {
    let arena = Arena::open().await;
    let peer = Peer::start().await;
    let port = peer.authority().rsplit_once(':').unwrap().1.to_owned();
    let urls = [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "0x7f000001",
        "0x7f.0.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "127.255.255.254",
    ]
    .map(|host| format!("http://{host}:{port}/"));
    // Whatever names a rule admits, this machine is not one of them.
    let why = none_is_reached(&arena, &urls, &format!("http://*:{port}")).await;
    assert!(why.len() >= 18, "{why:#?}");
    for why in why {
        let named = why.contains("address, which no rule names; where that is meant, a rule says so: `");
        assert!(named || why.starts_with("no rule allows GET http://"), "{why}");
    }
    assert_eq!(peer.seen().len(), 0);
    // By a rule that names it, it is.
    let task = arena.beside(fetch(json!({ "url": peer.url("/a") })).grant_http(peer.rule())).await;
    assert_eq!(values(&task)[0], "status=200");
    arena.close().await;
}

/// The addresses where clouds keep their keys; by name too.
#[tokio::test(flavor = "multi_thread")]
async fn promise_5_what_is_next_to_this_machine_is_reached_neither_by_address_nor_by_name() {
    let leads = |name: &str| -> Vec<IpAddr> {
        let found: &[&str] = match name {
            "metadata.example.com" => &["169.254.169.254"],
            "inside.example.com" => &["10.0.0.1", "fd00::1", "100.64.0.1"],
            _ => &[],
        };
        found.iter().map(|address| address.parse().unwrap()).collect()
    };
    let arena = Arena::open_with(|host| host.resolve_with(leads)).await;
    let urls = [
        "169.254.169.254/latest/meta-data/",
        "2852039166/",
        "0251.0376.0251.0376/",
        "0xa9fea9fe/",
        "169.254.1/",
        "[::ffff:169.254.169.254]/",
        "[fd00:ec2::254]/",
        "[fe80::1]/",
        "metadata.example.com/",
        "inside.example.com/",
    ]
    .map(|at| format!("http://{at}"));
    let why = none_is_reached(&arena, &urls, "http://*").await;
    assert_eq!(why.len(), urls.len(), "{why:#?}");
    for address in ["169.254.169.254", "10.0.0.1", "fd00::1"] {
        let named = why.iter().filter(|why| why.contains("example.com leads to"));
        assert!(named.clone().count() == 2 && named.clone().all(|why| !why.contains(address)), "{why:#?}");
    }
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_a_name_that_leads_elsewhere_the_next_time_is_judged_each_time() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let leads = move |_: &str| -> Vec<IpAddr> {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        vec![if first { "127.0.0.1" } else { "169.254.169.254" }.parse().unwrap()]
    };
    let arena = Arena::open_with(|host| host.resolve_with(leads)).await;
    let peer = Raw::answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let at = format!("http://api.example.com:{}", peer.at.port());
    let task = arena.beside(fetch(json!({ "url": at, "times": 2 })).grant_http(format!("{at} private"))).await;
    let noted = values(&task);
    assert!(noted[0] == "status=200" && noted.contains(&"kind=Refused".to_owned()), "{noted:?}");
    // Asked once for each request: what was judged is what it was connected to.
    assert_eq!((asked.load(Ordering::SeqCst), peer.heads().len()), (2, 1));
    let (errors, _) = failed(&arena, &task).await;
    assert!(errors[0].contains("leads to a") && errors[0].contains("which no rule names"), "{errors:?}");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_where_a_redirect_leads_is_judged_like_any_request() {
    let arena = Arena::open().await;
    let inside = Peer::start().await;
    let redirects = format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", inside.url("/secret"));
    let outside = Raw::answers(redirects).await;
    let task = fetch(json!({ "url": outside.url(), "follow": true })).grant_http(format!("http://{}", outside.at));
    let task = arena.beside(task).await;
    let noted = values(&task);
    assert!(noted[0] == "status=302" && noted.contains(&"kind=Refused".to_owned()), "{noted:?}");
    assert_eq!((outside.heads().len(), inside.seen().len()), (1, 0));
    let (_, refused) = failed(&arena, &task).await;
    let wanted = format!("add `http = [\"{}\"]` to `[plugins.probe]` in longhaul.toml", inside.rule());
    assert!(matches!(&refused[..], [refused] if refused.contains(&wanted)), "{refused:?}");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_smuggles_no_header_and_no_request_into_what_it_sends() {
    let arena = Arena::open().await;
    let peer = Raw::answers("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let task = NewTask::new("probe", "smuggle").input(json!({ "authority": peer.at.to_string() }));
    let task = arena.beside(task.grant_http(format!("http://{}", peer.at))).await;
    assert_eq!(values(&task), [""; 0], "this was taken");
    let heads = peer.heads();
    assert!(heads.len() >= 5, "{heads:?}");
    for head in heads {
        let (first, rest) = head.split_once("\r\n").unwrap();
        assert!(
            first.starts_with("GET /") && first.ends_with(" HTTP/1.1") && first.matches(' ').count() == 2,
            "{head}"
        );
        let mut headers: Vec<_> = rest.trim_end().split("\r\n").collect();
        headers.sort_unstable();
        let agent = format!("user-agent: longhaul/{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(headers, ["connection: close", &format!("host: {}", peer.at), &agent, "x-good: 1"], "{head}");
    }
    // Other ways to say where it goes: none leads where the rule does not.
    let evil = Peer::start().await;
    let (good, evil_at) = (peer.at.to_string(), evil.authority());
    let urls = [
        format!("http://{good}@{evil_at}/"),
        format!("http://{good}%00@{evil_at}/"),
        format!("http://{evil_at}\\@{good}/"),
        format!("http://{evil_at}#@{good}/"),
        format!("http://{good}.{evil_at}/"),
    ];
    for url in urls {
        let task = arena.beside(fetch(json!({ "url": url })).grant_http(format!("http://{good}"))).await;
        assert!(values(&task)[0].starts_with("error="), "{url}: {:?}", values(&task));
    }
    assert_eq!(evil.seen().len(), 0);
    arena.close().await;
}

/// What a request to a server ends with, for a task that may use so much: the limit's name in what the journal says.
async fn ends_by(arena: &Arena, peer: &Raw, limits: Limits, limit: &str, value: &str) {
    let task = fetch(json!({ "url": peer.url() })).grant_http(format!("http://{}", peer.at)).limits(limits);
    let task = arena.beside(task).await;
    let noted = values(&task);
    assert!(noted.iter().any(|value| value == "kind=Timeout" || value == "kind=TooLarge"), "{limit}: {noted:?}");
    let (errors, _) = failed(arena, &task).await;
    assert!(matches!(&errors[..], [error] if error.contains(&said(limit, value))), "{errors:?}");
}

const HEAD: &str = "HTTP/1.1 200 OK\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_server_that_never_ends_is_left_at_a_limit_that_is_named() {
    let arena = Arena::open().await;
    let (millisecond, second) = (Duration::from_millis(1), Duration::from_secs(1));
    let defaults = Limits::default();
    // Each byte comes in time, and the whole does not.
    let drips = Raw::repeats(HEAD, "x", 20 * millisecond).await;
    let limits = Limits { http_time: second, ..defaults };
    ends_by(&arena, &drips, limits, "http_time", "1s").await;
    let floods = Raw::repeats(HEAD, &"x".repeat(64 << 10), Duration::ZERO).await;
    let limits = Limits { http_body: 1 << 20, ..defaults };
    ends_by(&arena, &floods, limits, "http_body", "1MiB").await;
    let limits = Limits { http_bytes: 1 << 20, ..defaults };
    ends_by(&arena, &floods, limits, "http_bytes", "1MiB").await;
    // A head without an end, slow and fast, and answers that are none yet.
    let slow_head = Raw::repeats("HTTP/1.1 200 OK\r\n", "x: 1\r\n", 20 * millisecond).await;
    let limits = Limits { http_first_byte: second, ..defaults };
    ends_by(&arena, &slow_head, limits, "http_first_byte", "1s").await;
    let long_head = Raw::repeats("HTTP/1.1 200 OK\r\n", &"x: 1\r\n".repeat(1_000), Duration::ZERO).await;
    ends_by(&arena, &long_head, defaults, "http_headers", "64KiB").await;
    let informs = Raw::repeats("", "HTTP/1.1 103 Early Hints\r\n\r\n", 5 * millisecond).await;
    let limits = Limits { http_first_byte: second, ..defaults };
    ends_by(&arena, &informs, limits, "http_first_byte", "1s").await;
    arena.close().await;
}

/// It would be a hundred times as long; the host does not look what it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_of_gzip_is_delivered_as_the_bytes_that_came() {
    let arena = Arena::open().await;
    let mut body = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff".to_vec();
    body.resize(1_234, 0);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let peer = Raw::answers([head.as_bytes(), &body].concat()).await;
    let limits = Limits { http_body: 1_234, ..Limits::default() };
    let task = fetch(json!({ "url": peer.url() })).grant_http(format!("http://{}", peer.at)).limits(limits);
    let task = arena.beside(task).await;
    assert_eq!(values(&task), ["status=200", "type=Some(\"text/plain\")", "bytes=1234"]);
    arena.close().await;
}

fn hoard(what: &str, count: usize) -> NewTask {
    NewTask::new("probe", "hoard").input(json!({ "what": what, "count": count }))
}

/// Headers and bodies that a guest does not send lie in the host: they count as the guest's memory, to the byte.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_what_a_guest_has_the_host_hold_counts_as_its_memory() {
    let arena = Arena::open().await;
    for what in ["headers", "copies", "bodies", "requests", "paths"] {
        // 32 KiB each.
        let with = |memory| hoard(what, 64).limits(Limits { memory, ..Limits::default() });
        let task = arena.beside(hoard(what, 64)).await;
        completed(&task);
        let used = task.usage.iter().find(|usage| usage.limit == "memory").expect("it is told").used;
        assert!(used > 64 * (32 << 10) + (1 << 20), "{what}: {used}");
        completed(&arena.beside(with(used)).await);
        let task = arena.beside(with(used - 1)).await;
        // A body that can't be written is an error of the guest's, and it dies of that; all else stops it.
        let code = if what == "bodies" { "trap" } else { "limit" };
        broke(&task, code, "with its HTTP requests it would have more memory than it may");
        broke(&task, code, &format!("limit `memory` = {}; `--limit memory=…` raises it", used - 1));
    }
    // What is let go of leaves nothing behind.
    completed(&arena.beside(hoard("given up", 2_000)).await);
    arena.close().await;
}

/// As of the other imports: a hundred megabytes in one argument are not even copied.
#[tokio::test(flavor = "multi_thread")]
async fn huge_arguments_of_http_break_a_limit() {
    let arena = Arena::open().await;
    for what in ["name", "value", "list", "values", "path", "authority", "method"] {
        let task = arena.beside(hoard(what, 70_000_000)).await;
        limited(&task, "limit", "host_call", "64MiB");
    }
    // What is copied and is no method is not kept.
    let task = arena.beside(hoard("method", 65)).await;
    assert_eq!(values(&task)[0], "method=Err(())");
    arena.close().await;
}
