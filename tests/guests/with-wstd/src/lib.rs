//! A guest whose requests are sent by `wstd`, with its async runtime.

use longhaul_sdk::{Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wstd::http::{Body, Client, Request};

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
    wstd::runtime::block_on(async {
        let request = Request::post(&input.url).header("x-client", "wstd").body(Body::from(input.body));
        let response = Client::new().send(request.map_err(ToolError::failed)?).await.map_err(ToolError::failed)?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let body = body.str_contents().await.map_err(ToolError::failed)?;
        Ok(Got { status, body: body.to_owned() })
    })
}
