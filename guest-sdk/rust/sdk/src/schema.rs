//! JSON Schemas from Rust types, for inputs and outputs.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

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
    of::<T>(SchemaSettings::draft2020_12().for_deserialize().with(|settings| settings.inline_subschemas = true))
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings =
        settings.with(|settings| settings.meta_schema = None).with_transform(RecursiveTransform(plain_number));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        // The name of a Rust type tells a caller nothing.
        if schema.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
            schema.remove("title");
        }
    }
    schema
}

/// Rust's kinds of numbers are no formats that others know; where they matter they become bounds.
fn plain_number(schema: &mut Schema) {
    let bounds = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => Some((json!(i32::MIN), json!(i32::MAX))),
        Some("uint32") => Some((json!(0), json!(u32::MAX))),
        // schemars gives the bounds of smaller ones itself.
        Some("int8" | "uint8" | "int16" | "uint16" | "int64" | "uint64" | "int128" | "uint128") => None,
        Some("int" | "uint" | "float" | "double") => None,
        _ => return,
    };
    schema.remove("format");
    if let (Some((minimum, maximum)), Some(members)) = (bounds, schema.as_object_mut()) {
        members.entry("minimum").or_insert(minimum);
        members.entry("maximum").or_insert(maximum);
    }
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
    fn numbers_have_bounds_and_no_formats() {
        assert_eq!(of_input::<f64>(), json!({ "type": "number" }));
        assert_eq!(of_input::<Option<usize>>(), json!({ "type": ["integer", "null"], "minimum": 0 }));
        assert_eq!(of_input::<u8>(), json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
        assert_eq!(of_input::<i32>(), json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX }));
    }

    #[test]
    fn an_output_always_has_what_is_always_written() {
        assert_eq!(of_output::<File>()["required"], json!(["path", "force"]));
    }
}
