//! The macros of `longhaul-sdk`, where they are documented and whose types they write. Do not depend on this crate.
#![deny(missing_docs)]

use proc_macro::TokenStream;

mod about;
mod job;
mod plugin;
mod tool;

/// Documented in `longhaul-sdk`.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    attribute(tool::expand, arguments, item)
}

/// Documented in `longhaul-sdk`.
#[proc_macro_attribute]
pub fn job(arguments: TokenStream, item: TokenStream) -> TokenStream {
    attribute(job::expand, arguments, item)
}

/// Documented in `longhaul-sdk`.
#[proc_macro]
pub fn plugin(body: TokenStream) -> TokenStream {
    plugin::expand(body.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// After a mistake the item is left as it was, so that the compiler does not also miss it.
fn attribute(
    expand: fn(proc_macro2::TokenStream, proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream>,
    arguments: TokenStream,
    item: TokenStream,
) -> TokenStream {
    match expand(arguments.into(), item.clone().into()) {
        Ok(expanded) => expanded.into(),
        Err(mistake) => [item, mistake.into_compile_error().into()].into_iter().collect(),
    }
}
