//! Sending once, and knowing when it may have been twice.

use http::Method;
use sha2::{Digest, Sha256};
use url::Url;

use super::{Code, Failure, HttpRule, InDoubt, Target};

/// The `Idempotency-Key` of a request, where its method may change something; other requests need none. The same request
/// has the same key in every attempt of a task; `nth` is how many equal ones came before it.
pub(crate) fn key(task: &str, method: &Method, url: &Url, body: &[u8], nth: u64) -> Option<String> {
    if method.is_safe() {
        return None;
    }
    let mut hash = Sha256::new();
    for part in [b"longhaul key".as_slice(), task.as_bytes(), method.as_str().as_bytes(), url.as_str().as_bytes(), body]
    {
        // With its length before it no part can pass for the end of another.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(nth.to_be_bytes());
    Some(hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a request that was on its way when its host died, and may have reached the peer, is sent again.
pub(crate) fn resend(rules: &[HttpRule], method: &Method, url: &Url) -> Result<(), Failure> {
    let target = Target::of(url)?;
    let fails = |rule: &HttpRule| rule.allows(method, &target) && rule.in_doubt() == InDoubt::Fail;
    match !method.is_safe() && rules.iter().any(fails) {
        true => Err(Failure::sent(
            Code::InDoubt,
            format!(
                "{method} {target} was on its way when the host stopped, and its rule says `in-doubt=fail`: whether it \
                 was carried out is not known, and it is not sent again"
            ),
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_is_the_same_for_the_same_request_and_another_for_any_other() {
        let key = |task, method, at, body, nth| key(task, &method, &url(at), body, nth);
        let one = key("task", Method::POST, "https://a.example/x", b"body", 0);
        assert_eq!(one.as_ref().unwrap().len(), 32);
        assert_eq!(one, key("task", Method::POST, "https://a.example/x", b"body", 0));
        for other in [
            key("tasks", Method::POST, "https://a.example/x", b"body", 0),
            key("task", Method::PUT, "https://a.example/x", b"body", 0),
            key("task", Method::POST, "https://a.example/xb", b"ody", 0),
            key("task", Method::POST, "https://a.example/x", b"bodi", 0),
            key("task", Method::POST, "https://a.example/x", b"body", 1),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(key("task", Method::GET, "https://a.example/x", b"", 0), None);
    }

    #[test]
    fn a_request_in_doubt_is_sent_again_unless_its_rule_says_otherwise() {
        let rules: Vec<_> = ["a.example in-doubt=fail", "b.example"].map(|text| HttpRule::parse(text).unwrap()).into();
        assert_eq!(resend(&rules, &Method::POST, &url("https://b.example/")), Ok(()));
        assert_eq!(resend(&rules, &Method::GET, &url("https://a.example/")), Ok(()));
        let failure = resend(&rules, &Method::POST, &url("https://a.example/x?token=1")).unwrap_err();
        assert_eq!(failure.code, Code::InDoubt);
        assert!(failure.in_doubt);
        assert!(failure.why.starts_with("POST https://a.example was on its way"), "{}", failure.why);
    }
}
