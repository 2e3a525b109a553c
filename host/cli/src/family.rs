//! The tasks that a followed task started: what they are called, and whether anything happens in them.

use std::collections::BTreeMap;
use std::time::Duration;

use console::style;
use longhaul::{EventKind, Host, OpenQuestion, Task, TaskId, Waiting, WaitingOn};

use crate::exit::Problem;
use crate::text::line;

/// A question, among those of a task and of everything below it: whose it is, none for the task's own, and its number.
pub type QuestionId = (Option<TaskId>, u32);

/// Which question it is.
pub fn id_of(question: &OpenQuestion) -> QuestionId {
    (question.task.clone(), question.question)
}

/// What the tasks below one are called: `profile_csv #2`, the tool and the handle.
#[derive(Default)]
pub struct Names(BTreeMap<TaskId, String>);

impl Names {
    /// What is known of a task's own children.
    pub fn of(task: &Task) -> Self {
        let mut names = Self::default();
        for child in &task.children {
            names.0.insert(child.task.clone(), named(&child.tool, child.handle));
        }
        names
    }

    /// Takes note of a child that is started: by a child of that id, or by the task itself.
    pub fn learn(&mut self, by: Option<&TaskId>, event: &EventKind) {
        if let EventKind::ChildStarted { handle, child, tool, .. } = event {
            let own = named(tool, *handle);
            let name = by.map_or_else(|| own.clone(), |by| format!("{} › {own}", self.get(by)));
            self.0.insert(child.clone(), name);
        }
    }

    /// What a task is called.
    pub fn get(&self, task: &TaskId) -> String {
        self.0.get(task).cloned().unwrap_or_else(|| task.to_string())
    }
}

/// Of a name, the part behind its parent's.
pub fn last(name: &str) -> &str {
    name.rsplit(" › ").next().unwrap_or(name)
}

fn named(tool: &str, handle: u32) -> String {
    format!("{} #{handle}", line(tool))
}

/// What a child did, told under its parent: set off, with its name.
pub fn indented(name: &str, told: &str) -> String {
    let name = style(name).cyan().for_stderr();
    format!("  {name} {}", told.trim_start().replace('\n', "\n    "))
}

/// Whether a task, with all below it, goes on only when somebody answers.
pub async fn waits_for_people(host: &Host, task: Task) -> Result<bool, Problem> {
    let mut asks = false;
    let mut left = vec![task];
    while let Some(task) = left.pop() {
        let own: Vec<_> = task.questions.iter().filter(|question| question.task.is_none()).cloned().collect();
        match &task.waiting {
            _ if task.state.is_terminal() => continue,
            Some(Waiting { on: WaitingOn::Child, until: None }) => {}
            waiting if only_for_people(waiting.as_ref(), &own) => asks = true,
            _ => return Ok(false),
        }
        for child in task.children.iter().filter(|child| !child.state.is_terminal()) {
            left.push(host.task(&child.task).await?);
        }
    }
    Ok(asks)
}

/// Whether a task goes on only when somebody answers: that a question's time runs out does not count as going on.
fn only_for_people(waiting: Option<&Waiting>, open: &[OpenQuestion]) -> bool {
    let Some(waiting) = waiting.filter(|waiting| waiting.on == WaitingOn::Human && !open.is_empty()) else {
        return false;
    };
    match (waiting.until, open.iter().filter_map(|question| question.deadline).min()) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(until), Some(deadline)) => until >= deadline,
    }
}

/// Waits until everything below a task that has ended has ended too: it was asked to stop, and this process may be the one
/// that runs it. Not for longer than `most`.
pub async fn settled(host: &Host, task: &Task, most: Duration) -> Result<(), Problem> {
    let all = async {
        let mut left: Vec<_> = task.children.iter().map(|child| child.task.clone()).collect();
        while let Some(child) = left.pop() {
            let child = host.wait(&child).await?;
            left.extend(child.children.into_iter().map(|child| child.task));
        }
        Ok(())
    };
    tokio::time::timeout(most, all).await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use longhaul::Timestamp;
    use serde_json::Value;

    use super::*;

    fn waits(on: WaitingOn, until: Option<u64>, deadlines: &[Option<u64>]) -> bool {
        let at = Timestamp::from_millis;
        let waiting = Waiting { on, until: until.map(at) };
        let open = deadlines.iter().map(|deadline| OpenQuestion {
            question: 1,
            task: None,
            prompt: String::new(),
            detail: None,
            answer: Value::Null,
            deadline: deadline.map(at),
            options: None,
        });
        only_for_people(Some(&waiting), &open.collect::<Vec<_>>())
    }

    #[test]
    fn a_task_waits_for_people_only_when_nothing_but_their_deadline_wakes_it() {
        assert!(waits(WaitingOn::Human, None, &[None]));
        assert!(waits(WaitingOn::Human, Some(9), &[None, Some(9)]));
        // The tool looks again before, whoever answers.
        assert!(!waits(WaitingOn::Human, Some(5), &[Some(9)]));
        assert!(!waits(WaitingOn::Human, Some(5), &[None]));
        assert!(!waits(WaitingOn::Timer, None, &[None]));
        assert!(!waits(WaitingOn::Human, None, &[]));
        assert!(!only_for_people(None, &[]));
    }

    #[test]
    fn a_childs_lines_are_set_off_and_named() {
        let told = console::strip_ansi_codes(&indented("profile #2", "  50% half\nmore")).into_owned();
        assert_eq!(told, "  profile #2 50% half\n    more");
    }
}
