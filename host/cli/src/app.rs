//! What all commands share: the flags, and the host on the data directory.

use std::path::PathBuf;
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
    pub json: bool,
    pub verbose: bool,
}

impl App {
    pub fn new(global: Global) -> Self {
        Self { data: global.data, json: global.json, verbose: global.verbose }
    }

    /// Opens the data directory, and takes nothing over: a command runs the task it was given, and no other.
    pub async fn open(&self) -> Result<Host, Problem> {
        let host = Host::builder().data_dir(self.data_dir()?).take_over(false).crash(crash_plan()?);
        Ok(host.compile_with(itself).open().await?)
    }

    /// Opens the data directory, and runs whatever no other process runs.
    pub async fn open_to_serve(&self) -> Result<Host, Problem> {
        let private = self.server_config()?.webhooks_to_private;
        let host = Host::builder().data_dir(self.data_dir()?).webhooks_to_private(private);
        Ok(host.crash(crash_plan()?).open().await?)
    }

    /// The section `[server]` of the operator's file, if there is one.
    pub fn server_config(&self) -> Result<Config, Problem> {
        let path = self.data_dir()?.join("longhaul.toml");
        let wrong = |problem: String| Problem::new(format!("{}: {problem}", path.display()));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Config::default()),
            Err(error) => return Err(wrong(error.to_string())),
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
        let from_environment = std::env::var_os("LONGHAUL_DATA").map(PathBuf::from);
        match &self.data {
            Some(dir) if from_environment.as_ref() != Some(dir) => {
                format!("longhaul --data {} {command} {id}", quoted(&dir.display().to_string()))
            }
            _ => format!("longhaul {command} {id}"),
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
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:\\".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_quoted_for_the_shell_only_where_needed() {
        assert_eq!(quoted("/var/lib/longhaul"), "/var/lib/longhaul");
        assert_eq!(quoted("/my data/it's"), r"'/my data/it'\''s'");
    }
}
