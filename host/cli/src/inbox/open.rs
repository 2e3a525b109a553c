//! The questions that are open, and the one that the person points at, which stays the same one when others come and go.

use console::{Key, measure_text_width, style, truncate_str};
use longhaul::{AskedQuestion, Timestamp};

use super::{audience, id_of};
use crate::prompt::list::List;
use crate::text::{count, line};
use crate::view::Frame;
use crate::{show, time};

/// In the order in which their time is up.
#[derive(Default)]
pub struct Open {
    questions: Vec<AskedQuestion>,
    /// Where the pointer is.
    at: usize,
}

/// Columns that a question keeps beside what is told about it.
const PROMPT: usize = 20;

impl Open {
    /// What is open by now.
    pub fn set(&mut self, questions: Vec<AskedQuestion>) {
        let pointed = self.chosen().map(id_of);
        self.questions = questions;
        let same = self.questions.iter().position(|asked| Some(id_of(asked)) == pointed);
        self.at = same.unwrap_or(self.at.min(self.questions.len().saturating_sub(1)));
    }

    /// Takes out those whose time is up.
    pub fn expire(&mut self, now: Timestamp) {
        let in_time = |asked: &AskedQuestion| asked.question.deadline.is_none_or(|deadline| deadline > now);
        if !self.questions.iter().all(in_time) {
            self.set(self.questions.iter().filter(|asked| in_time(asked)).cloned().collect());
        }
    }

    pub fn has(&self, asked: &AskedQuestion) -> bool {
        self.questions.iter().any(|open| id_of(open) == id_of(asked))
    }

    /// The question that the person points at.
    pub fn chosen(&self) -> Option<&AskedQuestion> {
        self.questions.get(self.at)
    }

    /// To the next one, behind one that is left open.
    pub fn pass(&mut self) {
        self.key(&Key::ArrowDown);
    }

    /// Takes a key that moves.
    pub fn key(&mut self, key: &Key) {
        let prompts = self.questions.iter().map(|asked| line(&asked.question.prompt));
        let mut list = List::one(prompts.collect(), Some(self.at));
        list.key(key);
        self.at = list.at().unwrap_or(0).min(self.questions.len().saturating_sub(1));
    }

    /// What to show in a terminal of that size.
    pub fn view(&self, (height, width): (usize, usize), now: Timestamp) -> Frame {
        // A column is left free, so that no row is broken by the terminal.
        let width = width.saturating_sub(1);
        let dim = |text: &str| style(text).dim().for_stderr().to_string();
        let mut rows = Vec::new();
        if self.questions.is_empty() {
            rows.push("no open questions".to_owned());
            rows.push(dim("waits for one · Esc to leave"));
        } else {
            rows.push(format!("{} open", count(self.questions.len(), "question")));
            let labels = self.questions.iter().map(|asked| label(asked, width, now)).collect();
            // The heading, the hint and the place in a long list need room too.
            rows.extend(List::one(labels, Some(self.at)).view(height.saturating_sub(4)));
            rows.push(dim("↑↓ or its first letter, Enter to open it, Esc to leave"));
        }
        let hidden = rows.len().saturating_sub(height.max(1));
        let rows = rows.iter().skip(hidden).map(|row| truncate_str(row, width, "…").into_owned()).collect();
        Frame { rows, cursor: 0 }
    }
}

/// The question, who asks, whom, and how much time there is; the question is cut before the others are.
fn label(asked: &AskedQuestion, width: usize, now: Timestamp) -> String {
    /// The pointer and what is around it.
    const POINTER: usize = 4;
    let mut about = vec![show::tool(&asked.plugin, &asked.tool)];
    about.extend(audience(asked).map(|whom| format!("asks {}", line(whom))));
    about.extend(asked.question.deadline.map(|deadline| time::relative(deadline, now)));
    let about = about.join(" · ");
    let room = width.saturating_sub(POINTER + 2 + measure_text_width(&about)).max(PROMPT);
    format!("{}  {about}", truncate_str(&line(&asked.question.prompt), room, "…"))
}
