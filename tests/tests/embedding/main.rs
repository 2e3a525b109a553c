//! What an embedder is promised, with real plugins: the examples of the crate, hooks over `kill -9`, and what it is given for
//! its own tests.

mod examples;
mod hooks;
mod scripts;
