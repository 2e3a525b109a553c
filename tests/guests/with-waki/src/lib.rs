//! A guest whose requests are sent by `waki`.

use longhaul_sdk::{Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

longhaul_sdk::plugin! {
    tools: [send],
    needs: [http("*", why = "tests grant it where their servers are")],
}

#[derive(Deserialize, JsonSchema)]
struct Input {
    url: String,
    body: String,
}

#[derive(Serialize, JsonSchema)]
struct Got {
    status: u16,
    body: String,
}

/// Posts a body, and returns the response.
#[longhaul_sdk::tool]
fn send(_task: &Task, input: Input) -> Result<Got, ToolError> {
    let request = waki::Client::new().post(&input.url).header("x-client", "waki").body(input.body);
    let response = request.send().map_err(ToolError::failed)?;
    let status = response.status_code();
    let body = response.body().map_err(ToolError::failed)?;
    Ok(Got { status, body: String::from_utf8_lossy(&body).into_owned() })
}
