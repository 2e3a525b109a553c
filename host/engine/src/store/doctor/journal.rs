//! Whether journals are whole, and whether what mirrors them agrees.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use serde_json::Value;

use super::{Examination, JOURNAL, MIRROR, rows};
use crate::egress;
use crate::journal::{EventKind, readable};
use crate::task::{OpenQuestion, Reply, TaskState};

/// A task's row, as far as its journal says the same.
struct Mirror {
    n: i64,
    id: String,
    state: String,
    waiting_on: Option<String>,
    due_at: Option<i64>,
    attempt: i64,
    attempt_seq: i64,
    segment: i64,
    segment_seq: i64,
    ticket: bool,
    cancel: bool,
    ended_at: Option<i64>,
    last_seq: i64,
    public_seq: i64,
    ended_seq: Option<i64>,
}

/// What a journal says.
#[derive(Default)]
struct Told {
    last_seq: i64,
    public_seq: i64,
    attempt: i64,
    attempt_seq: i64,
    segment: i64,
    segment_seq: i64,
    cancel: bool,
    ended: Option<(i64, TaskState)>,
    /// What was last of: `attempt`, `checkpoint`, `retry`, `ended`.
    turn: String,
    questions: BTreeMap<u32, OpenQuestion>,
    replies: BTreeMap<u32, Reply>,
    children: Vec<(u32, String)>,
}

pub(super) fn examine(sql: &Connection, found: &mut Examination) {
    // Of what was removed the journal may be half gone.
    let select = "SELECT n, id, state, waiting_on, due_at, attempt, attempt_seq, segment, segment_seq,
                         ticket IS NOT NULL, cancel, ended_at, last_seq, public_seq, ended_seq FROM task
                  WHERE removed = 0 OR ticket IS NOT NULL ORDER BY n";
    rows(sql, select, "tasks", found, |row, found| {
        let mirror = Mirror {
            n: row.get(0)?,
            id: row.get(1)?,
            state: row.get(2)?,
            waiting_on: row.get(3)?,
            due_at: row.get(4)?,
            attempt: row.get(5)?,
            attempt_seq: row.get(6)?,
            segment: row.get(7)?,
            segment_seq: row.get(8)?,
            ticket: row.get(9)?,
            cancel: row.get(10)?,
            ended_at: row.get(11)?,
            last_seq: row.get(12)?,
            public_seq: row.get(13)?,
            ended_seq: row.get(14)?,
        };
        found.tasks += 1;
        let told = read(sql, &mirror, found);
        compare(&mirror, &told, found);
        questions(sql, &mirror, &told, found);
        children(sql, &mirror, &told, found);
        Ok(())
    });
}

