//! The record to read and to file.

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
    text += "| # | Step | Outcome | By | When | Values | Note |\n|--:|--|--|--|--|--|--|\n";
    for (index, step) in record.steps.iter().enumerate() {
        text += &row(index + 1, step);
    }
    text
}

fn row(number: usize, step: &StepRecord) -> String {
    let values: Vec<String> = step
        .values
        .iter()
        .map(|(name, value)| format!("{}: {}", escape(name), plain(value)))
        .collect();
    let text = |text: &Option<String>| text.as_deref().map(escape).unwrap_or_default();
    let cells = [
        number.to_string(),
        escape(&step.title),
        step.outcome.word().to_owned(),
        text(&step.by),
        step.at.clone().unwrap_or_default(),
        values.join("; "),
        text(&step.note),
    ];
    format!("| {} |\n", cells.join(" | "))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => escape(text),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => other.to_string(),
    }
}

/// A text as one cell of a table.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => escaped.push(' '),
            '|' | '\\' | '*' | '_' | '`' | '<' | '[' => escaped.extend(['\\', letter]),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::Outcome;

    #[test]
    fn a_record_reads_as_a_table() {
        let Value::Object(values) = json!({ "pressure": 3.2, "leaks": false, "pump": "A|B" })
        else {
            unreachable!()
        };
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
            "# Pump 7\n\n**Aborted**. Started 2026-11-29T13:00:00Z, ended 2026-11-29T14:00:00Z.\n\n\
             | # | Step | Outcome | By | When | Values | Note |\n|--:|--|--|--|--|--|--|\n\
             | 1 | Read the gauge | done | Ada | 2026-11-29T14:00:00Z | pressure: 3.2; leaks: no; pump: A\\|B | two lines |\n\
             | 2 | Close the valve | not reached |  |  |  |  |\n"
        );
    }
}
