//! The plugin `checklist`: its tool takes people through a runbook. See the README for the answers it takes.

mod markdown;
mod record;
mod runbook;
mod step;

use std::time::{Duration, SystemTime};

use longhaul_sdk::{Output, Question, Reply, Task, ToolError};

use record::{Outcome, Record, Status, StepRecord};
use runbook::{Runbook, Step};
use step::SignOff;

longhaul_sdk::plugin! {
    tools: [run_checklist],
}

/// Takes people through a runbook: each step is put to a person, who does it, skips it or aborts the whole, and fills
/// in the values that the step asks for. Returns the signed-off record: who, when, outcome, note and values of each
/// step. It may take days.
#[longhaul_sdk::tool(title = "Run a checklist", destructive = false, idempotent = false, pace = long)]
fn run_checklist(task: &Task, runbook: Runbook) -> Result<Output<Record>, ToolError> {
    runbook.check()?;
    let started = now();
    let total = runbook.steps.len();
    let mut steps = Vec::new();
    let mut aborted = false;
    for (index, step) in runbook.steps.iter().enumerate() {
        if aborted {
            steps.push(StepRecord::not_reached(&step.title));
            continue;
        }
        if let Some(seconds) = step.wait_seconds.filter(|&seconds| seconds > 0) {
            task.progress(format!("waiting {seconds} s before step {} of {total}: {}", index + 1, step.title))
                .done(index)
                .of(total);
            task.sleep(Duration::from_secs(seconds))?;
        }
        let record = sign_off(task, &runbook, index, step)?;
        aborted = record.outcome == Outcome::Aborted;
        task.progress(record.sentence()).done(index + 1).of(total);
        steps.push(record);
    }
    let record = Record {
        title: runbook.title,
        status: if aborted { Status::Aborted } else { Status::Completed },
        started_at: started,
        finished_at: now(),
        steps,
    };
    let markdown = markdown::record(&record);
    Ok(Output::new(record).markdown(markdown))
}

/// Puts a step to a person until it is settled: again only if a step is called done and a required value is missing.
fn sign_off(task: &Task, runbook: &Runbook, index: usize, step: &Step) -> Result<StepRecord, ToolError> {
    let prompt = format!("Step {} of {}: {}", index + 1, runbook.steps.len(), step.title);
    let mut missing = Vec::new();
    loop {
        let detail = step::detail(&runbook.title, step, &missing);
        let question = Question::with_schema(&prompt, step::schema(step)).detail(detail);
        match task.ask(question)? {
            Reply::Answered(answer) => match step::read(step, answer.value) {
                SignOff::Settled { outcome, note, values } => {
                    return Ok(StepRecord {
                        title: step.title.clone(),
                        outcome,
                        by: answer.by,
                        at: Some(now()),
                        note,
                        values,
                    });
                }
                SignOff::Missing(labels) => missing = labels,
            },
            // Who declines refuses to say that the step is done; nothing that depends on it may go on.
            Reply::Declined(reason) => {
                return Ok(StepRecord {
                    title: step.title.clone(),
                    outcome: Outcome::Aborted,
                    by: None,
                    at: Some(now()),
                    note: Some(reason.unwrap_or_else(|| "declined".into())),
                    values: serde_json::Map::new(),
                });
            }
            Reply::TimedOut => {
                return Err(ToolError::failed("a question without a timeout timed out"));
            }
        }
    }
}

/// In RFC 3339, to the second.
fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_manifest_is_sound() {
        let manifest = crate::Plugin::manifest();
        assert_eq!(manifest.name, "checklist");
        assert_eq!(manifest.tools[0].name, "run_checklist");
        assert_eq!(manifest.tools[0].input_schema["required"], serde_json::json!(["title", "steps"]));
    }
}
