//! What fuzzing feeds, where the public interface has no way in. A panic is a finding.

use std::sync::LazyLock;

use tokio::runtime::Runtime;

use crate::egress::HttpRule;
use crate::plugin::Library;
use crate::{HostLimits, Limits, journal};

/// A block of records as it lies in a journal.
pub fn journal(block: &[u8]) {
    assert!(journal::stands(block), "packed again it is another");
}

/// A rule for HTTP: what is accepted is accepted as it is shown, and is the same rule.
pub fn rule(text: &str) {
    if let Ok(rule) = HttpRule::parse(text) {
        let shown = rule.to_string();
        let again = HttpRule::parse(&shown);
        assert!(again.as_ref() == Ok(&rule), "`{text}` is shown as `{shown}`: {again:?}");
    }
}

/// A file that is to be installed: checked, compiled, and asked what it is.
pub fn component(file: &[u8]) {
    static HOST: LazyLock<Option<(Runtime, Library)>> = LazyLock::new(|| {
        let runtime = Runtime::new().ok()?;
        let limits = Limits::default();
        // A thousandth of the fuel, so that the many that compute for ever do not take all the time there is.
        let host = HostLimits { describe_fuel: 1_000_000, ..HostLimits::default() };
        Some((runtime, Library::new(limits, &limits, host, None).ok()?))
    });
    if let Some((runtime, library)) = &*HOST {
        let _ = library.examine(file, runtime.handle());
    }
}
