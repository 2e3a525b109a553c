//! Taking the answers that a client gives.

use std::collections::{BTreeMap, BTreeSet};

use longhaul::{Error, Host, OpenQuestion, Reply, Task};
use rmcp::model::InputResponses;

use super::question::{self, Said};

/// What was not an answer among what a client said.
#[derive(Default)]
pub struct Rest {
    /// What is wrong with an answer, by its question's key.
    pub problems: BTreeMap<String, String>,
    /// Questions that were put aside.
    pub dismissed: BTreeSet<String>,
}

/// Takes what answers an open question. Answers to others are late, or to nothing, and are not looked at.
pub async fn take(host: &Host, task: &Task, responses: &InputResponses, by: Option<&str>) -> Result<Rest, Error> {
    let mut rest = Rest::default();
    for question in &task.questions {
        let key = question::key(question);
        let Some(response) = responses.get(&key) else { continue };
        let problem = match question::said(question, response, by) {
            Ok(Said::Reply(reply)) => settle(host, task, question, reply).await?,
            Ok(Said::Dismissed) => {
                rest.dismissed.insert(key);
                continue;
            }
            Err(problem) => Some(problem),
        };
        if let Some(problem) = problem {
            rest.problems.insert(key, problem);
        }
    }
    Ok(rest)
}

/// Settles a question of a task or of its children, or says what is wrong with the answer. Somebody may have been first.
pub async fn settle(host: &Host, task: &Task, question: &OpenQuestion, reply: Reply) -> Result<Option<String>, Error> {
    let asker = question.task.as_ref().unwrap_or(&task.id);
    match host.answer(asker, question.question, reply).await {
        Ok(()) | Err(Error::AlreadySettled { .. } | Error::UnknownQuestion { .. }) => Ok(None),
        Err(Error::Answer { problem, .. }) => Ok(Some(problem)),
        Err(error) => Err(error),
    }
}
