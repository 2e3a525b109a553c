//! Hosts that are killed, frozen and stopped at random moments while they run many tasks. Nothing may be lost.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul::{Host, Reply, TaskFilter, TaskState};
use serde_json::{Value, json};

use crate::audit::{audit, database};
use crate::embedded::{fitting, with_probe};
use crate::worker::{HEARTBEAT, Worker};

/// Tasks that one process is asked to start.
const STARTS: u64 = 120;

/// After the last fault, everything has to come to its end in this time.
const PATIENCE: Duration = Duration::from_secs(90);

/// A run with random faults.
pub struct Soak {
    /// The same seed makes the same plan of faults.
    pub seed: u64,
    /// How long to make faults.
    pub time: Duration,
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Report {
    pub kills: usize,
    pub stops: usize,
    pub freezes: usize,
    pub tasks: usize,
    /// How many tasks ended how.
    pub states: BTreeMap<&'static str, usize>,
    /// What is not as in an undisturbed run.
    pub losses: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, stops, freezes, tasks, states, losses } = self;
        write!(f, "{kills} kills, {stops} stops, {freezes} freezes; {tasks} tasks, ended {states:?}; ")?;
        write!(f, "{} losses", losses.len())?;
        losses.iter().try_for_each(|loss| write!(f, "\n  {loss}"))
    }
}

/// Random numbers that come again with their seed: SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }
}

/// What was asked of the hosts.
struct Wanted {
    tool: &'static str,
    input: Value,
    /// Once a host has told that it took it.
    taken: Option<String>,
}

fn wanted(dice: &mut Dice) -> Wanted {
    let (tool, input) = match dice.below(8) {
        0 => ("noop", json!({ "n": dice.below(1_000) })),
        1 => ("steps", json!({ "steps": 4 + dice.below(12), "sleep_ms": 30 })),
        2 => ("steps", json!({ "steps": 9, "ask_every": 3, "sleep_ms": 10 })),
        3 => ("ask", json!({ "prompt": "Go on?", "schema": { "type": "boolean" } })),
        4 => ("job", json!({ "checks": 3, "after_ms": 40 + dice.below(200), "unavailable_at": 2 })),
        5 => ("sleepy", json!({ "ms": dice.below(1_500), "by": "thread" })),
        6 => ("hash_imports", json!({ "rounds": 1, "ask": true })),
        _ => ("spin", json!({ "rounds": 1_000_000 })),
    };
    Wanted { tool, input, taken: None }
}

impl Soak {
    /// Makes faults until the time is over, lets everything come to its end, and looks what is missing.
    pub fn run(&self) -> Report {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let dir = tempfile::tempdir().expect("a temporary directory");
        runtime.block_on(with_probe(dir.path()));
        let (mut report, mut dice, mut all) = (Report::default(), Dice(self.seed), BTreeMap::new());
        let begun = Instant::now();
        let mut frozen: Option<Worker> = None;
        while begun.elapsed() < self.time || report.kills < 4 {
            for _ in 0..dice.below(STARTS) {
                all.insert(format!("{}-{}", self.seed, all.len()), wanted(&mut dice));
            }
            let mut worker = Worker::new(dir.path());
            ask(&mut worker, &all);
            let pause = 1_000 + dice.below(2_000);
            runtime.block_on(answer(dir.path(), Duration::from_millis(pause)));
            // Whatever a third host in a row dies of is run no more, and these die of none of it. On a machine that has no time
            // for them, one may not have got further yet.
            while on_its_last_chance(dir.path()) > 0 {
                runtime.block_on(answer(dir.path(), HEARTBEAT));
            }
            // Thawed now, in the middle of what another has gone on with.
            if let Some(thawed) = frozen.take() {
                thawed.signal("CONT");
                runtime.block_on(answer(dir.path(), HEARTBEAT));
                thawed.signal("KILL");
                told(thawed, &mut all);
                report.kills += 1;
            }
            match dice.below(6) {
                0 => {
                    report.stops += 1;
                    worker.signal("TERM");
                    told(worker, &mut all);
                }
                1 => {
                    report.freezes += 1;
                    worker.freeze(dir.path());
                    frozen = Some(worker);
                }
                _ => {
                    report.kills += 1;
                    worker.signal("KILL");
                    told(worker, &mut all);
                }
            }
        }
        drop(frozen);
        let mut last = Worker::new(dir.path());
        ask(&mut last, &all);
        report.tasks = all.len();
        let since = Instant::now();
        while live(dir.path()) + missing(&all, dir.path()) > 0 && since.elapsed() < PATIENCE {
            runtime.block_on(answer(dir.path(), Duration::from_millis(500)));
        }
        last.signal("TERM");
        told(last, &mut all);
        report.check(dir.path(), &all);
        report
    }
}