/// Reads a journal through, and tells what is wrong in itself.
fn read(sql: &Connection, task: &Mirror, found: &mut Examination) -> Told {
    let mut told = Told::default();
    let select = format!("SELECT seq, kind, data, call, hash, blob FROM entry WHERE task = {} ORDER BY seq", task.n);
    let at = |seq: i64| format!("task {}, entry {seq}", task.id);
    rows(sql, &select, &format!("the journal of task {}", task.id), found, |row, found| {
        let seq: i64 = row.get(0)?;
        found.entries += 1;
        let missing = told.last_seq + 1;
        if seq != missing {
            found.damage(format!("task {}", task.id), format!("entries {missing} to {} are missing", seq - 1), JOURNAL);
        }
        told.last_seq = seq;
        let (call, hash): (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
        if call.is_some() != hash.is_some() || call.is_some_and(|call| call < 1) {
            found.damage(at(seq), "it does not say at which call of the guest it was made", JOURNAL);
        }
        let kind: String = row.get(1)?;
        let blob: Option<Vec<u8>> = row.get(5)?;
        let Some(data) = row.get::<_, Option<String>>(2)? else {
            if kind != "records" || !readable(&blob.unwrap_or_default()) {
                found.damage(at(seq), "it is no block of records", JOURNAL);
            }
            return Ok(());
        };
        told.public_seq = seq;
        match serde_json::from_str::<EventKind>(&data) {
            Ok(event) if event.name() == kind => told.take(seq, event, blob.as_deref(), &at, found),
            Ok(event) => {
                let problem = format!("its kind is `{kind}` and what it holds is `{}`", event.name());
                found.damage(at(seq), problem, JOURNAL);
            }
            Err(error) => found.damage(at(seq), format!("it is no JSON of ours: {error}"), JOURNAL),
        }
        Ok(())
    });
    told
}

impl Told {
    fn take(
        &mut self,
        seq: i64,
        event: EventKind,
        blob: Option<&[u8]>,
        at: &dyn Fn(i64) -> String,
        found: &mut Examination,
    ) {
        const SEED_BYTES: usize = 32;
        if (seq == 1) != matches!(event, EventKind::Started { .. }) {
            found.damage(at(seq), format!("a journal begins with `started`, this is `{}`", event.name()), JOURNAL);
        }
        if matches!(event.name(), "attempt" | "checkpoint" | "retry" | "ended") {
            event.name().clone_into(&mut self.turn);
        }
        match event {
            EventKind::Attempt { attempt } => {
                if i64::from(attempt) != self.attempt + 1 {
                    found.damage(at(seq), format!("attempt {attempt} follows attempt {}", self.attempt), JOURNAL);
                }
                if blob.is_none_or(|seed| seed.len() != SEED_BYTES) {
                    found.damage(at(seq), "it has no seed: the attempt can't be replayed", JOURNAL);
                }
                (self.attempt, self.attempt_seq, self.segment_seq) = (attempt.into(), seq, seq);
            }
            EventKind::Checkpoint { segment, .. } => {
                if i64::from(segment) != self.segment + 1 {
                    found.damage(at(seq), format!("segment {segment} follows segment {}", self.segment), JOURNAL);
                }
                (self.segment, self.segment_seq) = (segment.into(), seq);
            }
            EventKind::CancelRequested => self.cancel = true,
            EventKind::Ended { state, .. } => {
                let before = self.ended.replace((seq, state));
                if before.is_some() {
                    found.damage(at(seq), "it is the second end", JOURNAL);
                }
            }
            EventKind::Question(question) => {
                let number = question.question;
                if self.questions.insert(number, question).is_some() {
                    found.damage(at(seq), format!("question {number} is asked twice"), JOURNAL);
                }
            }
            EventKind::Reply { question, reply } => {
                if self.replies.insert(question, reply).is_some() {
                    found.damage(at(seq), format!("question {question} is settled twice"), JOURNAL);
                }
                if !self.questions.contains_key(&question) {
                    found.damage(at(seq), format!("question {question} is settled, and was not asked"), JOURNAL);
                }
            }
            EventKind::Http { status, received, .. } => {
                let told = (status, received);
                let of = |outcome: Result<egress::Incoming, _>| match outcome {
                    Ok(response) => (Some(response.status.as_u16()), response.body.len() as u64),
                    Err(_) => (None, 0),
                };
                match blob.and_then(|blob| egress::read_kept(blob.to_vec())).map(of) {
                    None => found.damage(at(seq), "what came back is not there: it can't be replayed", JOURNAL),
                    Some(kept) if kept != told => {
                        found.damage(at(seq), "what came back is not what it tells of", JOURNAL);
                    }
                    Some(_) => {}
                }
            }
            EventKind::ChildStarted { handle, child, .. } => self.children.push((handle, child.0)),
            _ => {}
        }
    }
}

fn compare(task: &Mirror, told: &Told, found: &mut Examination) {
    let at = format!("task {}", task.id);
    let mut differs = |what: &str, row: &dyn std::fmt::Debug, journal: &dyn std::fmt::Debug| {
        found.damage(at.clone(), format!("its row says {what} {row:?}, its journal {journal:?}"), MIRROR);
    };
    let numbers = [
        ("last entry", task.last_seq, told.last_seq),
        ("last public entry", task.public_seq, told.public_seq),
        ("attempt", task.attempt, told.attempt),
        ("that the attempt began with entry", task.attempt_seq, told.attempt_seq),
        ("segment", task.segment, told.segment),
        ("that the segment began with entry", task.segment_seq, told.segment_seq),
        ("that it was asked to stop:", task.cancel.into(), told.cancel.into()),
    ];
    for (what, row, journal) in numbers.into_iter().filter(|(_, row, journal)| row != journal) {
        differs(what, &row, &journal);
    }
    let Ok(state) = task.state.parse::<TaskState>() else {
        return found.damage(at, format!("its state is `{}`", task.state), MIRROR);
    };
    let ended = told.ended.map(|(_, state)| state);
    if state.is_terminal().then_some(state) != ended {
        differs("state", &task.state, &ended.map_or("not ended", TaskState::as_str));
    }
    if task.ended_seq != told.ended.map(|(seq, _)| seq) {
        differs("that it ended with entry", &task.ended_seq, &told.ended.map(|(seq, _)| seq));
    }
    if task.ended_at.is_some() != state.is_terminal() {
        differs("that it ended at", &task.ended_at, &ended.map(TaskState::as_str));
    }
    match (state == TaskState::Waiting, task.waiting_on.as_deref()) {
        (false, None) => {}
        (false, Some(on)) => differs("that it waits for", &on, &"nothing"),
        (true, None) => differs("that it waits, for", &"nothing", &told.turn),
        (true, Some(on)) => {
            let fits = match on {
                "ticket" => told.turn == "checkpoint" && task.ticket,
                "retry" => told.turn == "retry",
                // Its guest stands somewhere in a segment.
                _ => matches!(told.turn.as_str(), "attempt" | "checkpoint"),
            };
            if !fits {
                differs("that it waits for", &on, &told.turn);
            }
            if task.due_at.is_none() {
                found.damage(at, "it waits, and nothing would wake it at its deadline", MIRROR);
            }
        }
    }
}

/// The questions' table against the journal.
fn questions(sql: &Connection, task: &Mirror, told: &Told, found: &mut Examination) {
    let mut seen = Vec::new();
    let at = |number: u32| format!("task {}, question {number}", task.id);
    let select = format!("SELECT question, body, reply FROM question WHERE task = {}", task.n);
    rows(sql, &select, &format!("the questions of task {}", task.id), found, |row, found| {
        let (number, body, reply): (u32, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        seen.push(number);
        let body = serde_json::from_str::<OpenQuestion>(&body).ok();
        match told.questions.get(&number) {
            None => found.damage(at(number), "its journal does not ask it", MIRROR),
            asked if asked != body.as_ref() => found.damage(at(number), "it is not what its journal asks", MIRROR),
            _ => {}
        }
        let settled = reply.as_deref().map(|reply| serde_json::from_str::<Reply>(reply).ok());
        match (settled, told.replies.get(&number)) {
            (None, None) if told.ended.is_some() => found.damage(at(number), "it is open, and the task ended", MIRROR),
            (None, None) => {}
            (Some(reply), journal) if reply.as_ref() == journal => {}
            (settled, journal) => {
                let settled = settled.map(|_| reply.as_deref().unwrap_or_default());
                let journal = journal.map(|reply| serde_json::to_value(reply).unwrap_or(Value::Null).to_string());
                let (row, journal) = (settled.unwrap_or("open"), journal.unwrap_or("open".into()));
                found.damage(at(number), format!("its row says {row}, its journal {journal}"), MIRROR);
            }
        }
        Ok(())
    });
    for number in told.questions.keys().filter(|number| !seen.contains(number)) {
        found.damage(at(*number), "its row is missing: nobody can answer it", MIRROR);
    }
}

/// A child that its parent's journal tells of is there.
fn children(sql: &Connection, task: &Mirror, told: &Told, found: &mut Examination) {
    for (handle, child) in &told.children {
        let there = sql
            .prepare_cached("SELECT 1 FROM task WHERE id = ?1 AND parent = ?2 AND child = ?3")
            .and_then(|mut select| select.exists(params![child, task.n, handle]));
        match there {
            Ok(true) => {}
            Ok(false) => found.damage(format!("task {}", task.id), format!("its child {child} is missing"), JOURNAL),
            Err(error) => found.damage(format!("task {}", task.id), error.to_string(), super::RESTORE),
        }
    }
}
