//! A tool that starts others: `children DATA csv-report.wasm csv-profile.wasm`. One stream shows all of them.

use std::error::Error;

use futures_util::TryStreamExt as _;
use longhaul::{EventKind, Host, NewTask};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Report {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    rows: Option<u64>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let Some(data) = args.next() else { return Err("children DATA PLUGIN…".into()) };
    let host = Host::builder().data_dir(data).open().await?;
    for plugin in args {
        host.install_file(plugin).await?;
    }
    let files = json!([
        { "name": "january", "csv": "day,total\n1,20\n2,30\n" },
        { "name": "february", "csv": "day,total\n1,25\n" },
    ]);
    // It declares that it starts that tool; here it is allowed to.
    let new = NewTask::new("csv-report", "report_csvs").input(json!({ "files": files }));
    let task = host.start(new.grant_tool("csv-profile/profile_csv")).await?.id;

    let mut events = std::pin::pin!(host.events(&task, 0));
    while let Some(event) = events.try_next().await? {
        match event.kind {
            EventKind::ChildStarted { plugin, tool, .. } => println!("started {plugin}/{tool}"),
            EventKind::ChildEnded { state, .. } => println!("a child is {state}"),
            // What a child says and asks. An answer goes to `child`.
            EventKind::Child { child, event } => println!("  {child}: {}", event.name()),
            EventKind::Progress(progress) => println!("{}", progress.message),
            _ => {}
        }
    }
    let ended = host.task(&task).await?;
    for child in &ended.children {
        println!("{} was {}/{}: {}", child.task, child.plugin, child.tool, child.state);
    }
    for file in ended.output_as::<Report>()?.files {
        println!("{}: {:?} rows", file.name, file.rows);
    }
    host.shutdown().await;
    Ok(())
}
