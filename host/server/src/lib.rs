//! The faces of a Longhaul host for agents: HTTP, server-sent events, webhooks and MCP.
//!
//! They are projections of the engine through its public API: nothing of a task lives only in a face.
//!
//! A [`Server`] has routes ([`Server::router`]) and answers on a listener ([`Server::serve`]). Who calls is known by a bearer
//! token ([`longhaul::Token`]) and becomes a [`Principal`], through which a handler sees the caller's namespace and nothing
//! else. What goes wrong is a [`Problem`].

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod codes;
mod config;
mod connections;
mod http;
pub mod mcp;
mod origin;
mod pace;
mod principal;
mod problem;
mod rates;
mod server;
mod web;

pub use config::Config;
pub use principal::Principal;
pub use problem::{Problem, TYPE_PREFIX};
pub use server::Server;
