use http::Method;
use proptest::prelude::*;
use url::Url;

use super::HttpRule;
use crate::egress::Target;

fn rule(text: &str) -> HttpRule {
    HttpRule::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn target(url: &str) -> Target {
    Target::of(&Url::parse(url).unwrap()).unwrap()
}

fn allows(text: &str, method: &Method, url: &str) -> bool {
    rule(text).allows(method, &target(url))
}

#[test]
fn a_rule_allows_what_its_line_in_the_table_says() {
    for (text, allowed, refused) in [
        (
            "api.example.com",
            &["https://api.example.com/", "https://API.EXAMPLE.COM:443/any?x=1", "https://api.example.com./"][..],
            &[
                "http://api.example.com/",
                "https://api.example.com:8443/",
                "https://example.com/",
                "https://x.api.example.com/",
                "https://api.example.com.evil.example/",
                "https://evil-api.example.com/",
            ][..],
        ),
        ("api.example.com:8443", &["https://api.example.com:8443/"], &["https://api.example.com/"]),
        (
            "*.example.com",
            &["https://a.example.com/", "https://b.a.example.com/"],
            &["https://example.com/", "https://aexample.com/", "https://example.com.a/", "https://.example.com/"],
        ),
        ("*", &["https://any.example/"], &["https://8.8.8.8/", "https://[2606:4700::1111]/", "http://any.example/"]),
        (
            "http://internal.example:8080",
            &["http://internal.example:8080/x"],
            &["https://internal.example:8080/", "http://internal.example/"],
        ),
        (
            "api.example.com/v1",
            &["https://api.example.com/v1", "https://api.example.com/v1/x", "https://api.example.com/v1?x"],
            &["https://api.example.com/v1x", "https://api.example.com/", "https://api.example.com/V1"],
        ),
        ("api.example.com/v1/", &["https://api.example.com/v1/x"], &["https://api.example.com/v1"]),
        ("10.0.0.5", &["https://10.0.0.5/", "https://0xa.5/", "https://[::ffff:10.0.0.5]/"], &["https://10.0.0.6/"]),
        ("10.0.0.0/8", &["https://10.255.0.1/"], &["https://11.0.0.1/"]),
        ("http://10.0.0.0/8:8080/v1", &["http://10.1.1.1:8080/v1/x"], &["http://10.1.1.1:8080/v2"]),
        ("[fd00::5]:8080", &["https://[fd00::5]:8080/"], &["https://[fd00::6]:8080/"]),
        ("[fd00::/8]", &["https://[fd12::5]/"], &["https://[fe80::1]/"]),
        ("localhost:9000", &["https://localhost:9000/"], &["https://127.0.0.1:9000/"]),
        (
            "Bücher.example",
            &["https://xn--bcher-kva.example/", "https://BÜCHER.example/"],
            &["https://bucher.example/"],
        ),
    ] {
        for url in allowed {
            assert!(allows(text, &Method::GET, url), "{text} refuses {url}");
        }
        for url in refused {
            // Some of them are no URLs at all, which will do.
            let refused = Url::parse(url).is_err() || !allows(text, &Method::GET, url);
            assert!(refused, "{text} allows {url}");
        }
    }
}

#[test]
fn a_rule_with_methods_allows_these_only() {
    assert!(allows("GET,HEAD api.example.com", &Method::HEAD, "https://api.example.com/"));
    assert!(!allows("GET,HEAD api.example.com", &Method::POST, "https://api.example.com/"));
    assert!(allows("api.example.com", &Method::DELETE, "https://api.example.com/"));
}

#[test]
fn no_trick_leads_out_of_a_path() {
    for path in [
        "/v1/../admin",
        "/v1/%2e%2e/admin",
        "/v1/%2E./admin",
        "/v1/..%2fadmin",
        "/v1/%2e%2e%2fadmin",
        "/v1/..%5cadmin",
        "/v1/..\\admin",
        "/v1/%252e%252e/admin",
        "/v1/%25252e%25252e/admin",
        "/v1/..;/admin",
        "/v1/..;x=1/admin",
        "/v1/%2e%2e;/admin",
        "/v1/.%00./admin",
        "/v1/%c0%ae%c0%ae/admin",
        "/v1/%u002e%u002e/admin",
        "/v1/x%2f..%2f..%2fadmin",
        "/v1%2f..%2fadmin",
        "/v1/%",
        "//v1/x",
    ] {
        let url = format!("https://api.example.com{path}");
        assert!(!allows("api.example.com/v1", &Method::GET, &url), "{path}");
        // Without a path in the rule, the path is nobody's business.
        assert!(allows("api.example.com", &Method::GET, &url), "{path}");
    }
    for path in ["/v1/a%20b", "/v1/a%2Bb", "/v1/100%25", "/v1/...", "/v1/..a", "/v1//x", "/v1/%C3%BC", "/v1/a;b=c"] {
        assert!(allows("api.example.com/v1", &Method::GET, &format!("https://api.example.com{path}")), "{path}");
    }
}

#[test]
fn what_is_no_rule_is_said_to_be_none_and_why() {
    for (text, why) in [
        ("", "it names no host"),
        ("   ", "it names no host"),
        ("ftp://a.example", "`ftp` is neither https nor http"),
        ("a.example:0", "`0` is not a port from 1 to 65535"),
        ("a.example:65536", "`65536` is not a port from 1 to 65535"),
        ("a.example:+80", "`+80` is not a port from 1 to 65535"),
        ("a.*.example", "`*` stands for whole labels, and only in front: `*.example.com`"),
        ("*a.example", "`*` stands for whole labels, and only in front: `*.example.com`"),
        ("*.10.0.0.1", "nothing is below the address 10.0.0.1"),
        ("user@a.example", "`@` has no place in it"),
        ("a.example/?x", "`?` has no place in it"),
        ("a..example", "`a..example` has two dots in a row"),
        ("127.1", "`127.1` is the address 127.0.0.1; write it so"),
        ("10.0.0.5/8", "the range of addresses that holds 10.0.0.5 begins with 10.0.0.0; write 10.0.0.0"),
        ("10.0.0.0/33", "`10.0.0.0/33` is not a range of addresses such as 10.0.0.0/8"),
        ("[fd00::5", "the `]` after the address is missing"),
        ("get a.example", "`get` is not a method such as GET, in capitals"),
        ("GET, a.example", "`` is not a method such as GET, in capitals"),
        ("CONNECT a.example", "no request of method CONNECT is ever sent"),
        (
            "GET a.example public",
            "`public` is not one of the words that may follow a host, `private` and `in-doubt=fail`",
        ),
        ("a.example/v1/../x", "the path `/v1/../x` is written `/x` in a URL; write it so"),
        ("a.example/%2f", "servers do not agree on what the path `/%2f` means"),
    ] {
        let error = HttpRule::parse(text).unwrap_err();
        assert_eq!(error, format!("\"{text}\" is no rule for HTTP: {why}"));
    }
    assert!(HttpRule::parse(&format!("a.example/{}", "x".repeat(2_000))).unwrap_err().contains("2010 bytes"));
}

#[test]
fn a_rule_is_a_text_or_a_table() {
    #[derive(serde::Deserialize)]
    struct File {
        http: Vec<HttpRule>,
    }
    let read = |text: &str| toml::from_str::<File>(&format!("http = [{text}]")).map(|file| file.http);
    let rules = read(
        r#""GET,HEAD api.internal:8443/v1 private in-doubt=fail",
           { host = "api.internal:8443/v1", methods = ["HEAD", "GET"], private = true, in-doubt = "fail" }"#,
    )
    .unwrap();
    assert_eq!(rules[0], rules[1]);
    for (text, why) in [
        (r#"{ host = "a.example", privat = true }"#, "unknown field `privat`"),
        (r#"{ host = "GET a.example" }"#, "methods and other words have members of their own"),
        (r#"{ host = "a.example", methods = ["get"] }"#, "`get` is not a method such as GET, in capitals"),
        (r#"{ methods = ["GET"] }"#, "missing field `host`"),
        ("1", "expected a rule such as \"api.example.com\", or a table with `host`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn private_addresses_are_admitted_by_rules_that_name_them() {
    let admits = |text: &str, address: &str| rule(text).admits(address.parse().unwrap());
    for private in ["127.0.0.1", "10.0.0.1", "100.64.0.1", "192.168.0.1", "::1", "fd00::1"] {
        assert!(!admits("api.example.com", private), "{private}");
        assert!(!admits("*", private), "{private}");
        assert!(admits("api.internal private", private), "{private}");
    }
    for other in [
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "169.254.0.1",
        "fe80::1",
        "0.0.0.0",
        "224.0.0.1",
    ] {
        assert!(!admits("api.internal private", other), "{other}");
    }
    assert!(admits("169.254.169.254", "169.254.169.254"));
    assert!(admits("localhost", "127.0.0.1") && admits("localhost", "::1") && admits("*.localhost", "127.0.0.1"));
    assert!(!admits("localhost", "10.0.0.1"));
    // `localhost` that leads out of the machine is somebody's trick.
    assert!(!admits("localhost", "8.8.8.8"));
    assert!(admits("api.example.com", "8.8.8.8") && admits("api.internal private", "8.8.8.8"));
}

/// Rules over a few names and paths, so that many of them have something in common.
fn rules() -> impl Strategy<Value = HttpRule> {
    let hosts = [
        "*",
        "a.example",
        "*.example",
        "*.a.example",
        "b.a.example",
        "10.0.0.0/8",
        "10.0.0.5",
        "10.1.0.0/16",
        "[fd00::/8]",
        "localhost",
        "example",
    ];
    (
        prop::sample::select(&["", "GET ", "GET,POST ", "POST "][..]),
        prop::sample::select(&["", "http://", "https://"][..]),
        prop::sample::select(hosts.to_vec()),
        prop::sample::select(&["", ":443", ":80"][..]),
        prop::sample::select(&["", "/", "/v1", "/v1/", "/v1/x", "/v2"][..]),
        prop::sample::select(&["", " private", " in-doubt=fail", " private in-doubt=fail"][..]),
    )
        .prop_map(|(methods, scheme, host, port, path, words)| {
            rule(&format!("{methods}{scheme}{host}{port}{path}{words}"))
        })
}

fn urls() -> impl Strategy<Value = String> {
    let hosts =
        ["a.example", "b.a.example", "c.b.a.example", "example", "10.0.0.5", "10.1.0.1", "[fd00::1]", "localhost"];
    (
        prop::sample::select(&["http", "https"][..]),
        prop::sample::select(hosts.to_vec()),
        prop::sample::select(&["", ":443", ":80"][..]),
        prop::sample::select(&["/", "/v1", "/v1/", "/v1/x", "/v1x", "/v2/..", "/v1/%2e%2e/x"][..]),
    )
        .prop_map(|(scheme, host, port, path)| format!("{scheme}://{host}{port}{path}"))
}

proptest! {
    #[test]
    fn every_text_is_a_rule_or_an_error(text in "\\PC*") {
        let _ = HttpRule::parse(&text);
    }

    #[test]
    fn every_text_of_a_rules_characters_is_a_rule_or_an_error(text in "[a-zA-Z0-9.*:/\\[\\]%, ü-]{0,40}") {
        if let Ok(rule) = HttpRule::parse(&text) {
            prop_assert_eq!(HttpRule::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn a_rule_of_other_letters_is_refused_or_reads_the_same(
        name in "[ä-ü]{1,60}(\\.[a-ü]{1,60}){0,12}",
        path in "(/[a-z]{1,60}){0,30}",
    ) {
        let text = format!("GET {name}{path}");
        if let Ok(rule) = HttpRule::parse(&text) {
            prop_assert_eq!(HttpRule::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn a_rule_that_was_written_reads_the_same(rule in rules()) {
        prop_assert_eq!(HttpRule::parse(&rule.to_string()), Ok(rule));
    }

    #[test]
    fn what_is_left_of_a_grant_allows_exactly_what_both_allow(
        granted in rules(),
        declared in rules(),
        url in urls(),
        post in any::<bool>(),
    ) {
        let (method, target) = (if post { Method::POST } else { Method::GET }, target(&url));
        let left = granted.within(&declared).is_some_and(|left| left.allows(&method, &target));
        prop_assert_eq!(left, granted.allows(&method, &target) && declared.allows(&method, &target));
    }

    #[test]
    fn a_plugin_that_declares_more_is_admitted_no_more(granted in rules(), declared in rules(), last in any::<[u8; 4]>()) {
        if let Some(left) = granted.within(&declared) {
            let address = last.into();
            prop_assert!(!left.admits(address) || granted.admits(address));
        }
    }

    #[test]
    fn what_is_below_a_domain_is_never_the_domain(name in "[a-z]{1,5}(\\.[a-z]{1,5}){1,3}", label in "[a-z]{1,5}") {
        let text = format!("*.{name}");
        let below = format!("https://{label}.{name}/");
        let itself = format!("https://{name}/");
        prop_assert!(allows(&text, &Method::GET, &below));
        prop_assert!(!allows(&text, &Method::GET, &itself));
    }
}
