use std::path::PathBuf;

use super::{Part, Secret, SecretPlace, SecretSource, SecretUse};
use crate::egress::Code;

fn usage(text: &str) -> Result<SecretUse, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
}

fn secret(source: SecretSource) -> Secret {
    Secret { name: "token".into(), source, usage: usage("to = ['a.example']\nas = 'bearer'").unwrap() }
}

#[test]
fn a_use_says_where_a_secret_goes_and_how() {
    for (place, expected) in [
        ("'bearer'", SecretPlace::Header { name: "authorization".parse().unwrap(), prefix: "Bearer ".into() }),
        ("{ header = 'X-Api-Key' }", SecretPlace::Header { name: "x-api-key".parse().unwrap(), prefix: "".into() }),
        (
            "{ header = 'authorization', prefix = 'Token ' }",
            SecretPlace::Header { name: "authorization".parse().unwrap(), prefix: "Token ".into() },
        ),
        ("{ basic = 'user' }", SecretPlace::Basic { user: "user".into() }),
        ("{ query = 'key' }", SecretPlace::Query { parameter: "key".into() }),
        ("'placeholder'", SecretPlace::Placeholder { also: None }),
        ("{ placeholder = 'headers' }", SecretPlace::Placeholder { also: None }),
        ("{ placeholder = 'url' }", SecretPlace::Placeholder { also: Some(Part::Url) }),
        ("{ placeholder = 'body' }", SecretPlace::Placeholder { also: Some(Part::Body) }),
    ] {
        let usage = usage(&format!("to = ['a.example', 'http://localhost:1']\nas = {place}")).unwrap();
        assert_eq!(usage.place, expected);
        assert_eq!(usage.to.len(), 2);
    }
}

#[test]
fn a_use_that_makes_no_sense_is_refused() {
    for (text, why) in [
        ("to = []\nas = 'bearer'", "`to` names no host, so the secret would go nowhere"),
        (
            "to = ['http://a.example']\nas = 'bearer'",
            "a secret may not go to `http://a.example`: unencrypted it goes only to",
        ),
        ("to = ['http://8.8.8.8']\nas = 'bearer'", "a secret may not go to `http://8.8.8.8`"),
        ("to = ['http://0.0.0.0/0']\nas = 'bearer'", "a secret may not go to `http://0.0.0.0/0`"),
        ("to = ['a.example']\nas = 'header'", "\"header\""),
        ("to = ['a.example']\nas = { basic = 'a', query = 'b' }", "`as` has one of"),
        ("to = ['a.example']\nas = { query = 'b', prefix = 'c' }", "`as` has one of"),
        ("to = ['a.example']\nas = {}", "`as` has one of"),
        ("to = ['a.example']\nas = { header = 'a b' }", "\"a b\" is not the name of a header"),
        ("to = ['a.example']\nas = { header = 'Host' }", "the header `host` is the host's own"),
        ("to = ['a.example']\nas = { header = 'x', prefix = \"a\\r\\nb\" }", "has characters that no header has"),
        ("to = ['a.example']\nas = { basic = 'a:b' }", "is no user's name"),
        ("to = ['a.example']\nas = { placeholder = 'trailers' }", "none of \"headers\", \"url\" and \"body\""),
        ("to = ['a.example']", "missing field `as`"),
    ] {
        let error = usage(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    for private in
        ["http://10.0.0.0/8", "http://127.0.0.1:80", "http://[::1]", "http://x.internal private", "http://localhost"]
    {
        usage(&format!("to = ['{private}']\nas = 'bearer'")).unwrap();
    }
}

#[test]
fn a_secret_is_read_anew_each_time_and_shown_by_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let secret = secret(SecretSource::File(path.clone()));
    assert_eq!(secret.read().unwrap_err().code, Code::ConfigurationError);

    std::fs::write(&path, "0123456789abcdef\n").unwrap();
    assert_eq!(secret.read().unwrap().bytes(), b"0123456789abcdef");
    std::fs::write(&path, "fedcba9876543210\r\n").unwrap();
    let value = secret.read().unwrap();
    assert_eq!(value.bytes(), b"fedcba9876543210");
    assert_eq!(format!("{value:?} {secret:?}").matches("fedcba").count(), 0);

    std::fs::write(&path, "fifteen bytes!!\n").unwrap();
    let failure = secret.read().unwrap_err();
    let expected = "the secret `token` is too short: the file `";
    assert!(failure.why.starts_with(expected) && !failure.why.contains("fifteen"), "{}", failure.why);
    std::fs::write(&path, vec![b'x'; 20_000]).unwrap();
    assert!(secret.read().unwrap_err().why.contains("has more than 16384 bytes"));
}

#[test]
fn a_secret_of_the_environment_that_is_not_there_is_named() {
    let failure = secret(SecretSource::Env("LONGHAUL_TEST_NO_SUCH_VARIABLE".into())).read().unwrap_err();
    let expected =
        "the secret `token` is not there: the environment variable `LONGHAUL_TEST_NO_SUCH_VARIABLE` is not set";
    assert_eq!(failure.why, expected);
}

#[test]
fn a_source_is_a_variable_or_a_file() {
    let source = |text: &str| toml::from_str::<std::collections::BTreeMap<String, SecretSource>>(text);
    assert_eq!(source("a = { env = 'X' }").unwrap()["a"], SecretSource::Env("X".into()));
    assert_eq!(source("a = { file = '/x' }").unwrap()["a"], SecretSource::File(PathBuf::from("/x")));
    assert!(source("a = { value = 'x' }").is_err());
    let error = source("a = { file = 'x' }").unwrap_err();
    assert!(error.message().contains("`x` does not begin at the root; write it so"), "{error}");
}

#[test]
fn a_placeholder_is_one_tasks_own() {
    let bearer = secret(SecretSource::Env("X".into()));
    assert_eq!(bearer.placeholder(&[1; 32]), None);
    let placed = Secret { usage: usage("to = ['a.example']\nas = 'placeholder'").unwrap(), ..bearer };
    let one = placed.placeholder(&[1; 32]).unwrap();
    assert_eq!(placed.placeholder(&[1; 32]), Some(one.clone()));
    assert_ne!(placed.placeholder(&[2; 32]), Some(one.clone()));
    let other = Secret { name: "other".into(), ..placed };
    assert_ne!(other.placeholder(&[1; 32]), Some(one.clone()));
    assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{one}");
}
