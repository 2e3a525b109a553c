//! Where requests do not go.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};

use super::peer::{answer, serve};
use super::{BOUNDS, SEED, egress, get, rules, send, send_with};
use crate::egress::{Allowed, Code, Egress, HttpConfig, Whose};

#[tokio::test]
async fn every_spelling_of_this_machines_address_is_refused() {
    let peer = serve(None, |_| answer("reached")).await;
    let egress = egress(&[("localhost", &["127.0.0.1", "::1"]), ("a.localhost", &["127.0.0.1"])]);
    let rules = [&*format!("http://*:{}", peer.port), &*format!("http://*.example:{}", peer.port)];
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "①②⑦.0.0.1",
        "１２７.0.0.1",
        "0.0.0.0",
        "0",
        "[::]",
        "%31%32%37.0.0.1",
        "localhost",
        "LocalHost",
        "localhost.",
        "ⓛocalhost",
        "a.localhost",
    ] {
        let request = get(&format!("http://{host}:{}/", peer.port));
        let failure = send_with(&egress, &rules, &[], &BOUNDS, request).await.unwrap_err();
        let refused = matches!(failure.code, Code::Refused { .. } | Code::DestinationIpProhibited);
        assert!(refused && !failure.in_doubt, "{host}: {failure:?}");
    }
    assert_eq!(peer.connections(), 0);
}

#[tokio::test]
async fn a_name_that_leads_to_a_special_address_is_refused() {
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "169.254.1.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "198.18.0.1",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "fd00::1",
        "fd00:ec2::254",
        "fe80::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "ff02::1",
    ] {
        let egress = egress(&[("api.example.com", &[address])]);
        let failure = send(&egress, "http://api.example.com", get("http://api.example.com/")).await.unwrap_err();
        assert_eq!(failure.code, Code::DestinationIpProhibited, "{address}");
        assert!(!failure.why.contains(address), "{}", failure.why);
    }
}

#[tokio::test]
async fn an_address_that_a_rule_names_is_reached_in_every_spelling() {
    let peer = serve(None, |_| answer("reached")).await;
    let egress = egress(&[]);
    for host in ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"] {
        let request = get(&format!("http://{host}:{}/", peer.port));
        let response = send(&egress, &format!("http://127.0.0.1:{}", peer.port), request).await.unwrap();
        assert_eq!(response.body, "reached");
        assert_eq!(peer.last().headers["host"], format!("127.0.0.1:{}", peer.port));
    }
}

#[tokio::test]
async fn a_name_whose_address_changes_is_reached_where_it_was_judged() {
    let here = serve(None, |_| answer("here")).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    // The first time the good address, then one that no rule admits.
    let resolve = Arc::new(move |_: String| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let address: IpAddr = if first { "127.0.0.1" } else { "169.254.169.254" }.parse().unwrap();
        Box::pin(std::future::ready(Ok(vec![address]))) as futures_util::future::BoxFuture<'static, _>
    });
    let egress = Egress::with_resolver(&HttpConfig::default(), resolve).unwrap();
    let rule = format!("http://api.example.com:{} private", here.port);
    let url = format!("http://api.example.com:{}/", here.port);

    assert_eq!(send(&egress, &rule, get(&url)).await.unwrap().body, "here");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "asked once, and connected to that");
    // And it is judged anew each time.
    assert_eq!(send(&egress, &rule, get(&url)).await.unwrap_err().code, Code::DestinationIpProhibited);
    assert_eq!(here.connections(), 1);
}

