//! The contract in Rust, made from `wit/`.

wasmtime::component::bindgen!({
    path: "wit",
    world: "plugin",
    imports: {
        "longhaul:tool/task.ask-human": async | trappable,
        "longhaul:tool/task.sleep": async | trappable,
        "longhaul:tool/concurrent.ask": async | trappable,
        "longhaul:tool/concurrent.start-tool": async | trappable,
        "longhaul:tool/concurrent.wait-any": async | trappable,
        "longhaul:tool/concurrent.result-of": async | trappable,
        "longhaul:tool/concurrent.withdraw": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    require_store_data_send: true,
});
