//! Questions answered by keys.

use console::strip_ansi_codes;
use serde_json::json;

use super::ask::tests::question;
use super::*;

/// Presses keys: `⏎` Enter, `⎋` Esc, `↓` and `↑`, `⌫`; everything else is itself.
fn press(prompt: &mut Prompt, keys: &str) -> Option<Outcome> {
    let mut outcome = None;
    for c in keys.chars() {
        assert_eq!(outcome, None, "the prompt was over before `{c}`");
        outcome = prompt.key(&match c {
            '⏎' => Key::Enter,
            '⎋' => Key::Escape,
            '↓' => Key::ArrowDown,
            '↑' => Key::ArrowUp,
            '⌫' => Key::Backspace,
            c => Key::Char(c),
        });
    }
    outcome
}

fn answer(schema: Value, keys: &str) -> Option<Outcome> {
    press(&mut Prompt::new(&question(schema)), keys)
}

fn shown(prompt: &Prompt) -> String {
    let view = prompt.view((24, 60), Timestamp::from_millis(0));
    strip_ansi_codes(&view.rows.join("\n")).into_owned()
}

fn form() -> Value {
    json!({
        "type": "object", "required": ["name", "sure"],
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "size": {"type": "integer", "minimum": 1, "description": "in metres"},
            "sure": {"type": "boolean"}
        }
    })
}

#[test]
fn yes_or_no_is_a_key_and_never_a_mere_enter() {
    assert_eq!(answer(json!({"type": "boolean"}), "y"), Some(Outcome::Answer(json!(true))));
    assert_eq!(answer(json!({"type": "boolean"}), "↓↓⏎"), Some(Outcome::Answer(json!(false))));
    assert_eq!(answer(json!({"type": "boolean"}), "⏎⏎"), None);
    assert_eq!(answer(json!({"type": "boolean"}), "⏎N"), Some(Outcome::Answer(json!(false))));
    // Where something else is asked for it is a letter like any other.
    assert_eq!(answer(json!({"type": "string"}), "y"), None);
}

