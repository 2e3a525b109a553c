//! JSON Schemas from Rust types, for inputs and outputs.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// What `T` accepts when it is read.
pub(crate) fn of_input<T: JsonSchema>() -> Value {
    of::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// What `T` looks like when it is written.
pub(crate) fn of_output<T: JsonSchema>() -> Value {
    of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// What `T` accepts, with every type spelled out where it is used: forms have no `$ref`.
pub(crate) fn inline<T: JsonSchema>() -> Value {
    of::<T>(
        SchemaSettings::draft2020_12()
            .for_deserialize()
            .with(|settings| settings.inline_subschemas = true),
    )
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| settings.meta_schema = None);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(schema) = schema.as_object_mut() {
        // The name of a Rust type tells a caller nothing.
        if schema.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
            schema.remove("title");
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    /// A file.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct File {
        /// Where it is.
        path: String,
        #[serde(default)]
        force: bool,
    }

    #[test]
    fn an_input_may_leave_out_what_has_a_default() {
        assert_eq!(
            of_input::<File>(),
            json!({
                "type": "object",
                "description": "A file.",
                "properties": {
                    "path": { "type": "string", "description": "Where it is." },
                    "force": { "type": "boolean", "default": false },
                },
                "required": ["path"],
            })
        );
    }

    #[test]
    fn an_output_always_has_what_is_always_written() {
        assert_eq!(of_output::<File>()["required"], json!(["path", "force"]));
    }
}
