//! Plugins that nobody should trust, in the sandbox of a host that other tasks go on in. Each is a file in `tests/hostile`,
//! or a tool of the probe. One test binary: each links the whole of wasmtime.

mod arena;
mod compiling;
mod computing;
mod documents;
mod ends;
mod network;
mod outside;
mod plugins;
mod room;
mod talking;
mod waiting;
