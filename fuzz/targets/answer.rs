//! The schema of an answer that a plugin asks for, and what somebody answers: what is taken is what the schema allows, as
//! others read it.
#![no_main]

use longhaul::AnswerSchema;
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (schema, answer) = text.split_once('\n').unwrap_or((text, "true"));
    let (Ok(schema), Ok(answer)) = (serde_json::from_str::<Value>(schema), serde_json::from_str::<Value>(answer))
    else {
        return;
    };
    let Ok(parsed) = AnswerSchema::parse(&schema) else { return };
    let others = jsonschema::options().should_validate_formats(true).build(&schema).expect("it is a schema");
    assert_eq!(parsed.check(&answer).is_ok(), others.is_valid(&answer), "{answer} for {schema}");
    let fields = match &parsed {
        AnswerSchema::One(field) => vec![field],
        AnswerSchema::Form(form) => form.fields.iter().map(|field| &field.field).collect(),
    };
    for field in fields {
        if let Some(default) = &field.default {
            field.check(default).expect("what is offered is a valid answer");
        }
    }
});
