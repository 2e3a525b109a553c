//! Checkers of the HTTP interface.

use std::process::Command;

use anyhow::{Context, Result};

use super::server::Server;
use super::{Place, in_venv};

/// Sends whatever the description of the API allows, and much that it does not: there is no fault of the host, and no answer
/// that is not described.
pub fn schemathesis(place: &Place) -> Result<String> {
    let dir = tempfile::tempdir().context("a temporary directory")?;
    let server = Server::start(dir.path(), "conformance", "")?;
    let mut checks = Command::new(in_venv("checkers").with_file_name("schemathesis"));
    checks
        .current_dir(dir.path())
        .args(["run", &format!("{}/openapi.json", server.url), "--no-color"])
        .args(["--header", &format!("Authorization: Bearer {}", server.token)])
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"])
        .args(["--checks", "response_schema_conformance"])
        // It would wait for the end of a stream that has none.
        .args(["--exclude-path", "/v1/feed"])
        // It makes no components.
        .args(["--exclude-operation-id", "install"])
        .args(["--max-examples", "40", "--seed", "1", "--generation-database", "none"]);
    let said = place.within_the_time(&mut checks)?;
    let cases =
        said.lines().find(|line| line.contains(" generated, ")).unwrap_or("no fault, nothing that is not described");
    Ok(cases.trim().to_owned())
}
