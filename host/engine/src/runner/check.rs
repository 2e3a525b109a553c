//! Values held to a tool's schemas: where that takes long, by a thread that nobody else waits for.

use std::sync::Arc;

use serde_json::Value;

use super::blocking;
use crate::Error;
use crate::limits::{Limit, Limits};
use crate::plugin::{CompiledSchema, Ready, Schemas};
use crate::task::Output;

/// The input as it is kept, if there is such a tool and it takes that.
pub(crate) async fn accept(ready: &Arc<Ready>, tool: &str, input: &Value, limits: &Limits) -> Result<String, Error> {
    let Some(schemas) = schemas(ready, tool).await? else {
        let has = ready.manifest.tools.iter().map(|tool| tool.name.clone()).collect();
        return Err(Error::UnknownTool { plugin: ready.manifest.name.clone(), tool: tool.to_owned(), has });
    };
    let refused = |problem| Error::Input { tool: tool.to_owned(), problem };
    let text = input.to_string();
    if text.len() as u64 > limits.input {
        return Err(refused(format!("it has {} bytes as JSON ({})", text.len(), limits.said(Limit::input))));
    }
    check(&schemas.input, input).await?.map_err(refused)?;
    Ok(text)
}

/// Whether an output is what its tool declares, or else what is wrong with it.
pub(super) async fn checked(ready: &Arc<Ready>, tool: &str, output: &Output) -> Result<Result<(), String>, Error> {
    let schemas = match schemas(ready, tool).await {
        Ok(schemas) => schemas,
        Err(error @ Error::Plugin(_)) => return Ok(Err(error.to_string())),
        Err(error) => return Err(error),
    };
    let Some(schema) = schemas.and_then(|schemas| schemas.output.as_ref()) else { return Ok(Ok(())) };
    let Some(structured) = &output.structured else {
        return Ok(Err("the tool declares an output schema and returned no structured output".into()));
    };
    let valid = check(schema, structured).await?;
    Ok(valid.map_err(|problem| format!("what it returned is not valid against its output schema: {problem}")))
}

/// A tool's schemas, if there is such a tool. They are compiled when they are first needed, which may take long.
async fn schemas<'a>(ready: &'a Arc<Ready>, tool: &str) -> Result<Option<&'a Schemas>, Error> {
    if !ready.has_compiled(tool) {
        let (ready, tool) = (ready.clone(), tool.to_owned());
        blocking(move || Ok(ready.schemas(&tool).map(drop)?)).await?;
    }
    Ok(ready.schemas(tool)?)
}

async fn check(schema: &CompiledSchema, value: &Value) -> Result<Result<(), String>, Error> {
    if !schema.takes_long(value) {
        return Ok(schema.check(value));
    }
    let (schema, value) = (schema.clone(), value.clone());
    blocking(move || Ok(schema.check(&value))).await
}
