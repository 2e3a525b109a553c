//! The plugin `csv-profile`: its tool says what is in a CSV file. See the README for the rules.

mod column;
mod date;
mod delimiter;
mod markdown;
mod number;
mod profile;
mod table;

use longhaul_sdk::{Output, Question, Reply, Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use column::Column;
use number::Decimal;
use profile::Profile;
use table::Table;

longhaul_sdk::plugin! {
    tools: [profile_csv],
}

/// A CSV file.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The file's text, at most 4 MiB. The first row names the columns.
    csv: String,
    /// The character between two fields. Found out if not given.
    delimiter: Option<String>,
    /// What stands before a number's fraction. Found out if not given.
    decimal: Option<Decimal>,
}

/// Profiles a CSV file: for each column its type, how many values are missing or different, and the range, mean and
/// quantiles of numbers. Asks a person where the delimiter or the number format cannot be told from the file.
#[longhaul_sdk::tool(title = "Profile a CSV file", read_only, idempotent, open_world = false)]
fn profile_csv(task: &Task, input: Input) -> Result<Output<Profile>, ToolError> {
    let csv = input.csv.trim_start_matches('\u{feff}');
    if csv.trim().is_empty() {
        return Err(ToolError::invalid_input("the file is empty: there is not even a row that names the columns"));
    }
    let delimiter = match &input.delimiter {
        Some(text) => delimiter::given(text)?,
        None => find_delimiter(task, csv)?,
    };

    let total = table::count_rows(csv, delimiter);
    let every = (total / 20).max(1_000);
    let table = Table::read(csv, delimiter, |rows| {
        if rows % every == 0 {
            task.progress(format!("read {rows} rows")).done(rows).of(total);
        }
    })?;
    task.progress(format!("read all {total} rows")).done(total).of(total);

    let mut columns: Vec<Column> = table.columns().collect();
    let decimal = match input.decimal {
        Some(decimal) => Some(decimal),
        None => find_decimal(task, &columns)?,
    };
    let mut profiles = Vec::new();
    for column in columns.drain(..) {
        if task.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        task.progress(format!("profiling the column {}", column.name)).debug();
        profiles.push(column.profile(decimal));
    }
    let profile = Profile::new(table.rows(), delimiter, profiles);
    let markdown = markdown::profile(&profile);
    Ok(Output::new(profile).markdown(markdown))
}

fn find_delimiter(task: &Task, csv: &str) -> Result<u8, ToolError> {
    let candidates = delimiter::candidates(csv);
    let [first, _, ..] = candidates[..] else {
        return Ok(candidates.first().copied().unwrap_or(b','));
    };
    task.progress("the file can be read in several ways");
    let choices = candidates.iter().map(|&candidate| (char::from(candidate).to_string(), delimiter::title(candidate)));
    let question = Question::choose_from("Which character is between two fields of this file?", choices)
        .detail(delimiter::readings(csv, &candidates))
        .default(char::from(first).to_string());
    match task.ask(question)? {
        Reply::Answered(answer) => delimiter::given(&answer.value),
        _ => Err(ToolError::invalid_input("the file can be read in several ways: say which `delimiter` it has")),
    }
}

/// None where nobody could say: then the columns in doubt stay text.
fn find_decimal(task: &Task, columns: &[Column]) -> Result<Option<Decimal>, ToolError> {
    let (column, example) = match number::decide(columns) {
        number::Decision::Clear(decimal) => return Ok(Some(decimal)),
        number::Decision::Ambiguous { column, example } => (column, example),
    };
    let choices = [Decimal::Point, Decimal::Comma].map(|decimal| {
        let value = number::parse(example, decimal).expect("what is ambiguous can be read either way");
        (decimal.name(), format!("{example} is {}", number::plain(value)))
    });
    let usual = Decimal::usual_in(task.context().locale.as_deref().unwrap_or_default());
    let question = Question::choose_from(format!("Which number is {example}?"), choices)
        .detail(format!("It is in the column **{}**, and nothing in the file tells.", markdown_table::escape(column)))
        .default(usual.name().to_owned());
    match task.ask(question)? {
        Reply::Answered(answer) => Ok(Decimal::named(&answer.value)),
        _ => {
            task.progress("numbers that can be read in two ways are left as text").warning();
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_manifest_is_sound() {
        let manifest = crate::Plugin::manifest();
        assert_eq!(manifest.name, "csv-profile");
        assert_eq!(manifest.tools[0].name, "profile_csv");
        assert_eq!(manifest.tools[0].input_schema["required"], serde_json::json!(["csv"]));
    }
}
