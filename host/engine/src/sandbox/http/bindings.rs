//! `wasi:http` in Rust, made from `wasi/`. One version serves all components of 0.2: wasmtime links them by their minor
//! version.

wasmtime::component::bindgen!({
    path: "wasi",
    inline: "
        package longhaul:http;
        world outgoing {
            import wasi:http/types@0.2.12;
            import wasi:http/outgoing-handler@0.2.12;
        }",
    world: "longhaul:http/outgoing",
    imports: {
        "wasi:http/types.[method]future-incoming-response.get": async | trappable,
        default: trappable,
    },
    with: {
        "wasi:io": wasmtime_wasi::p2::bindings::io,
        "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
        "wasi:http/types.fields": super::fields::Fields,
        "wasi:http/types.outgoing-request": super::request::Request,
        "wasi:http/types.request-options": super::request::Options,
        "wasi:http/types.outgoing-body": super::outgoing::Body,
        "wasi:http/types.future-incoming-response": super::exchange::Awaited,
        "wasi:http/types.incoming-response": super::incoming::Response,
        "wasi:http/types.incoming-body": super::incoming::Body,
        "wasi:http/types.future-trailers": super::incoming::Trailers,
        "wasi:http/types.incoming-request": super::serving::Never,
        "wasi:http/types.response-outparam": super::serving::Never,
        "wasi:http/types.outgoing-response": super::serving::Never,
    },
    require_store_data_send: true,
});
