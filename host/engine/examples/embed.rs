//! An agent server in little: `embed DATA csv-profile.wasm`, with answers as JSON on standard input, one a line.
//!
//! Kill it whenever you like, and start it again: it goes on where it was, and the completion reaches its session.

use std::error::Error;

use futures_util::TryStreamExt as _;
use longhaul::{EventKind, FeedItem, Host, NewTask, Reply};
use serde_json::json;
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let (Some(data), Some(plugin)) = (args.next(), args.next()) else { return Err("embed DATA PLUGIN".into()) };
    let host = Host::builder().data_dir(data).open().await?;
    host.install_file(plugin).await?;

    // Completions are new input for the sessions that started the tasks, those of an earlier process too. An item comes again,
    // after a crash too, until this returns `Ok`.
    let (sessions, mut thread_7) = mpsc::unbounded_channel::<FeedItem>();
    let agent = host.subscription("agent");
    let delivering = tokio::spawn(async move { agent.deliver(async |item| sessions.send(item)).await });

    // The model has called a tool. The call is a task now, and the conversation goes on. The key makes a second try the same.
    let csv = "id;weight;size|colour\n1;1.234;9|red\n2;2.500;7|blue\n";
    let call = NewTask::new("csv-profile", "profile_csv").input(json!({ "csv": csv })).session("thread-7");
    let task = host.start(call.idempotency_key("call-1")).await?.id;

    // Whoever looks on sees it live, and may be asked.
    let mut events = std::pin::pin!(host.events(&task, 0));
    while let Some(event) = events.try_next().await? {
        match event.kind {
            EventKind::Progress(progress) => println!("progress: {}", progress.message),
            EventKind::Question(asked) => {
                let open = host.task(&task).await?.questions.iter().any(|open| open.question == asked.question);
                if open {
                    println!("asked: {}", asked.prompt);
                    let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await?;
                    let value = serde_json::from_str(&line.ok_or("nobody answers")??)?;
                    let by = Some("ann".to_owned());
                    host.answer(&task, asked.question, Reply::Answered { value, by }).await?;
                }
            }
            EventKind::Ended { state, .. } => println!("it is {state}"),
            _ => {}
        }
    }
    while let Some(item) = thread_7.recv().await {
        if let EventKind::Ended { output: Some(output), .. } = item.event.kind {
            println!("{} hears: {}", item.session.unwrap_or_default(), json!(output.structured));
            break;
        }
    }
    host.shutdown().await;
    Ok(delivering.await??)
}
