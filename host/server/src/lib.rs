//! The faces of a Longhaul host for agents: HTTP, server-sent events, webhooks and MCP.
//!
//! They are projections of the engine through its public API: nothing of a task lives only in a face.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod mcp;
