//! The built binary, as people use it. One test binary: each links the whole of wasmtime.

mod answers;
mod children;
mod data;
mod grants;
mod inbox;
mod input;
mod json;
mod limits;
mod operating;
mod pages;
mod plugins;
mod prompt;
mod replay;
mod run;
mod signals;
mod tasks;
mod terminal;
