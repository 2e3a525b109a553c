//! `longhaul run`: install, start, follow.

use std::path::Path;

use longhaul::{Error, Host, NeedKind, NewTask, Plugin, RetryPolicy, Tool};

use crate::app::App;
use crate::args::Run;
use crate::exit::{Exit, Problem};
use crate::follow::{Begun, Follow};
use crate::grant::{Grant, setting_without_value};
use crate::nearest::did_you_mean;
use crate::signals::{RELEASE, Signals};
use crate::view::say;
use crate::{input, view};

pub async fn run(app: &App, args: Run) -> Result<Exit, Problem> {
    // What is wrong on the command line is told before anything is done.
    args.grants.iter().try_for_each(for_one_task)?;
    let host = app.open().await?;
    let exit = run_on(app, &host, args).await;
    host.shutdown().await;
    exit
}

async fn run_on(app: &App, host: &Host, args: Run) -> Result<Exit, Problem> {
    let plugin = plugin(host, &args.plugin).await?;
    let (tool, pairs) = tool(&plugin, &args.rest)?;
    let (input, unknown) = input::build(&tool.input_schema, args.input.as_deref(), pairs)?;
    for key in unknown {
        view::say(&format!("note: the schema of {} does not name {key}", tool.name));
    }

    let mut new = NewTask::new(&plugin.digest, &tool.name).input(input);
    if let Some(key) = args.key {
        new = new.idempotency_key(key);
    }
    if let Some(session) = args.session {
        new = new.session(session);
    }
    if let Some(deadline) = args.deadline {
        new = new.deadline(deadline);
    }
    if let Some(retries) = args.retries {
        new = new.retry(RetryPolicy { attempts: retries.saturating_add(1), ..RetryPolicy::default() });
    }
    for (name, value) in args.limits {
        new = new.limit(name, value);
    }
    for (name, value) in args.settings {
        new = new.setting(name, value);
    }
    for Grant { kind, name, value } in args.grants {
        new = match (kind, value) {
            (NeedKind::Tool, _) => new.grant_tool(name),
            (NeedKind::Http, _) => new.grant_http(name),
            (NeedKind::Setting, Some(value)) => new.setting(name, value),
            // They were refused.
            (NeedKind::Setting, None) | (NeedKind::Secret, _) => new,
        };
    }

    // From here Ctrl-C is for the task.
    let mut signals = Signals::listen(RELEASE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
    let started = host.start(new).await.map_err(|error| match error {
        Error::Input { .. } => {
            Problem::from(error).hint(format!("`longhaul plugin inspect {}` shows what it takes", plugin.name))
        }
        error => error.into(),
    })?;
    let mut begun = Begun::Now;
    if started.existing {
        if !app.json {
            say(&format!("the task exists already: {}", started.id));
        }
        begun = Begun::Before { ours: host.adopt(&started.id).await? };
    }
    Follow::new(app, host, &started.id, begun, args.asked).until_the_end(&mut signals).await
}

/// Whether something can be granted to a task alone.
fn for_one_task(Grant { kind, name, value }: &Grant) -> Result<(), Problem> {
    match (kind, value) {
        (NeedKind::Setting, None) => Err(setting_without_value(name)),
        // A flag says neither where it may go nor how, and what is forgotten there is a secret that is lost.
        (NeedKind::Secret, _) => Err(Problem::new(
            "a secret is not granted to a single task: where it may go, and how it is put into requests, is for the policy to say",
        )
        .hint(format!(
            "`longhaul plugin grant PLUGIN secret:{name} --from env:VARIABLE --to HOST --as bearer` grants it to the plugin"
        ))),
        _ => Ok(()),
    }
}

/// A file is installed; a name or digest is looked up.
async fn plugin(host: &Host, named: &str) -> Result<Plugin, Problem> {
    if looks_like_a_file(named) {
        return Ok(host.install_file(named).await?);
    }
    match host.plugin(named).await {
        Err(Error::UnknownPlugin(_)) if Path::new(named).is_file() => Ok(host.install_file(named).await?),
        Err(error @ Error::UnknownPlugin(_)) => {
            let installed = host.plugins().await?;
            let meant = did_you_mean(named, installed.iter().map(|plugin| plugin.name.as_str()));
            let problem = Problem::from(error);
            Err(Problem { message: format!("{}{meant}", problem.message), ..problem })
        }
        found => Ok(found?),
    }
}

/// Names and digests have neither dots nor slashes.
pub fn looks_like_a_file(named: &str) -> bool {
    named.contains(['.', '/', '\\'])
}

/// The tool, and the `KEY=VALUE` words behind it.
fn tool<'a>(plugin: &'a Plugin, rest: &'a [String]) -> Result<(&'a Tool, &'a [String]), Problem> {
    let tools = &plugin.manifest.tools;
    let has = || tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    match rest.split_first() {
        Some((name, pairs)) if !name.contains('=') => {
            let unknown = || {
                let error = Error::UnknownTool { plugin: plugin.name.clone(), tool: name.clone(), has: has() };
                Problem::new(format!("{error}{}", did_you_mean(name, tools.iter().map(|tool| tool.name.as_str()))))
            };
            Ok((tools.iter().find(|tool| tool.name == *name).ok_or_else(unknown)?, pairs))
        }
        _ => match tools.as_slice() {
            [only] => Ok((only, rest)),
            _ => Err(Problem::new(format!("`{}` has several tools: {}", plugin.name, has().join(", ")))
                .hint("name one behind the plugin")),
        },
    }
}
