//! The contract as `wit-bindgen` writes it: for the macros, and for what the SDK does not cover.
#![allow(missing_docs)]

wit_bindgen::generate!({
    path: "wit",
    world: "plugin",
    pub_export_macro: true,
    default_bindings_module: "longhaul_sdk::bindings",
});
