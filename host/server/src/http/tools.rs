//! Tools and plugins: what there is to start.

use ::http::StatusCode;
use axum::extract::Request;
use longhaul::Plugin;
use serde_json::{Value, json};

use super::document::shapes;
use super::extract::{Path, body};
use crate::{Principal, Problem};

/// Lists the tools of the newest version of each plugin. Where the operator gave a plugin an `alias`, it can be started by that too.
#[utoipa::path(
    get, path = "/v1/tools", tag = "tools",
    responses((status = 200, description = "The tools", body = shapes::ToolList)),
)]
pub(super) async fn tools(caller: Principal) -> Result<axum::Json<Value>, Problem> {
    let host = caller.to_look()?;
    let (plugins, policy) = (host.plugins().await?, host.policy());
    let mut tools = Vec::new();
    let mut before: Option<&Plugin> = None;
    for plugin in &plugins {
        // By name, the newest first: the others can be started by their digests alone.
        if before.replace(plugin).is_some_and(|before| before.name == plugin.name) {
            continue;
        }
        // As the manifest has them, members that nobody here knows included.
        let mut said = json!(plugin.manifest);
        let said = said["tools"].as_array_mut().map(std::mem::take);
        let alias = policy.alias(&caller.token().namespace, &plugin.name);
        for mut said in said.into_iter().flatten() {
            said["plugin"] = plugin.name.as_str().into();
            said["version"] = plugin.version.as_str().into();
            said["digest"] = plugin.digest.as_str().into();
            // What a manifest says so is the plugin's word, not the operator's.
            match (alias, said.as_object_mut()) {
                (Some(alias), Some(said)) => said.insert("alias".into(), alias.into()),
                (None, Some(said)) => said.remove("alias"),
                (_, None) => None,
            };
            tools.push(said);
        }
    }
    Ok(axum::Json(json!({ "tools": tools })))
}

/// Lists the installed plugins.
#[utoipa::path(
    get, path = "/v1/plugins", tag = "tools",
    responses((status = 200, description = "The plugins, by name, the newest first", body = shapes::PluginList)),
)]
pub(super) async fn plugins(caller: Principal) -> Result<axum::Json<Value>, Problem> {
    let plugins = caller.to_look()?.plugins().await?;
    Ok(axum::Json(json!({ "plugins": plugins })))
}

/// Shows one plugin: what it offers and what it needs.
#[utoipa::path(
    get, path = "/v1/plugins/{plugin}", tag = "tools", params(("plugin" = String, Path, description = "A name, alias or digest")),
    responses(
        (status = 200, description = "The plugin", body = shapes::Plugin),
        (status = 404, description = "Refused: there is no such plugin"),
    ),
)]
pub(super) async fn plugin(caller: Principal, Path(plugin): Path<String>) -> Result<axum::Json<Plugin>, Problem> {
    Ok(axum::Json(caller.to_look()?.plugin(&plugin).await?))
}

/// Installs a plugin, for all namespaces. It is granted nothing by that: grants are the operator's, on the machine.
#[utoipa::path(
    post, path = "/v1/plugins", tag = "tools",
    request_body(content = Vec<u8>, content_type = "application/wasm", description = "A component: 64 MiB at most"),
    responses(
        (status = 201, description = "The plugin is installed", body = shapes::Plugin),
        (status = 413, description = "Refused: it is too large"),
        (status = 422, description = "Refused: it is no plugin that this host can load"),
    ),
)]
pub(super) async fn install(caller: Principal, request: Request) -> Result<(StatusCode, axum::Json<Plugin>), Problem> {
    let host = caller.to_administer()?;
    let component = body(request, &()).await?;
    Ok((StatusCode::CREATED, axum::Json(host.install(component).await?)))
}

/// Removes a plugin that no unfinished task needs.
#[utoipa::path(
    delete, path = "/v1/plugins/{plugin}", tag = "tools", operation_id = "remove_plugin",
    params(("plugin" = String, Path, description = "A name, alias or digest")),
    responses(
        (status = 204, description = "It is removed"),
        (status = 404, description = "Refused: there is no such plugin"),
        (status = 409, description = "Refused: unfinished tasks need it"),
    ),
)]
pub(super) async fn remove(caller: Principal, Path(plugin): Path<String>) -> Result<StatusCode, Problem> {
    caller.to_administer()?.remove_plugin(&plugin).await?;
    Ok(StatusCode::NO_CONTENT)
}