/// Asks for everything of which nobody has told that it is taken. Its key keeps it from being started twice.
fn ask(worker: &mut Worker, all: &BTreeMap<String, Wanted>) {
    for (key, wanted) in all.iter().filter(|(_, wanted)| wanted.taken.is_none()) {
        worker.ask(key, wanted.tool, &wanted.input);
    }
}

/// Takes in what a worker told before its end.
fn told(mut worker: Worker, all: &mut BTreeMap<String, Wanted>) {
    while let Some(told) = worker.hear() {
        if let (Some(key), Some(id)) = (told["key"].as_str(), told["id"].as_str())
            && let Some(wanted) = all.get_mut(key)
        {
            wanted.taken = Some(id.to_owned());
        }
    }
    worker.end();
}

fn live(data: &Path) -> usize {
    crate::audit::number(data, "SELECT count(*) FROM task WHERE ended_at IS NULL") as usize
}

fn on_its_last_chance(data: &Path) -> usize {
    crate::audit::number(data, "SELECT count(*) FROM task WHERE deaths >= 2 AND ended_at IS NULL") as usize
}

fn missing(all: &BTreeMap<String, Wanted>, data: &Path) -> usize {
    all.len().saturating_sub(crate::audit::number(data, "SELECT count(*) FROM task") as usize)
}

/// Answers what is asked, as people would who do not care which process is there, for a while.
async fn answer(data: &Path, time: Duration) {
    let until = Instant::now() + time;
    let host = Host::builder().data_dir(data).heartbeat(HEARTBEAT).take_over(false).open().await.expect("it opens");
    while Instant::now() < until {
        let filter = TaskFilter { state: Some(TaskState::Waiting), limit: 1_000, ..TaskFilter::default() };
        for task in host.tasks(filter).await.expect("tasks are listed") {
            for question in &task.questions {
                let reply = Reply::Answered { value: fitting(&question.answer), by: None };
                // The tool may have gone on meanwhile.
                let _ = host.answer(&task.id, question.question, reply).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    host.shutdown().await;
}

impl Report {
    fn check(&mut self, data: &Path, all: &BTreeMap<String, Wanted>) {
        self.losses = audit(data);
        let sql = database(data);
        let mut select = sql
            .prepare("SELECT id, state, (SELECT data FROM entry WHERE task = n AND seq = ended_seq) FROM task WHERE idem_key = ?1")
            .expect("the tables are there");
        for (key, wanted) in all {
            let found = select.query_row([key], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
            });
            let Ok((id, state, end)) = found else {
                self.losses.push(format!("{key} {}: it is gone, and was taken as {:?}", wanted.tool, wanted.taken));
                continue;
            };
            if wanted.taken.as_ref().is_some_and(|taken| *taken != id) {
                self.losses
                    .push(format!("{key} {}: it was started twice, as {:?} and {id}", wanted.tool, wanted.taken));
            }
            let state: TaskState = state.parse().expect("a state");
            *self.states.entry(state.as_str()).or_default() += 1;
            let end: Value = end.and_then(|end| serde_json::from_str(&end).ok()).unwrap_or_default();
            if state != TaskState::Completed {
                self.losses.push(format!("{key} {}: {state}: {}", wanted.tool, end["error"]));
            } else if wanted.tool == "noop" && end["output"]["structured"] != wanted.input {
                self.losses.push(format!("{key} noop: {} came back for {}", end["output"], wanted.input));
            }
        }
        let steps = "SELECT id FROM task WHERE tool = 'steps' AND state = 'completed' AND
            (SELECT count(*) FROM entry WHERE task = n AND kind = 'progress') <> input ->> 'steps'";
        let mut select = sql.prepare(steps).expect("the tables are there");
        let short = select.query_map([], |row| row.get::<_, String>(0)).expect("it can be asked");
        self.losses.extend(short.flatten().map(|id| format!("{id} steps: a step is missing or doubled")));
    }
}
