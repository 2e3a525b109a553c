//! How long a client may take over the body of its request. A response may take as long as it likes: long polls and streams
//! are none of this.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use futures_util::stream::try_unfold;
use http::StatusCode;
use tokio::time::{Instant, timeout_at};

use crate::Problem;
use crate::server::Shared;

/// Bytes that a body must bring in a second, on average: few enough for any line, too many for whoever just wants to sit there.
const RATE: u64 = 4 << 10;

/// Answers with 408 where the body of a request comes too slowly.
pub(crate) async fn watch(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (patience, late) = (shared.config.body, Arc::new(AtomicBool::new(false)));
    let response = next.run(request.map(|body| paced(body, patience, late.clone()))).await;
    // Whatever was made of half a body.
    if late.load(Ordering::Relaxed) { too_slow(patience).into_response() } else { response }
}

/// The body, until nothing came of it for too long, or too little in all.
fn paced(body: Body, patience: Duration, late: Arc<AtomicBool>) -> Body {
    let begun = Instant::now();
    Body::from_stream(try_unfold((body.into_data_stream(), 0_u64), move |(mut chunks, mut bytes)| {
        let late = late.clone();
        async move {
            match timeout_at(until(begun, Instant::now(), bytes, patience), chunks.next()).await {
                Ok(Some(Ok(chunk))) => {
                    bytes += chunk.len() as u64;
                    Ok(Some((chunk, (chunks, bytes))))
                }
                Ok(Some(Err(error))) => Err(error),
                Ok(None) => Ok(None),
                Err(elapsed) => {
                    late.store(true, Ordering::Relaxed);
                    Err(axum::Error::new(elapsed))
                }
            }
        }
    }))
}

/// When the next chunk must be there.
fn until(begun: Instant, now: Instant, bytes: u64, patience: Duration) -> Instant {
    (now + patience).min(begun + patience + Duration::from_secs(bytes / RATE))
}

fn too_slow(patience: Duration) -> Problem {
    let detail = format!(
        "the body came too slowly: nothing for {0} s, or less than {RATE} bytes a second after the first {0} s (limit \
         `body_seconds` in [server])",
        patience.as_secs()
    );
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "The request came too slowly", detail).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// How many chunks of that size come in time, if one is sent each `every`.
    fn in_time(chunk: u64, every: Duration) -> u64 {
        let begun = Instant::now();
        let sent = |n: u64| begun + every * u32::try_from(n).unwrap();
        (0..4_000).find(|n| until(begun, sent(*n), n * chunk, PATIENCE) < sent(n + 1)).unwrap_or(4_000)
    }

    #[test]
    fn a_body_may_be_slow_but_not_stand_still_or_trickle() {
        let second = Duration::from_secs(1);
        assert_eq!(in_time(RATE, second), 4_000, "an hour at the slowest rate");
        assert_eq!(in_time(RATE * 9, 9 * second), 4_000, "in steps");
        assert_eq!(in_time(RATE / 2, second), 19, "half of that rate: as long again as its patience");
        assert_eq!(in_time(1, 9 * second), 1, "a byte now and then");
        assert_eq!(in_time(RATE * 1_000, 11 * second), 0, "nothing for long");
    }
}
