//! MCP, as clients speak it: raw JSON-RPC with the built binary.

mod client;
mod companions;
mod config;
mod durable;
mod http;
mod misuse;
mod modern;
mod older;
mod without_tasks;
