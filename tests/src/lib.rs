//! What the end-to-end tests share. They use the real binary and real plugins, built by `cargo xtask test`.

pub mod audit;
pub mod canary;
pub mod cli;
pub mod echo;
pub mod embedded;
pub mod example;
pub mod hostile;
pub mod peer;
pub mod server;
pub mod soak;
#[cfg(unix)]
pub mod terminal;
pub mod worker;
