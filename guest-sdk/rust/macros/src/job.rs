//! `#[job]` on an implementation of `Job`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{ItemImpl, Type};

use crate::about::{About, Arguments, about, not_generic};

pub fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let arguments: Arguments = syn::parse2(arguments)?;
    let wrong = |span| syn::Error::new(span, "`#[job]` belongs on `impl Job for SomeType`");
    let implementation: ItemImpl = syn::parse2(item).map_err(|error| wrong(error.span()))?;
    if implementation.trait_.is_none() {
        return Err(wrong(implementation.self_ty.span()));
    }
    not_generic(&implementation.generics, "a job")?;
    let job = &*implementation.self_ty;
    let Type::Path(path) = job else {
        return Err(wrong(job.span()));
    };
    let default_name = snake_case(&path.path.segments.last().expect("a path has segments").ident.to_string());
    let About { check, name, about } = about(arguments, &implementation.attrs, default_name, job.span(), "Long")?;
    let result = quote! { ::core::result::Result };
    let task = quote! { task: &::longhaul_sdk::Task };
    Ok(quote! {
        #implementation

        #check

        impl ::longhaul_sdk::__private::Tool for #job {
            const NAME: &'static str = #name;

            fn spec() -> ::longhaul_sdk::ToolSpec {
                ::longhaul_sdk::__private::spec::<
                    <Self as ::longhaul_sdk::Job>::Input,
                    <Self as ::longhaul_sdk::Job>::Output,
                >(#about)
            }

            fn execute(#task) -> #result<::longhaul_sdk::__private::WitExecution, ::longhaul_sdk::ToolError> {
                ::longhaul_sdk::__private::start::<Self>(task)
            }

            fn await_task(
                #task,
                ticket: &[u8],
            ) -> #result<::longhaul_sdk::__private::WitExecution, ::longhaul_sdk::ToolError> {
                ::longhaul_sdk::__private::check::<Self>(task, ticket)
            }

            fn cancel_task(#task, ticket: &[u8]) -> #result<(), ::longhaul_sdk::ToolError> {
                ::longhaul_sdk::__private::cancel::<Self>(task, ticket)
            }
        }
    })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut after_lowercase = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && after_lowercase {
            snake.push('_');
        }
        after_lowercase = !letter.is_ascii_uppercase();
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_type_gives_its_tool_a_name() {
        assert_eq!(super::snake_case("RenderFilm2"), "render_film2");
        assert_eq!(super::snake_case("Job"), "job");
    }
}
