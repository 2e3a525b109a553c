//! How one entry is entered: typed, or chosen from a list.

use console::Key;
use longhaul::FieldKind;
use serde_json::{Value, json};

use super::ask::Entry;
use super::check;
use super::editor::Editor;
use super::list::List;

/// The state of an entry.
pub enum Input {
    Line(Editor),
    List(List),
}

impl Input {
    /// The input of an entry, beginning with `value`, or else with its default.
    pub fn of(entry: &Entry, value: Option<&Value>) -> Self {
        let value = value.or(entry.default.as_ref());
        let leave_out = (!entry.required).then(|| "(leave out)".to_owned());
        let typed = |text: String| Self::Line(Editor::with(&text));
        match entry.field.as_ref().map(|field| &field.kind) {
            Some(FieldKind::Text { .. }) => typed(value.and_then(Value::as_str).unwrap_or_default().to_owned()),
            Some(FieldKind::Number { .. }) | None => typed(value.map(Value::to_string).unwrap_or_default()),
            // Nothing but a default is chosen from the beginning: somebody may press Enter just as the question appears.
            Some(FieldKind::Confirm) => {
                let labels = ["yes".to_owned(), "no".to_owned()].into_iter().chain(leave_out).collect();
                Self::List(List::one(labels, value.and_then(Value::as_bool).map(|yes| usize::from(!yes))))
            }
            Some(FieldKind::Choice { choices }) => {
                let at = value.and_then(|value| choices.iter().position(|choice| *value == choice.value));
                let labels = choices.iter().map(|choice| choice.label().to_owned()).chain(leave_out).collect();
                Self::List(List::one(labels, at))
            }
            Some(FieldKind::Choices { choices, .. }) => {
                let given = value.and_then(Value::as_array);
                let taken =
                    choices.iter().map(|choice| given.is_some_and(|given| given.contains(&json!(choice.value))));
                let labels = choices.iter().map(|choice| choice.label().to_owned()).collect();
                Self::List(List::several(labels, taken.collect()))
            }
        }
    }

    /// Takes a key that types, moves or marks.
    pub fn key(&mut self, key: &Key) {
        match self {
            Self::Line(editor) => editor.key(key),
            Self::List(list) => list.key(key),
        }
    }

    /// What was entered; `None` leaves the entry out.
    pub fn value(&self, entry: &Entry) -> Result<Option<Value>, String> {
        let list = match self {
            Self::Line(editor) => return check::typed(entry, &editor.text()),
            Self::List(list) => list,
        };
        let value = match entry.field.as_ref().map(|field| &field.kind) {
            Some(FieldKind::Choices { choices, .. }) => {
                let taken: Vec<_> = list.taken().filter_map(|at| choices.get(at)).map(|c| json!(c.value)).collect();
                (!taken.is_empty() || entry.required).then_some(Value::Array(taken))
            }
            kind => {
                let at = list.at().ok_or("choose one first")?;
                match kind {
                    Some(FieldKind::Choice { choices }) => choices.get(at).map(|choice| json!(choice.value)),
                    _ => [json!(true), json!(false)].get(at).cloned(),
                }
            }
        };
        if let Some(value) = &value {
            check::fits(entry, value)?;
        }
        Ok(value)
    }
}
