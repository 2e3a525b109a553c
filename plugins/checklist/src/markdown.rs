//! The record to read and to file.

use markdown_table::{Align, Table, escape};
use serde_json::Value;

use crate::record::{Record, Status, StepRecord};

pub fn record(record: &Record) -> String {
    let status = match record.status {
        Status::Completed => "Completed",
        Status::Aborted => "**Aborted**",
    };
    let mut text = format!(
        "# {}\n\n{status}. Started {}, ended {}.\n\n",
        escape(&record.title),
        record.started_at,
        record.finished_at
    );
    let mut table = Table::new([
        ("#", Align::Right),
        ("Step", Align::Left),
        ("Outcome", Align::Left),
        ("By", Align::Left),
        ("When", Align::Left),
        ("Values", Align::Left),
        ("Note", Align::Left),
    ]);
    for (index, step) in record.steps.iter().enumerate() {
        table.row(cells(index + 1, step));
    }
    text += &table.to_string();
    text
}

fn cells(number: usize, step: &StepRecord) -> [String; 7] {
    let values: Vec<String> = step.values.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect();
    [
        number.to_string(),
        step.title.clone(),
        step.outcome.word().to_owned(),
        step.by.clone().unwrap_or_default(),
        step.at.clone().unwrap_or_default(),
        values.join("; "),
        step.note.clone().unwrap_or_default(),
    ]
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::Outcome;

    #[test]
    fn a_record_reads_as_a_table() {
        let Value::Object(values) = json!({ "pressure": 3.2, "leaks": false, "pump": "A|B" }) else { unreachable!() };
        let done = StepRecord {
            title: "Read the gauge".into(),
            outcome: Outcome::Done,
            by: Some("Ada".into()),
            at: Some("2026-11-29T14:00:00Z".into()),
            note: Some("two\nlines".into()),
            values,
        };
        let text = record(&Record {
            title: "Pump 7".into(),
            status: Status::Aborted,
            started_at: "2026-11-29T13:00:00Z".into(),
            finished_at: "2026-11-29T14:00:00Z".into(),
            steps: vec![done, StepRecord::not_reached("Close the valve")],
        });
        assert_eq!(
            text,
            "\
# Pump 7

**Aborted**. Started 2026-11-29T13:00:00Z, ended 2026-11-29T14:00:00Z.

| # | Step            | Outcome     | By  | When                 | Values                               | Note      |
|--:|-----------------|-------------|-----|----------------------|--------------------------------------|-----------|
| 1 | Read the gauge  | done        | Ada | 2026-11-29T14:00:00Z | pressure: 3.2; leaks: no; pump: A\\|B | two lines |
| 2 | Close the valve | not reached |     |                      |                                      |           |
"
        );
    }
}
