//! W3C's trace context: which trace a task belongs to.

use http::HeaderValue;

/// What a request of a task is sent with: the same trace, and a place of its own in it. `None`: that is no `traceparent` of
/// version 00.
///
/// <https://www.w3.org/TR/trace-context/#traceparent-header>
pub(crate) fn next(traceparent: &str) -> Option<HeaderValue> {
    let mut parts = traceparent.split('-');
    let mut hex = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).then_some(part)
    };
    let (version, trace, parent, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    let is_none = |id: &str| id.bytes().all(|byte| byte == b'0');
    if version != "00" || is_none(trace) || is_none(parent) || parts.next().is_some() {
        return None;
    }
    let mut place = [0; 8];
    getrandom::fill(&mut place).ok()?;
    let place = u64::from_be_bytes(place).max(1);
    HeaderValue::try_from(format!("00-{trace}-{place:016x}-{flags}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_on_under_a_new_parent_and_nothing_else_is_one() {
        let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let passed = next(given).unwrap();
        let passed = passed.to_str().unwrap();
        assert!(passed.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && passed.ends_with("-01"), "{passed}");
        assert_ne!(passed, given);
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(next(wrong), None, "{wrong}");
        }
    }
}
