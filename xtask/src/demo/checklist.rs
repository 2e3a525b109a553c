//! `run_checklist`: a person is asked, the process is killed, and another one goes on without asking again.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::longhaul::{Running, Told};
use super::{Stage, checks, sample};
use crate::timing::Timings;

/// How long a person may take for the first question of the demo.
const PATIENCE: Duration = Duration::from_secs(600);

pub fn run(stage: &Stage, timings: &mut Timings) -> Result<()> {
    let before = timings.time("run_checklist: until the kill -9", || until_the_kill(stage))?;
    let id = before.task_id()?;
    let answered = before.of_kind("reply").count();
    println!(
        "killed with {} events seen, {answered} question(s) answered, a timed step under way; nobody runs it now:",
        before.events.len()
    );
    let task = nobody_runs(stage, &id)?;
    println!("  task {id}: {}, stalled: {}", task["state"], task["stalled"]);

    let after = timings.time("run_checklist: taken up again, to the end", || to_the_end(stage, &id))?;
    if !stage.live {
        println!("{}", after.text("text/markdown")?);
    }

    checks::goes_on_from(&before.events, &after.events)?;
    checks::in_order(&after.events)?;
    checks::one_attempt(&after.events)?;
    checks::waited_once(&after.events)?;
    let record = &after.task["output"]["structured"];
    ensure!(stage.live || record["status"] == "completed", "the checklist was not completed: {record}");
    checks::kept_the_answers(record, &after.events)?;
    let questions = checks::asked_once(&after.events)?;
    ensure!(questions > answered, "no question was left for after the kill");
    println!(
        "{} events in one order, the {} from before the kill unchanged; {questions} questions, each asked and answered once",
        after.events.len(),
        before.events.len()
    );
    Ok(())
}

/// Runs until the first question is answered and a timed step waits, then kills the process.
fn until_the_kill(stage: &Stage) -> Result<Told> {
    let plugin = stage.plugin("checklist")?.display().to_string();
    let input = format!("@{}", sample("runbook.json").display());
    let args = ["run", &plugin, "run_checklist", "--input", &input];
    if stage.live {
        return live_until_the_kill(stage, &args);
    }
    let first = answers()?.into_iter().next().context("the demo's answers are empty")?;
    let running = stage.longhaul.start(args.into_iter().chain(["--answer", &first]))?;
    kill_in_timed_step(running)
}

/// Reads along until a question was answered and a step waits.
fn kill_in_timed_step(mut running: Running) -> Result<Told> {
    let mut answered = false;
    while let Some(line) = running.next()? {
        answered |= line["kind"] == "reply";
        if answered && line["kind"] == "sleep" {
            return running.kill();
        }
    }
    let (told, status) = running.end()?;
    bail!("the checklist ended ({status}) before its timed step; the last it said is {}", told.last())
}

/// The process has the terminal, so another one looks how far it is.
fn live_until_the_kill(stage: &Stage, args: &[&str]) -> Result<Told> {
    println!("(answer the first question; the process is then killed while the next step waits)");
    let mut child = stage.longhaul.live(args)?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().context("cannot wait for longhaul")? {
            bail!("the checklist ended ({status}) before its timed step");
        }
        thread::sleep(Duration::from_millis(100));
        let Some(task) = checklist_task(stage)? else {
            continue;
        };
        if task["waiting"]["on"] == "timer" {
            // It only looks on, since the other runs the task, and so is out of the way first.
            let id = task["id"].as_str().context("a task has no id")?;
            let told = kill_in_timed_step(stage.longhaul.start(["tasks", "watch", id])?)?;
            child.kill().context("cannot kill longhaul")?;
            child.wait().context("cannot wait for longhaul")?;
            // The process may have hidden the cursor for its bar.
            println!("\x1b[?25h\n");
            return Ok(told);
        }
    }
    // Ours, and of no more use.
    let _ = child.kill();
    bail!("nobody answered the first question within {} minutes", PATIENCE.as_secs() / 60)
}

/// Takes the task up again. The events are all of its life.
fn to_the_end(stage: &Stage, id: &str) -> Result<Told> {
    if !stage.live {
        let answers = answers()?;
        let mut args = vec!["tasks", "watch", id];
        for answer in answers.iter().skip(1) {
            args.extend(["--answer", answer]);
        }
        return stage.longhaul.told(args);
    }
    let status = stage.longhaul.live(["tasks", "watch", id])?.wait().context("cannot wait for longhaul")?;
    ensure!(status.success(), "the checklist did not complete: {status}");
    stage.longhaul.told(["tasks", "watch", id])
}

/// The answers that are given where nobody is there to be asked, each as JSON text.
fn answers() -> Result<Vec<String>> {
    let path = sample("answers.json");
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let answers: Vec<Value> =
        serde_json::from_slice(&text).with_context(|| format!("{} is no list", path.display()))?;
    Ok(answers.iter().map(Value::to_string).collect())
}

fn checklist_task(stage: &Stage) -> Result<Option<Value>> {
    // Right after the start there may be nothing to list yet.
    let tasks = stage.longhaul.lines(["tasks", "ls"]).unwrap_or_default();
    Ok(tasks.into_iter().find(|task| task["tool"] == "run_checklist"))
}

/// The task, once it is shown as one that nobody runs: at the latest when its wait is over.
fn nobody_runs(stage: &Stage, id: &str) -> Result<Value> {
    let start = Instant::now();
    loop {
        let lines = stage.longhaul.lines(["tasks", "show", id])?;
        let task = lines
            .into_iter()
            .rfind(|line| line["type"] == "task")
            .with_context(|| format!("task {id} is not shown"))?;
        if task["stalled"] == true {
            return Ok(task);
        }
        ensure!(
            start.elapsed() < Duration::from_secs(15),
            "a task whose process was killed is not shown as stalled: {task}"
        );
        thread::sleep(Duration::from_millis(200));
    }
}

impl Told {
    fn task_id(&self) -> Result<String> {
        let id = self.events.first().and_then(|event| event["task"].as_str());
        id.map(str::to_owned).context("no event names its task")
    }
}
