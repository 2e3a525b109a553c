//! A moment, as the journal keeps it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Milliseconds since 1970-01-01T00:00:00Z. In JSON it is RFC 3339 text in UTC.
///
/// ```
/// use longhaul::Timestamp;
/// let at = Timestamp::from_millis(1_000);
/// assert_eq!(at.to_string(), "1970-01-01T00:00:01.000Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(u64);

/// The last moment that RFC 3339 can write: the end of the year 9999.
const LAST: u64 = 253_402_300_799_999;

impl Timestamp {
    /// From milliseconds since the epoch; times past the year 9999 become its last millisecond.
    pub const fn from_millis(millis: u64) -> Self {
        Self(if millis > LAST { LAST } else { millis })
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// A moment that much later.
    pub fn after(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// How long from `earlier` to this; zero if it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = std::time::UNIX_EPOCH + Duration::from_millis(self.0);
        write!(f, "{}", humantime::format_rfc3339_millis(time))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text).map_err(D::Error::custom)?;
        let since = time.duration_since(std::time::UNIX_EPOCH).map_err(D::Error::custom)?;
        Ok(Self::from_millis(u64::try_from(since.as_millis()).map_err(D::Error::custom)?))
    }
}
