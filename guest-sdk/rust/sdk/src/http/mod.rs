//! HTTP: requests that leave the sandbox, as far as the operator allows.

mod error;
mod request;
mod response;

use crate::task::Task;

pub use error::{HttpError, HttpErrorKind};
pub use request::{PendingResponse, Request};
pub use response::Response;

/// Requests that are under way at once, of those that are sent together. A task may have 16.
const AT_ONCE: usize = 8;

/// Sends HTTP requests. From [`Task::http`].
#[derive(Debug)]
pub struct Http(());

impl Task {
    /// HTTP requests, to hosts that the plugin [needs](crate::plugin) and the operator grants.
    ///
    /// A request leaves the host once everything is on disk that the tool did before. Its response is recorded when the tool
    /// sees it: after a crash the tool is given the same response again, and nothing is sent. A request whose response was
    /// not recorded is sent again, with the same `Idempotency-Key` if it may change something; the host adds that header
    /// unless the tool does.
    ///
    /// ```no_run
    /// use longhaul_sdk::{Task, ToolError};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Weather { celsius: f64 }
    ///
    /// fn look(task: &Task, city: &str) -> Result<f64, ToolError> {
    ///     let url = format!("https://weather.example/v1/{city}");
    ///     let weather: Weather = task.http().get(url).header("accept", "application/json").send()?.success()?.json()?;
    ///     Ok(weather.celsius)
    /// }
    /// ```
    pub fn http(&self) -> Http {
        Http(())
    }
}

impl Http {
    /// A `GET` request.
    pub fn get(&self, url: impl Into<String>) -> Request {
        Request::new("GET", url)
    }

    /// A `HEAD` request.
    pub fn head(&self, url: impl Into<String>) -> Request {
        Request::new("HEAD", url)
    }

    /// A `POST` request.
    pub fn post(&self, url: impl Into<String>) -> Request {
        Request::new("POST", url)
    }

    /// A `PUT` request.
    pub fn put(&self, url: impl Into<String>) -> Request {
        Request::new("PUT", url)
    }

    /// A `PATCH` request.
    pub fn patch(&self, url: impl Into<String>) -> Request {
        Request::new("PATCH", url)
    }

    /// A `DELETE` request.
    pub fn delete(&self, url: impl Into<String>) -> Request {
        Request::new("DELETE", url)
    }

    /// A request with any method.
    pub fn request(&self, method: &str, url: impl Into<String>) -> Request {
        Request::new(method, url)
    }

    /// Sends several requests, eight at once, and gives what became of each, in their order.
    ///
    /// ```no_run
    /// # use longhaul_sdk::Task;
    /// fn are_up(task: &Task, sites: &[String]) -> Vec<bool> {
    ///     let http = task.http();
    ///     let responses = http.send_all(sites.iter().map(|site| http.head(site)));
    ///     responses.into_iter().map(|response| response.is_ok_and(|response| response.is_success())).collect()
    /// }
    /// ```
    pub fn send_all(&self, requests: impl IntoIterator<Item = Request>) -> Vec<Result<Response, HttpError>> {
        let mut requests = requests.into_iter();
        let mut under_way: std::collections::VecDeque<_> =
            requests.by_ref().take(AT_ONCE).map(Request::begin).collect();
        let mut responses = Vec::new();
        while let Some(oldest) = under_way.pop_front() {
            responses.push(oldest.and_then(PendingResponse::wait));
            under_way.extend(requests.next().map(Request::begin));
        }
        responses
    }
}
