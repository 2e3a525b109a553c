//! What must hold of the events of a task that was killed and taken up again.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

/// What was seen before the kill is still the beginning afterwards, entry by entry.
pub fn goes_on_from(before: &[Value], after: &[Value]) -> Result<()> {
    for (i, seen) in before.iter().enumerate() {
        let Some(now) = after.get(i) else {
            bail!("an event that was seen before the kill is gone: {seen}")
        };
        ensure!(
            seen == now,
            "an event changed over the kill: it was {seen}, and is {now}"
        );
    }
    Ok(())
}

/// Each `seq` is there once, in order.
pub fn in_order(events: &[Value]) -> Result<()> {
    for pair in events.windows(2) {
        let (one, next) = (pair[0]["seq"].as_u64(), pair[1]["seq"].as_u64());
        ensure!(
            one.is_some() && one < next,
            "the events are out of order: {} is followed by {}",
            pair[0],
            pair[1]
        );
    }
    Ok(())
}

/// Every question was put once, and answered once. Returns how many there were.
pub fn asked_once(events: &[Value]) -> Result<usize> {
    let of_kind = |kind: &'static str| events.iter().filter(move |event| event["kind"] == kind);
    let mut prompts = BTreeSet::new();
    for question in of_kind("question") {
        ensure!(
            prompts.insert(question["prompt"].to_string()),
            "this was asked twice: {}",
            question["prompt"]
        );
    }
    let mut answered = BTreeSet::new();
    for reply in of_kind("reply") {
        ensure!(
            reply["outcome"] == "answered",
            "a question was not answered: {reply}"
        );
        ensure!(
            answered.insert(reply["question"].to_string()),
            "a question was answered twice: {reply}"
        );
    }
    ensure!(
        prompts.len() == answered.len(),
        "{} questions got {} answers",
        prompts.len(),
        answered.len()
    );
    Ok(prompts.len())
}

/// The task was started once and tried once: being killed is nothing the tool hears of.
pub fn one_attempt(events: &[Value]) -> Result<()> {
    for kind in ["started", "attempt", "ended"] {
        let count = events.iter().filter(|event| event["kind"] == kind).count();
        ensure!(count == 1, "there are {count} events `{kind}`, not one");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn story() -> Vec<Value> {
        vec![
            json!({"seq": 1, "kind": "started"}),
            json!({"seq": 2, "kind": "attempt"}),
            json!({"seq": 4, "kind": "question", "question": 1, "prompt": "Go?"}),
            json!({"seq": 5, "kind": "reply", "question": 1, "outcome": "answered", "value": true}),
            json!({"seq": 9, "kind": "ended"}),
        ]
    }

    #[test]
    fn a_clean_story_passes() {
        let events = story();
        goes_on_from(&events[..3], &events).unwrap();
        in_order(&events).unwrap();
        one_attempt(&events).unwrap();
        assert_eq!(asked_once(&events).unwrap(), 1);
    }

    #[test]
    fn what_must_not_happen_is_noticed() {
        let events = story();
        let mut changed = events.clone();
        changed[2]["prompt"] = json!("Stop?");
        assert!(goes_on_from(&events, &changed).is_err());
        assert!(goes_on_from(&events, &events[..4]).is_err());

        let mut twice = events.clone();
        twice.push(json!({"seq": 10, "kind": "question", "question": 2, "prompt": "Go?"}));
        assert!(asked_once(&twice).is_err());
        assert!(asked_once(&events[..3]).is_err());

        let mut again = events.clone();
        again.push(json!({"seq": 9, "kind": "attempt"}));
        assert!(in_order(&again).is_err());
        assert!(one_attempt(&again).is_err());
    }
}
