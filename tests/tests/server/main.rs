//! `longhaul serve`: the built binary, called over HTTP. One test binary: each links the whole of wasmtime.

mod access;
mod config;
mod connections;
mod feed;
mod inbox;
mod list;
mod metrics;
mod misuse;
mod policy;
mod said;
mod secrets;
mod tasks;
mod webhooks;
