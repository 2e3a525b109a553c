//! `#[tool]` on a function.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{FnArg, ItemFn, ReturnType, Type};

use crate::about::{About, Arguments, about, not_generic};

const SHAPE: &str = "a tool is `fn name(task: &Task, input: Input) -> Result<Output, ToolError>`";

pub fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let arguments: Arguments = syn::parse2(arguments)?;
    let function: ItemFn = syn::parse2(item)
        .map_err(|error| syn::Error::new(error.span(), format!("`#[tool]` belongs on a function: {SHAPE}")))?;
    let (input, output) = types(&function)?;
    let name = &function.sig.ident;
    let About { check, name: tool_name, about } =
        about(arguments, &function.attrs, name.to_string(), name.span(), "Any")?;
    let visibility = &function.vis;
    let output = quote_spanned! { output.span() => <#output as ::longhaul_sdk::__private::Returned>::Output };
    let spec = quote_spanned! { input.span() => ::longhaul_sdk::__private::spec::<#input, #output> };
    Ok(quote! {
        #function

        // A type beside the function, so that both go by one name wherever it is imported.
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility struct #name {}

        #check

        impl ::longhaul_sdk::__private::Tool for #name {
            const NAME: &'static str = #tool_name;

            fn spec() -> ::longhaul_sdk::ToolSpec {
                #spec(#about)
            }

            fn execute(
                task: &::longhaul_sdk::Task,
            ) -> ::core::result::Result<::longhaul_sdk::__private::WitExecution, ::longhaul_sdk::ToolError> {
                ::longhaul_sdk::__private::run(task, #name)
            }
        }
    })
}

/// The types of the input and of what is returned.
fn types(function: &ItemFn) -> syn::Result<(&Type, &Type)> {
    let signature = &function.sig;
    let wrong = |span, what: &str| Err(syn::Error::new(span, format!("{what}: {SHAPE}")));
    if let Some(keyword) = &signature.asyncness {
        return wrong(
            keyword.span(),
            "a tool cannot be `async`; it waits with `task.ask`, `task.sleep` and `task.wait_any`",
        );
    }
    not_generic(&signature.generics, "a tool")?;
    let [FnArg::Typed(task), FnArg::Typed(input)] = &signature.inputs.iter().collect::<Vec<_>>()[..] else {
        return wrong(signature.paren_token.span.join(), "a tool takes a task and an input");
    };
    if !matches!(&*task.ty, Type::Reference(reference) if reference.mutability.is_none()) {
        return wrong(task.ty.span(), "a tool's first argument is a `&Task`");
    }
    match &signature.output {
        ReturnType::Type(_, output) => Ok((&input.ty, output)),
        ReturnType::Default => wrong(signature.ident.span(), "a tool returns a `Result`"),
    }
}