#[tokio::test]
async fn of_a_names_addresses_only_those_that_are_admitted_are_used() {
    let peer = serve(None, |_| answer("reached")).await;
    let egress = egress(&[("api.internal", &["169.254.169.254", "fe80::1", "127.0.0.1"])]);
    let rule = format!("http://api.internal:{} private", peer.port);
    let response = send(&egress, &rule, get(&format!("http://api.internal:{}/", peer.port))).await.unwrap();
    assert_eq!(response.body, "reached");
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_not_the_last() {
    let peer = serve(None, |_| answer("reached")).await;
    // Nobody listens on the second one.
    let egress = egress(&[("api.internal", &["127.0.0.2", "127.0.0.1"])]);
    let rule = format!("http://api.internal:{} private", peer.port);
    let response = send(&egress, &rule, get(&format!("http://api.internal:{}/", peer.port))).await.unwrap();
    assert_eq!(response.body, "reached");
}

#[tokio::test]
async fn a_redirect_is_the_guests_to_follow() {
    let inner = serve(None, |_| answer("inside")).await;
    let location = format!("http://127.0.0.1:{}/", inner.port);
    let to = location.clone();
    let outer = serve(None, move |_| {
        let response = Response::builder().status(StatusCode::FOUND).header("location", &to);
        response.body(Full::default().boxed()).unwrap()
    })
    .await;
    let egress = egress(&[("localhost", &["127.0.0.1"])]);
    let rule = format!("http://localhost:{}", outer.port);
    let response = send(&egress, &rule, get(&format!("http://localhost:{}/", outer.port))).await.unwrap();
    assert_eq!(response.status, StatusCode::FOUND);
    let failure = send(&egress, &rule, get(response.headers["location"].to_str().unwrap())).await.unwrap_err();
    assert!(matches!(failure.code, Code::Refused { .. }), "{failure:?}");
    assert_eq!(inner.connections(), 0);
    assert_eq!(location, response.headers["location"]);
}

#[tokio::test]
async fn a_refusal_says_what_an_operator_would_have_to_grant() {
    let egress = egress(&[]);
    let failure = send(&egress, "GET a.example/v1", get("https://a.example/v2?key=1")).await.unwrap_err();
    assert_eq!(failure.code, Code::Refused { what: "a.example".into() });
    assert_eq!(failure.why, "no rule allows GET https://a.example/v2, only `GET a.example/v1`");
    let failure = send(&egress, "a.example", get("http://b.example:8080/")).await.unwrap_err();
    assert_eq!(failure.code, Code::Refused { what: "http://b.example:8080".into() });
    assert_eq!(failure.why, "no rule allows GET http://b.example:8080/");
}

#[tokio::test]
async fn a_name_that_is_not_known_is_a_failure_of_its_own() {
    let failure = send(&egress(&[]), "a.example", get("https://a.example/")).await.unwrap_err();
    assert_eq!(failure.code, Code::DnsError);
    let failure = send(&egress(&[("a.example", &[])]), "a.example", get("https://a.example/")).await.unwrap_err();
    assert_eq!(failure.why, "the name a.example has no address");
}

/// A name server that does not answer keeps whoever asks it waiting, and nobody else.
#[tokio::test]
async fn who_asks_for_names_that_nobody_knows_takes_no_look_ups_from_others() {
    let peer = serve(None, |_| answer("reached")).await;
    let silent = Arc::new(AtomicUsize::new(0));
    let asked = silent.clone();
    let resolve = Arc::new(move |name: String| {
        let found: futures_util::future::BoxFuture<'static, _> = match name.as_str() {
            "localhost" => Box::pin(std::future::ready(Ok(vec![IpAddr::from([127, 0, 0, 1])]))),
            _ => {
                asked.fetch_add(1, Ordering::Relaxed);
                Box::pin(std::future::pending())
            }
        };
        found
    });
    let egress = Egress::with_resolver(&HttpConfig::default(), resolve).unwrap();
    let send = |namespace: &'static str, plugin: &'static str, host: String| {
        let (egress, url) = (egress.clone(), format!("http://{host}:{}/", peer.port));
        async move {
            let whose = Whose { namespace, plugin: Some(plugin) };
            let rules = rules(&["http://*.silent", &url]);
            egress.send(Allowed { whose, rules: &rules, secrets: &[], seed: &SEED }, &BOUNDS, get(&url)).await
        }
    };
    for (namespace, plugin, before, most) in
        [("a", "one", 0, 8), ("a", "two", 8, 16), ("a", "three", 16, 24), ("a", "four", 24, 32), ("a", "five", 32, 32)]
    {
        for number in 0..40 {
            let asks = tokio::spawn(send(namespace, plugin, format!("n{number}.silent")));
            // Half of them give up: the look-up goes on without them.
            if number % 2 == 0 {
                tokio::task::yield_now().await;
                asks.abort();
            }
        }
        assert!(silent.load(Ordering::Relaxed) >= before, "{plugin}");
        tokio::time::timeout(BOUNDS.total, async {
            while silent.load(Ordering::Relaxed) < most {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(silent.load(Ordering::Relaxed), most, "{plugin}");
    }
    let response = send("b", "one", "localhost".into()).await.unwrap();
    assert_eq!(response.body, "reached");
}
