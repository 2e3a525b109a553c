//! Messages of the host. They are for whoever looks into it; what a person is told is written by [`say`](crate::view::say).

use std::fmt;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Messages that `RUST_LOG` alone shows: the MCP SDK holds it for an error when a client goes before it is answered, and warns of
/// each request that is refused, with all that was asked.
const QUIET: &str = "rmcp=off";

/// Writes messages of that level, or what `RUST_LOG` says, to standard error.
pub fn init(level: &str, as_json: bool) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(format!("{level},{QUIET}")));
    let messages = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match as_json {
        true => messages.fmt_fields(JsonFields).event_format(JsonLines).init(),
        false => messages.with_ansi(console::colors_enabled_stderr()).init(),
    }
}

/// One JSON object a line. The library's own feature for that changes features of what the sandbox is built on.
struct JsonLines;

/// The fields of a span as a JSON object.
struct JsonFields;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let time = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        let about = event.metadata();
        let mut line = json!({ "time": time, "level": about.level().as_str(), "target": about.target() });
        let spans: Vec<Value> = ctx
            .event_scope()
            .into_iter()
            .flat_map(tracing_subscriber::registry::Scope::from_root)
            .map(|span| {
                let extensions = span.extensions();
                let kept = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.as_str());
                let mut of_span: Value = serde_json::from_str(kept).unwrap_or_else(|_| json!({}));
                of_span["name"] = span.name().into();
                of_span
            })
            .collect();
        if let Some(object) = line.as_object_mut() {
            object.extend(fields.0);
            if !spans.is_empty() {
                object.insert("spans".to_owned(), Value::Array(spans));
            }
        }
        writeln!(writer, "{line}")
    }
}

impl<'w> FormatFields<'w> for JsonFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut found = Fields::default();
        fields.record(&mut found);
        write!(writer, "{}", Value::Object(found.0))
    }

    /// A span that learns more later: one object again, not two.
    fn add_fields(&self, current: &'w mut FormattedFields<Self>, fields: &tracing::span::Record<'_>) -> fmt::Result {
        let mut found = Fields(serde_json::from_str(&current.fields).unwrap_or_default());
        fields.record(&mut found);
        current.fields = Value::Object(found.0).to_string();
        Ok(())
    }
}

/// Collects fields as JSON.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn keep(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.keep(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.keep(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.keep(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.keep(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, format!("{value:?}"));
    }
}
