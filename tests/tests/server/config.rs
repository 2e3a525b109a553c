//! `longhaul serve --config FILE`.

use longhaul_tests::cli::Cli;
use serde_json::json;

#[tokio::test]
async fn a_file_that_is_named_takes_the_place_of_the_one_in_the_data_directory() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).expect("a folder");
    std::fs::write(cli.data().join("longhaul.toml"), "[server]\nnonsense = true\n").expect("a file");
    let named = cli.file("mine.toml", "[server]\nbody_bytes = 1000\n\n[plugins.probe]\nalias = \"mine\"\n");
    let named = named.display().to_string();
    let server = cli.serve(&["--config", &named]);
    let agent = server.agent();
    let large = json!({ "plugin": "probe", "tool": "noop", "context": "x".repeat(1000) });
    agent.post("/v1/tasks", large).await.problem(413, "too-large");
    // What it allows counts, and again when it has changed.
    agent.post("/v1/tasks", json!({ "plugin": "mine", "tool": "noop" })).await.is(202);
    std::fs::write(&named, "[plugins.probe]\nalias = \"other\"\n").expect("a file");
    agent.post("/v1/tasks", json!({ "plugin": "other", "tool": "noop" })).await.is(202);
    agent.post("/v1/tasks", json!({ "plugin": "mine", "tool": "noop" })).await.problem(422, "unknown-plugin");
    server.kill();

    let missing = cli.data().with_file_name("nothing.toml").display().to_string();
    let refused = cli.try_serve(&["--config", &missing]).err().expect("it is refused");
    refused.exits(2).says("nothing.toml").says("docs/longhaul.toml");
    let wrong = cli.file("wrong.toml", "[server]\nlisten_on = 5\n").display().to_string();
    let refused = cli.try_serve(&["--config", &wrong]).err().expect("it is refused");
    refused.exits(2).says("wrong.toml").says("listen_on");
}
