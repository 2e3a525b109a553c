//! `longhaul backup` and `longhaul doctor`: the data directory as a whole.

use std::io::Write as _;
use std::path::Path;

use console::style;

use crate::app::App;
use crate::exit::{Exit, Problem};
use crate::json;
use crate::text::{count, line};
use crate::view::say;

pub async fn backup(app: &App, file: &Path) -> Result<Exit, Problem> {
    let host = app.open().await?;
    let done = host.backup(file).await;
    host.shutdown().await;
    done?;
    if app.json {
        json::print(&json::Line::Backup { file })?;
    } else {
        say(&format!("wrote {}; to restore it, put it into an empty data directory as longhaul.db", file.display()));
    }
    Ok(Exit::Done)
}

/// Opens nothing that could write.
pub fn doctor(app: &App) -> Result<Exit, Problem> {
    let examination = longhaul::examine(app.data_dir()?)?;
    if app.json {
        examination.findings.iter().try_for_each(|finding| json::print(&json::Line::Finding(finding)))?;
        json::print(&json::Line::Doctor(&examination))?;
    } else {
        let mut out = std::io::stdout().lock();
        for finding in &examination.findings {
            let mark = if finding.damage { style("damaged").red() } else { style("note   ").dim() };
            writeln!(out, "{mark} {}: {}", line(&finding.at), line(&finding.problem))
                .and_then(|()| match &finding.remedy {
                    Some(remedy) => writeln!(out, "        {}", line(remedy)),
                    None => Ok(()),
                })
                .map_err(|e| Problem::output(&e))?;
        }
        let looked = format!(
            "{}, {} and {}",
            count(examination.tasks, "task"),
            if examination.entries == 1 { "1 entry".into() } else { format!("{} entries", examination.entries) },
            count(examination.plugins, "plugin")
        );
        say(&match examination.damaged {
            0 => format!("sound: {looked}"),
            n => format!("{} damaged, in {looked}", count(n, "thing")),
        });
    }
    Ok(if examination.is_sound() { Exit::Done } else { Exit::Damaged })
}
