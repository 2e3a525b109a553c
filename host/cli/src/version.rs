//! What `longhaul --version` tells.

use std::sync::LazyLock;

use longhaul::versions;

/// The version, and below it those that a report of a problem should name.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (wasmtime, contract, database) = (versions::WASMTIME, versions::CONTRACT, versions::DATABASE);
    format!("{}\nwasmtime {wasmtime}\ncontract {contract}\ndatabase {database}", env!("CARGO_PKG_VERSION"))
});
