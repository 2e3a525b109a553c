//! The engine by itself, with guests written in WebAssembly text. One binary: each links the whole of wasmtime.

mod backup;
mod basics;
mod cancel;
mod children;
mod common;
mod disk;
mod doctor;
mod embedding;
mod every_limit;
mod feed;
mod hostile;
mod hosts;
mod install;
mod journal;
mod kin;
mod limits;
mod names;
mod policy;
mod questions;
mod queue;
mod replay;
mod retention;
mod start;
mod tickets;
mod webhooks;
