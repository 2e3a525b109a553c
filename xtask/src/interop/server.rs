//! `longhaul serve` with a plugin of the tests.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::paths;

/// A server that runs, and ends with this value.
pub struct Server {
    /// Ends with it.
    _child: Ends,
    pub url: String,
    pub token: String,
    log: PathBuf,
}

/// A process that ends with this value.
pub struct Ends(pub Child);

impl Server {
    /// With that plugin and configuration, and its data in `data`, inside of that directory.
    pub fn start(dir: &Path, plugin: &str, config: &str) -> Result<Self> {
        let data = dir.join("data");
        fs::create_dir(&data).with_context(|| format!("cannot create {}", data.display()))?;
        fs::write(data.join("longhaul.toml"), config).context("cannot write longhaul.toml")?;
        let log = dir.join("server.log");
        let file = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(paths::binary());
        command.arg("--data").arg(data).args(["serve", "--json", "--listen", "127.0.0.1:0", "--plugin"]);
        command.arg(paths::components().join(format!("{plugin}.wasm"))).env_remove("RUST_LOG");
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let mut child = Ends(child.context("cannot start longhaul")?);
        let line = first_line(&mut child)?;
        let said: Value = serde_json::from_str(&line)
            .with_context(|| format!("it said {line:?} and {:?}", fs::read_to_string(&log).unwrap_or_default()))?;
        let text = |name: &str| said[name].as_str().map(str::to_owned).with_context(|| format!("no {name}: {said}"));
        Ok(Self { url: text("url")?, token: text("token")?, _child: child, log })
    }

    /// What it wrote to standard error.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// The first line of a process; what it says later stays in the pipe.
pub fn first_line(child: &mut Ends) -> Result<String> {
    let mut stdout: BufReader<ChildStdout> = BufReader::new(child.0.stdout.take().context("it has no output")?);
    let mut line = String::new();
    stdout.read_line(&mut line).context("cannot read what it says")?;
    child.0.stdout = Some(stdout.into_inner());
    Ok(line.trim().to_owned())
}

impl Drop for Ends {
    fn drop(&mut self) {
        // Its data is thrown away, so it need not end in good order.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
