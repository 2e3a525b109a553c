//! What all commands share: the flags, and the host on the data directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use directories::ProjectDirs;
use longhaul::testing::CrashPlan;
use longhaul::{Host, Policy, TaskId};
use longhaul_server::Config;

use crate::args::Global;
use crate::exit::Problem;

/// The word that starts the program as a compiler of plugins.
pub const COMPILE: &str = "compile-plugin";

/// The flags that every command takes.
pub struct App {
    /// As given; none: the platform's.
    data: Option<PathBuf>,
    /// Whose tasks it is about, where that was said.
    namespace: Option<String>,
    pub json: bool,
    pub verbose: bool,
}

impl App {
    pub fn new(global: Global) -> Self {
        Self { data: global.data, namespace: None, json: global.json, verbose: global.verbose }
    }

    /// For a command about the tasks of a namespace.
    pub fn within(mut self, namespace: Option<String>) -> Self {
        self.namespace = namespace;
        self
    }

    /// Opens the data directory, and takes nothing over: a command runs the task it was given, and no other.
    pub async fn open(&self) -> Result<Host, Problem> {
        let host = Host::builder().data_dir(self.data_dir()?).take_over(false).crash(crash_plan()?);
        let host = host.compile_with(itself).open().await?;
        Ok(self.namespace.as_deref().map_or_else(|| host.clone(), |name| host.namespace(name)))
    }

    /// Opens the data directory, and runs whatever no other process runs. What the operator allows is read from `config`, or
    /// else from the file in the data directory.
    pub async fn open_to_serve(&self, config: Option<&Path>) -> Result<Host, Problem> {
        let private = self.server_config(config)?.webhooks_to_private;
        let mut host = Host::builder().data_dir(self.data_dir()?).webhooks_to_private(private);
        if let Some(config) = config {
            host = host.policy_file(config);
        }
        Ok(host.crash(crash_plan()?).compile_with(itself).open().await?)
    }

    /// The section `[server]` of the operator's file, if there is one. A file that was named must be there.
    pub fn server_config(&self, config: Option<&Path>) -> Result<Config, Problem> {
        let path = match config {
            Some(path) => path.to_owned(),
            None => self.data_dir()?.join("longhaul.toml"),
        };
        let wrong = |problem: String| Problem::new(format!("{}: {problem}", path.display()));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if config.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Config::default());
            }
            Err(error) => return Err(wrong(error.to_string()).hint("docs/longhaul.toml has every key")),
        };
        let policy = Policy::parse(&text).map_err(|error| wrong(error.to_string()))?;
        policy
            .server()
            .map_or_else(|| Ok(Config::default()), |section| Config::from_toml(section.clone()))
            .map_err(wrong)
    }

    pub fn data_dir(&self) -> Result<PathBuf, Problem> {
        if let Some(dir) = &self.data {
            return Ok(dir.clone());
        }
        let dirs = ProjectDirs::from("", "", "longhaul").ok_or_else(|| {
            Problem::new("there is no home directory to keep data in")
                .hint("give one with `--data DIR` or LONGHAUL_DATA")
        })?;
        Ok(dirs.data_dir().to_owned())
    }

    /// A command on the same data, to be shown to the person.
    pub fn again(&self, command: &str, id: &TaskId) -> String {
        let namespace = self.namespace.as_ref().map(|name| format!(" --namespace {}", quoted(name)));
        format!("{} {command} {id}{}", self.program(), namespace.unwrap_or_default())
    }

    /// What a command on the same data begins with.
    pub fn program(&self) -> String {
        let from_environment = std::env::var_os("LONGHAUL_DATA").map(PathBuf::from);
        match &self.data {
            Some(dir) if from_environment.as_ref() != Some(dir) => {
                format!("longhaul --data {}", quoted(&dir.display().to_string()))
            }
            _ => "longhaul".into(),
        }
    }
}

/// This program, to compile a plugin: the very file that runs, even where another has taken its name since.
fn itself() -> Command {
    let program = if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() };
    let mut command = Command::new(program.unwrap_or_else(|_| PathBuf::from("longhaul")));
    command.arg(COMPILE);
    command
}

/// Where the project's own tests let this process die, if they do.
fn crash_plan() -> Result<CrashPlan, Problem> {
    match std::env::var("LONGHAUL_CRASH_AT") {
        Ok(plan) => plan.parse().map_err(|problem: String| Problem::new(format!("LONGHAUL_CRASH_AT: {problem}"))),
        Err(_) => Ok(CrashPlan::default()),
    }
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:".contains(c) || (cfg!(windows) && c == '\\');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_quoted_for_the_shell_only_where_needed() {
        assert_eq!(quoted("/var/lib/longhaul"), "/var/lib/longhaul");
        assert_eq!(quoted("/my data/it's"), r"'/my data/it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
