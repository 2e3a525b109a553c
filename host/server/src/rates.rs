//! How much one token may ask for: requests in a second, streams at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;

use crate::{Config, Problem};

/// Tokens that are kept in mind; those that rest are forgotten beyond that.
const KEPT: usize = 10_000;

/// What each token has used.
pub(crate) struct Rates {
    requests_per_second: f64,
    streams: usize,
    used: Arc<Mutex<HashMap<String, Used>>>,
}

struct Used {
    /// Requests that may be made at once.
    left: f64,
    at: Instant,
    streams: usize,
}

/// A stream that is open. Dropping it makes room for another.
pub(crate) struct Open {
    token: String,
    used: Arc<Mutex<HashMap<String, Used>>>,
}

impl Rates {
    pub fn new(config: &Config) -> Self {
        Self {
            requests_per_second: f64::from(config.requests_per_second),
            streams: config.streams,
            used: Arc::default(),
        }
    }

    /// Counts a request.
    pub fn request(&self, token: &str) -> Result<(), Problem> {
        self.request_at(token, Instant::now())
    }

    fn request_at(&self, token: &str, now: Instant) -> Result<(), Problem> {
        let most = self.requests_per_second;
        let mut all = lock(&self.used);
        if all.len() >= KEPT && !all.contains_key(token) {
            let rests = |used: &Used| used.streams == 0 && now.duration_since(used.at) > Duration::from_secs(1);
            all.retain(|_, used| !rests(used));
        }
        let used = all.entry(token.to_owned()).or_insert(Used { left: most, at: now, streams: 0 });
        used.left = (used.left + now.saturating_duration_since(used.at).as_secs_f64() * most).min(most);
        used.at = now;
        if used.left < 1.0 {
            let wait = Duration::from_secs_f64((1.0 - used.left) / most);
            let detail = format!("this token may make {most} requests in a second (limit `requests_per_second`)");
            return Err(limited(detail).retry_after(wait));
        }
        used.left -= 1.0;
        Ok(())
    }

    /// Counts a stream, or a long poll, while it is open.
    pub fn stream(&self, token: &str) -> Result<Open, Problem> {
        let mut all = lock(&self.used);
        let used = all.entry(token.to_owned()).or_insert(Used {
            left: self.requests_per_second,
            at: Instant::now(),
            streams: 0,
        });
        if used.streams >= self.streams {
            let detail = format!("this token may have {} streams and long polls open (limit `streams`)", self.streams);
            return Err(limited(detail).retry_after(Duration::from_secs(5)));
        }
        used.streams += 1;
        Ok(Open { token: token.to_owned(), used: self.used.clone() })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(used) = lock(&self.used).get_mut(&self.token) {
            used.streams -= 1;
        }
    }
}

fn limited(detail: String) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", "Too much at once", detail)
}

fn lock(used: &Mutex<HashMap<String, Used>>) -> MutexGuard<'_, HashMap<String, Used>> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(requests_per_second: u32, streams: usize) -> Rates {
        Rates::new(&Config { requests_per_second, streams, ..Config::default() })
    }

    #[test]
    fn a_token_has_its_requests_at_once_and_then_its_rate() {
        let rates = rates(10, 1);
        let start = Instant::now();
        for _ in 0..10 {
            rates.request_at("a", start).unwrap();
        }
        let refused = rates.request_at("a", start).unwrap_err();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(refused.detail().contains("10 requests"), "{refused:?}");
        rates.request_at("b", start).unwrap();
        let later = start + Duration::from_millis(110);
        rates.request_at("a", later).unwrap();
        rates.request_at("a", later).unwrap_err();
    }

    #[test]
    fn a_stream_that_ends_makes_room_for_another() {
        let rates = rates(10, 2);
        let one = rates.stream("a").unwrap();
        let _two = rates.stream("a").unwrap();
        assert!(rates.stream("a").is_err());
        rates.stream("b").unwrap();
        drop(one);
        rates.stream("a").unwrap();
    }
}
