//! The plugin `remote-job`: its tool submits a job to an HTTP service, looks after it by ticket and cancels it.

mod service;

use std::time::Duration;

use longhaul_sdk::{Execution, HttpError, Job, Output, Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use service::{Names, Status, at, resolve};

longhaul_sdk::plugin! {
    tools: [RemoteJob],
    needs: [http("*", why = "it speaks to the service that runs the jobs", required)],
}

/// A job for a service that takes it with a POST and says with GETs how far it is.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Where jobs are posted to.
    submit_url: String,
    /// The job, as the service wants it.
    job: Value,
    /// What the service's answers look like, if it is not `status`, `progress`, `result` and `error`.
    #[serde(default)]
    names: Names,
    /// Seconds between two looks. Without it they begin at one a second and become one in half a minute.
    poll_seconds: Option<u64>,
}

/// Where the job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Ticket {
    status_url: String,
    cancel_url: Option<String>,
    /// How far it was at the last look: a service that gets on is looked at soon again.
    progress: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Done {
    /// What the service gave as the result, or all of its last answer.
    result: Value,
    status_url: String,
}

struct RemoteJob;

/// Submits a job to an HTTP service and waits until it is done, for seconds or weeks: a build, a render, an export, a
/// training run. Tells of its progress, and cancels the job if the task is cancelled. The service answers a POST with where
/// the job's status is (the header `location`, or `statusUrl` in the body), and a GET there with a JSON object.
#[longhaul_sdk::job(name = "run_remote_job", title = "Run a remote job", idempotent = false)]
impl Job for RemoteJob {
    type Input = Input;
    type Output = Output<Done>;
    type Ticket = Ticket;

    fn start(task: &Task, input: Input) -> Result<Execution<Ticket, Output<Done>>, ToolError> {
        // The same for every attempt: the job is started once.
        let request = task.http().post(&input.submit_url).json(&input.job);
        let response = request.header("idempotency-key", task.idempotency_key()).send()?.success()?;
        let answer: Value = response.json().unwrap_or(Value::Null);
        let link = response.header("location").map(str::to_owned).or_else(|| at(&answer, &input.names.status_url));
        let Some(link) = link else {
            let why = "the service did not say where the job's status is: no header `location`, and no";
            return Err(ToolError::failed(format!("{why} `{}` in its answer", input.names.status_url)));
        };
        let status_url = resolve(&input.submit_url, &link);
        let cancel_url = at(&answer, &input.names.cancel_url).map(|link| resolve(&input.submit_url, &link));
        task.progress(format!("submitted; its status is at {status_url}"));
        Ok(pending(Ticket { status_url, cancel_url, progress: None }, &input))
    }

    fn check(task: &Task, mut ticket: Ticket) -> Result<Execution<Ticket, Output<Done>>, ToolError> {
        let input: Input = task.input()?;
        let response = task.http().get(&ticket.status_url).header("accept", "application/json").send()?.success()?;
        let answer: Value = response.json()?;
        match Status::of(&answer, &input.names) {
            Status::Done(result) => {
                task.progress("done");
                let done = Done { result, status_url: ticket.status_url };
                let text = serde_json::to_string_pretty(&done.result).unwrap_or_default();
                Ok(Execution::Done(Output::new(done).markdown(format!("The job is done:\n\n```json\n{text}\n```"))))
            }
            Status::Failed(why) => Err(ToolError::failed(format!("the job failed: {why}"))),
            Status::Running { said, progress } => {
                if progress != ticket.progress {
                    let report = task.progress(said);
                    match progress {
                        Some(part) => drop(report.done(part * 100.0).of(100)),
                        None => drop(report),
                    }
                }
                ticket.progress = progress;
                let wait = response.retry_after();
                let pending = pending(ticket, &input);
                Ok(wait.into_iter().fold(pending, Execution::after))
            }
        }
    }

    fn cancel(task: &Task, ticket: Ticket) -> Result<(), ToolError> {
        // What may pass becomes `unavailable`, and the host calls again.
        cancelled(task, &ticket).map_err(ToolError::from)
    }
}

fn cancelled(task: &Task, ticket: &Ticket) -> Result<(), HttpError> {
    let http = task.http();
    let request = match &ticket.cancel_url {
        Some(url) => http.post(url),
        None => http.delete(&ticket.status_url),
    };
    let response = request.send()?;
    match response.status() {
        // It is gone, or has come to its end: there is nothing left to cancel.
        404 | 409 | 410 => Ok(()),
        _ => response.success().map(drop),
    }
}

fn pending(ticket: Ticket, input: &Input) -> Execution<Ticket, Output<Done>> {
    let pending = Execution::pending(ticket);
    input.poll_seconds.into_iter().map(Duration::from_secs).fold(pending, Execution::after)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_manifest_is_sound() {
        let manifest = crate::Plugin::manifest();
        assert_eq!((manifest.name.as_str(), manifest.tools[0].name.as_str()), ("remote-job", "run_remote_job"));
    }
}
