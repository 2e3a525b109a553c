//! What must hold of the events of a task that was killed and taken up again.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

/// What was seen before the kill is still the beginning afterwards, entry by entry.
pub fn goes_on_from(before: &[Value], after: &[Value]) -> Result<()> {
    for (i, seen) in before.iter().enumerate() {
        let Some(now) = after.get(i) else { bail!("an event that was seen before the kill is gone: {seen}") };
        ensure!(seen == now, "an event changed over the kill: it was {seen}, and is {now}");
    }
    Ok(())
}

/// Each `seq` is there once, in order.
pub fn in_order(events: &[Value]) -> Result<()> {
    for pair in events.windows(2) {
        let (one, next) = (pair[0]["seq"].as_u64(), pair[1]["seq"].as_u64());
        ensure!(one.is_some() && one < next, "the events are out of order: {} is followed by {}", pair[0], pair[1]);
    }
    Ok(())
}

/// Every question was put once, and answered once. Returns how many there were.
pub fn asked_once(events: &[Value]) -> Result<usize> {
    let of_kind = |kind: &'static str| events.iter().filter(move |event| event["kind"] == kind);
    let mut prompts = BTreeSet::new();
    for question in of_kind("question") {
        ensure!(prompts.insert(question["prompt"].to_string()), "this was asked twice: {}", question["prompt"]);
    }
    let mut answered = BTreeSet::new();
    for reply in of_kind("reply") {
        ensure!(reply["outcome"] == "answered", "a question was not answered: {reply}");
        ensure!(answered.insert(reply["question"].to_string()), "a question was answered twice: {reply}");
    }
    ensure!(prompts.len() == answered.len(), "{} questions got {} answers", prompts.len(), answered.len());
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

/// Each step that was answered stands in the record as it was answered.
pub fn kept_the_answers(record: &Value, events: &[Value]) -> Result<()> {
    let replies = events.iter().filter(|event| event["kind"] == "reply").map(|event| &event["value"]);
    let steps = record["steps"].as_array().into_iter().flatten();
    for (step, answer) in steps.zip(replies) {
        let outcome = [("done", "done"), ("skip", "skipped"), ("abort", "aborted")];
        let expected = outcome.into_iter().find(|(given, _)| answer["outcome"] == *given).map(|(_, recorded)| recorded);
        ensure!(step["outcome"].as_str() == expected, "a step was answered with {answer}, and recorded as {step}");
        for (name, value) in step["values"].as_object().into_iter().flatten() {
            ensure!(answer[name] == *value, "a step was answered with {answer}, and recorded as {step}");
        }
    }
    Ok(())
}

/// No wait began anew: each was fixed once, and nothing of what follows came earlier.
pub fn waited_once(events: &[Value]) -> Result<()> {
    for (i, event) in events.iter().enumerate().filter(|(_, event)| event["kind"] == "sleep") {
        let Some(next) = events.get(i + 1) else { bail!("nothing follows the wait {event}") };
        ensure!(next["kind"] != "sleep", "a wait began anew: {event} is followed by {next}");
        // RFC 3339 in UTC and to the same digit: in order as text too.
        ensure!(next["at"].as_str() >= event["until"].as_str(), "a wait was cut short: {event} is followed by {next}");
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

        let short =
            [json!({"kind": "sleep", "until": "T10:00:04.000Z"}), json!({"kind": "question", "at": "T10:00:03.000Z"})];
        assert!(waited_once(&short).is_err());
        assert!(waited_once(&[&short[..1], &short[..1]].concat()).is_err());
        let record = json!({"steps": [{"outcome": "skipped", "values": {}}]});
        assert!(kept_the_answers(&record, &[json!({"kind": "reply", "value": {"outcome": "done"}})]).is_err());
    }
}