#[test]
fn a_default_is_chosen_from_the_beginning_and_nothing_else_is() {
    assert_eq!(answer(json!({"type": "boolean", "default": false}), "⏎"), Some(Outcome::Answer(json!(false))));
    let choice = |default: Value| {
        let mut schema = json!({"type": "string", "enum": ["a", "b"]});
        schema.as_object_mut().unwrap().extend(default.as_object().cloned().unwrap_or_default());
        answer(schema, "⏎")
    };
    assert_eq!(choice(json!({"default": "b"})), Some(Outcome::Answer(json!("b"))));
    assert_eq!(choice(json!({})), None);
    let several =
        json!({"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["a", "b"]}, "default": ["b"]});
    assert_eq!(answer(several, "⏎"), Some(Outcome::Answer(json!(["b"]))));
}

#[test]
fn choices_and_several_choices_are_answered_with_their_values() {
    let one =
        json!({"type": "string", "oneOf": [{"const": ",", "title": "comma"}, {"const": ";", "title": "semicolon"}]});
    assert_eq!(answer(one.clone(), "↓⏎"), Some(Outcome::Answer(json!(","))));
    assert_eq!(answer(one, "s⏎"), Some(Outcome::Answer(json!(";"))));
    let several = json!({"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["a", "b"]}});
    assert_eq!(answer(several.clone(), "⏎"), None);
    assert_eq!(answer(several, " ↓ ⏎"), Some(Outcome::Answer(json!(["a", "b"]))));
}

#[test]
fn an_entry_that_does_not_fit_is_asked_for_again_with_the_reason() {
    let mut prompt = Prompt::new(&question(json!({"type": "integer", "maximum": 10})));
    assert_eq!(press(&mut prompt, "11⏎"), None);
    assert!(shown(&prompt).contains("✗ 11 is more than 10"), "{}", shown(&prompt));
    assert_eq!(press(&mut prompt, "⌫0⏎"), Some(Outcome::Answer(json!(10))));
}

#[test]
fn a_form_is_asked_field_by_field_and_what_is_not_required_may_be_left_out() {
    let mut prompt = Prompt::new(&question(form()));
    assert_eq!(press(&mut prompt, "R⏎"), None);
    assert!(shown(&prompt).contains("(1 of 3)") && shown(&prompt).contains('✗'), "{}", shown(&prompt));
    assert_eq!(press(&mut prompt, "o⏎"), None);
    assert!(shown(&prompt).contains("name: Ro") && shown(&prompt).contains("in metres"), "{}", shown(&prompt));
    assert_eq!(press(&mut prompt, "⏎y"), Some(Outcome::Answer(json!({"name": "Ro", "sure": true}))));
}

#[test]
fn escape_leads_back_to_the_field_before_and_keeps_what_was_entered() {
    let mut prompt = Prompt::new(&question(form()));
    assert_eq!(press(&mut prompt, "Ana⏎⎋b⏎"), None);
    assert_eq!(press(&mut prompt, "!⏎3⏎n"), Some(Outcome::Answer(json!({"name": "Ana!", "size": 3, "sure": false}))));
}

#[test]
fn escape_offers_to_decline_and_to_answer_later() {
    assert_eq!(answer(form(), "⎋d⏎not mine⏎"), Some(Outcome::Decline(Some("not mine".into()))));
    assert_eq!(answer(form(), "⎋d⏎⏎"), Some(Outcome::Decline(None)));
    assert_eq!(answer(form(), "⎋l⏎"), Some(Outcome::Later));
    assert_eq!(answer(form(), "\u{4}"), Some(Outcome::Later));
    assert_eq!(answer(json!({"type": "string"}), "⎋⎋a⎋⏎b⏎"), Some(Outcome::Answer(json!("ab"))));
}

#[test]
fn an_answer_that_the_host_refused_is_asked_for_again() {
    let mut prompt = Prompt::new(&question(json!({"type": "string"})));
    assert!(press(&mut prompt, "abc⏎").is_some());
    prompt.refused("already taken");
    assert!(shown(&prompt).contains("✗ already taken") && shown(&prompt).contains("› abc"), "{}", shown(&prompt));
    assert_eq!(press(&mut prompt, "d⏎"), Some(Outcome::Answer(json!("abcd"))));
}

#[test]
fn details_stay_in_sight_where_there_is_room() {
    let mut asked = question(json!({"type": "string"}));
    asked.detail = Some("one\n\n\u{1b}[2Jtwo".into());
    let prompt = Prompt::new(&asked);
    assert!(shown(&prompt).contains("  one\n  \n  ␛[2Jtwo"), "{}", shown(&prompt));
    assert!(!prompt.hides_details((24, 60)));
    assert!(prompt.hides_details((16, 60)));
    assert!(!Prompt::new(&question(json!({"type": "string"}))).hides_details((5, 60)));
}

#[test]
fn the_deadline_is_shown() {
    let mut asked = question(json!({"type": "string"}));
    asked.deadline = Some(Timestamp::from_millis(65_000));
    assert!(shown(&Prompt::new(&asked)).contains("time is up in 1m 5s"), "{}", shown(&Prompt::new(&asked)));
}

#[test]
fn a_sensitive_answer_is_not_shown() {
    let mut asked =
        question(json!({"type": "object", "properties": {"pin": {"type": "string"}, "b": {"type": "string"}}}));
    asked.options = Some(json!({"sensitive": true}));
    let mut prompt = Prompt::new(&asked);
    press(&mut prompt, "1234");
    assert!(!shown(&prompt).contains("1234"));
    press(&mut prompt, "⏎");
    assert!(!shown(&prompt).contains("1234"));
}

#[test]
fn no_row_is_wider_than_the_terminal_and_no_control_character_gets_through() {
    let mut asked = question(json!({"type": "string", "enum": ["\u{1b}[2Jchoice".repeat(9), "b"]}));
    asked.prompt = "\u{1b}]0;x\u{7}a long question ".repeat(20);
    let prompt = Prompt::new(&asked);
    for (height, width) in [(10, 1), (10, 8), (10, 20), (10, 60), (2, 20), (0, 0)] {
        let view = prompt.view((height, width), Timestamp::from_millis(0));
        assert!(view.rows.len() <= height.max(1), "{height}: {:?}", view.rows);
        for row in view.rows {
            let row = strip_ansi_codes(&row).into_owned();
            assert!(console::measure_text_width(&row) < width.max(2), "{width}: {row}");
            assert!(!row.chars().any(char::is_control), "{row:?}");
        }
    }
}
