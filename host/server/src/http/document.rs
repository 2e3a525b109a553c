//! What the API says of itself: an OpenAPI document, and a page to read it on.

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use bytes::Bytes;
use serde_json::{Value, json};
use utoipa::openapi::OpenApi;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The schemas of what the engine says: it writes them itself, and all faces show the same.
const SCHEMAS: &str = include_str!("schemas.json");

/// The page. It loads nothing from elsewhere.
const PAGE: &str = include_str!("page.html");

/// Names for the schemas in `schemas.json`.
macro_rules! shapes {
    ($($name:ident)*) => {
        /// Names for the schemas of answers.
        pub(super) mod shapes {
            $(pub enum $name {})*
        }
        $(
            impl PartialSchema for shapes::$name {
                fn schema() -> RefOr<Schema> {
                    // What is in the file takes its place.
                    RefOr::T(Schema::default())
                }
            }
            impl ToSchema for shapes::$name {}
        )*
    };
}

shapes!(ServerEvent Task TaskAndEvents TaskList Cancelled Settled Waited ToolList PluginList Plugin
    FeedPage WebhookList Webhook Secret DeliveryList QuestionList SettledQuestion NeedList Caller Session);

pub(super) fn routes(document: OpenApi) -> Router {
    let document: Bytes = complete(document).to_string().into();
    let send = move || {
        let document = document.clone();
        async move { ([(::http::header::CONTENT_TYPE, "application/json")], document) }
    };
    Router::new().route("/openapi.json", get(send)).route("/docs", get(|| async { Html(PAGE) }))
}

/// The document with what is the same for all routes: who may call them, and how they say no.
fn complete(document: OpenApi) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["info"] = json!({
        "title": "Longhaul",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Start the long jobs of agents, follow them, answer their questions. Times are RFC 3339 in UTC, sizes \
                        are bytes, durations say their unit. Errors are RFC 9457 problems whose `type` does not change.",
        "license": { "name": "MIT OR Apache-2.0" },
    });
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    if let (Some(all), Value::Object(more)) = (document["components"]["schemas"].as_object_mut(), schemas) {
        all.extend(more);
    }
    document["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    document["security"] = json!([{ "token": [] }]);
    let refusal = json!({
        "description": "It was not done, and why",
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
    });
    for operations in document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
        for operation in operations.as_object_mut().into_iter().flat_map(|operations| operations.values_mut()) {
            if let Some(responses) = operation["responses"].as_object_mut() {
                for response in responses.values_mut().filter(|response| response.get("content").is_none()) {
                    // Those that are named in the code without a body are refusals, but for 204.
                    if response["description"].as_str().is_some_and(|text| text.starts_with("Refused")) {
                        response["content"] = refusal["content"].clone();
                    }
                }
                responses.insert("default".into(), refusal.clone());
            }
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_that_is_named_is_there_and_none_is_empty() {
        let schemas: Value = serde_json::from_str(SCHEMAS).expect("schemas.json is JSON");
        let mut named = Vec::new();
        references(&schemas, &mut named);
        for name in named {
            assert!(schemas[&name].is_object(), "{name}");
        }
    }

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                if let Some(name) = object.get("$ref").and_then(Value::as_str) {
                    found.push(name.rsplit('/').next().unwrap_or_default().to_owned());
                }
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
}
