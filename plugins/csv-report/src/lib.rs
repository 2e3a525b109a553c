//! The plugin `csv-report`: its tool profiles several CSV files, each by a child, and says where they differ.

mod report;

use longhaul_sdk::{Child, Output, Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use report::{File, Profile, Report};

/// What profiles one file.
const PROFILE: &str = "csv-profile/profile_csv";

longhaul_sdk::plugin! {
    tools: [report_csvs],
    needs: [tool("csv-profile/profile_csv", why = "it profiles each of the files", required)],
}

/// CSV files that should look alike.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// One at least, and 90 at most.
    #[schemars(length(min = 1, max = 90))]
    files: Vec<Csv>,
    /// The character between two fields, in all of them. Found out for each if not given.
    delimiter: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Csv {
    /// What the file is called in the report.
    name: String,
    /// Its text.
    csv: String,
}

/// What `csv-profile` takes.
#[derive(Serialize)]
struct Profiled<'a> {
    csv: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    delimiter: Option<&'a str>,
}

/// Profiles several CSV files side by side and reports how large each is, and which columns are not in all of them or not
/// of the same type. Use it for exports that should look alike, such as one a month.
#[longhaul_sdk::tool(title = "Compare CSV files", read_only, idempotent, open_world = false)]
fn report_csvs(task: &Task, input: Input) -> Result<Output<Report>, ToolError> {
    let total = input.files.len();
    let mut running: Vec<(usize, Child<Profile>)> = Vec::new();
    for (place, Csv { csv, .. }) in input.files.iter().enumerate() {
        let profiled = Profiled { csv, delimiter: input.delimiter.as_deref() };
        running.push((place, task.start_tool(PROFILE, &profiled)?));
    }
    let mut files: Vec<Option<File>> = input.files.iter().map(|_| None).collect();
    while !running.is_empty() {
        let Some(at) = task.wait_any(running.iter().map(|(_, child)| child), None)? else { continue };
        let (place, child) = running.remove(at);
        let name = input.files[place].name.clone();
        let done = total - running.len();
        match task.outcome(&child) {
            Ok(profile) => {
                task.progress(format!("profiled {name}")).done(done).of(total);
                files[place] = Some(File::profiled(name, profile.value));
            }
            Err(error) => {
                task.progress(format!("{name} can't be profiled: {error}")).done(done).of(total).warning();
                files[place] = Some(File::failed(name, error.to_string()));
            }
        }
    }
    let report = Report::of(files.into_iter().flatten().collect());
    if report.files.iter().all(|file| file.error.is_some()) {
        return Err(ToolError::failed("none of the files can be profiled").details(&report));
    }
    let markdown = report.markdown();
    Ok(Output::new(report).markdown(markdown))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_manifest_is_sound() {
        let manifest = crate::Plugin::manifest();
        assert_eq!((manifest.name.as_str(), manifest.tools[0].name.as_str()), ("csv-report", "report_csvs"));
        assert_eq!(manifest.needs[0].name, crate::PROFILE);
    }
}
