//! The host's numbers, as Prometheus reads them.

use std::fmt::Write as _;

use ::http::header;
use axum::response::{IntoResponse as _, Response};
use longhaul::{Histogram, Metrics};

use crate::{Principal, Problem};

/// Gives the host's numbers, over all namespaces, in Prometheus' text format.
#[utoipa::path(
    get, path = "/metrics", tag = "keeping",
    responses((status = 200, description = "The numbers", content_type = "text/plain", body = String)),
)]
pub(super) async fn metrics(caller: Principal) -> Result<Response, Problem> {
    let metrics = caller.to_administer()?.metrics().await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page(&metrics)).into_response())
}

/// <https://prometheus.io/docs/instrumenting/exposition_formats/>
fn page(metrics: &Metrics) -> String {
    let mut page = Page(String::new());
    page.family("longhaul_unfinished_tasks", "gauge", "Tasks that have not ended, by state.");
    for (state, count) in &metrics.unfinished {
        page.line("longhaul_unfinished_tasks", &[("state", state)], *count);
    }
    page.family("longhaul_ended_tasks_total", "counter", "Tasks that ended.");
    for ((plugin, tool), ended) in &metrics.tools {
        for (state, count) in [("completed", ended.completed), ("failed", ended.failed), ("cancelled", ended.cancelled)]
        {
            page.line("longhaul_ended_tasks_total", &[("plugin", plugin), ("tool", tool), ("state", state)], count);
        }
    }
    page.family("longhaul_fuel_total", "counter", "Instructions that ended tasks executed, about.");
    for ((plugin, tool), ended) in &metrics.tools {
        page.line("longhaul_fuel_total", &[("plugin", plugin), ("tool", tool)], ended.fuel);
    }
    page.family("longhaul_run_seconds_total", "counter", "How long the guests of ended tasks ran, waits left out.");
    for ((plugin, tool), ended) in &metrics.tools {
        page.line("longhaul_run_seconds_total", &[("plugin", plugin), ("tool", tool)], ended.run_time.as_secs_f64());
    }
    page.family("longhaul_memory_high_water_bytes", "gauge", "The most memory that the guest of an ended task had.");
    for ((plugin, tool), ended) in &metrics.tools {
        page.line("longhaul_memory_high_water_bytes", &[("plugin", plugin), ("tool", tool)], ended.memory);
    }
    page.family("longhaul_task_seconds", "histogram", "From the start of a task to its end, waits included.");
    for ((plugin, tool), ended) in &metrics.tools {
        page.histogram("longhaul_task_seconds", &[("plugin", plugin), ("tool", tool)], &ended.time);
    }
    page.family("longhaul_queue_seconds", "histogram", "How long tasks stood in line before their first turn.");
    page.histogram("longhaul_queue_seconds", &[], &metrics.queue_time);
    for (name, kind, help, value) in [
        ("longhaul_running", "gauge", "Tasks that have a place to run in.", metrics.running),
        ("longhaul_queued", "gauge", "Tasks that stand in line in this process.", metrics.queued),
        ("longhaul_warm_bytes", "gauge", "Memory of instances that are kept in waits.", metrics.warm_bytes),
        ("longhaul_replays_total", "counter", "Instances that were rebuilt from journals.", metrics.replays),
        ("longhaul_refused_total", "counter", "What guests asked for and were refused.", metrics.refused),
        ("longhaul_commits_total", "counter", "Transactions.", metrics.commits),
        ("longhaul_writes_total", "counter", "Writes in transactions.", metrics.writes),
        ("longhaul_messages_delivered_total", "counter", "Webhook messages that were received.", metrics.delivered),
        ("longhaul_messages_undelivered_total", "counter", "Tries that are repeated.", metrics.undelivered),
        ("longhaul_messages_given_up_total", "counter", "Messages that nobody received.", metrics.given_up),
        ("longhaul_messages_pending", "gauge", "Webhook messages that are to be sent.", metrics.pending),
    ] {
        page.family(name, kind, help);
        page.line(name, &[], value);
    }
    page.0
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if place == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let bucket = format!("{name}_bucket");
        for (bound, count) in histogram.buckets() {
            let bound = bound.to_string();
            self.line(&bucket, &[labels, &[("le", bound.as_str())]].concat(), count);
        }
        self.line(&bucket, &[labels, &[("le", "+Inf")]].concat(), histogram.count());
        self.line(&format!("{name}_sum"), labels, histogram.sum());
        self.line(&format!("{name}_count"), labels, histogram.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_can_not_break_out_of_its_line() {
        let mut page = Page(String::new());
        page.line("x", &[("tool", "a\"b\\c\nd"), ("state", "ok")], 1);
        page.line("y", &[], 2);
        assert_eq!(page.0, "x{tool=\"a\\\"b\\\\c\\nd\",state=\"ok\"} 1\ny 2\n");
    }
}
