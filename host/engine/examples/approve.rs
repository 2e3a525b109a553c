//! Nothing leaves before a person has said yes: `approve DATA gated-request.wasm http://HOST:PORT`, with `yes` or `no` on
//! standard input.
//!
//! What the plugin may reach is said here, in code; a host that is told nothing reads `longhaul.toml` in its data directory.

use std::error::Error;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use longhaul::{EventKind, Host, NewTask, Policy, Reply};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Request {
    url: String,
    body: &'static str,
    reason: &'static str,
}

#[derive(Deserialize)]
struct Sent {
    status: u16,
    approved_by: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(data), Some(plugin), Some(site)) = (args.next(), args.next(), args.next()) else {
        return Err("approve DATA PLUGIN http://HOST:PORT".into());
    };
    // What it declares and this grants, it reaches; nothing else.
    let policy = Policy::parse(&format!("[plugins.gated-request]\nhttp = [\"{site}\"]"))?;
    let host = Host::builder().data_dir(data).policy(policy).open().await?;
    host.install_file(plugin).await?;

    let request = Request { url: format!("{site}/orders"), body: "{\"item\": 7}", reason: "the stock is low" };
    let new = NewTask::new("gated-request", "send_request").input(request).deadline(Duration::from_secs(24 * 3_600));
    let task = host.start(new).await?.id;

    let mut events = std::pin::pin!(host.events(&task, 0));
    while let Some(event) = events.try_next().await? {
        match event.kind {
            EventKind::Question(_) => {
                // As an inbox has it: whoever asks, of all tasks.
                for asked in host.questions(10).await? {
                    println!("{}/{} asks: {}", asked.plugin, asked.tool, asked.question.prompt);
                    println!("{}", asked.question.detail.unwrap_or_default());
                    let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await?;
                    let value = (line.transpose()?.as_deref() == Some("yes")).into();
                    let by = Some("ann".to_owned());
                    host.answer(&asked.task, asked.question.question, Reply::Answered { value, by }).await?;
                }
            }
            EventKind::Http { method, url, status, .. } => println!("{method} {url}: {status:?}"),
            _ => {}
        }
    }
    match host.task(&task).await?.output_as::<Sent>() {
        Ok(sent) => println!("sent: status {}, approved by {}", sent.status, sent.approved_by.unwrap_or_default()),
        Err(error) => println!("{error}"),
    }
    host.shutdown().await;
    Ok(())
}
