//! `plugin! { … }`

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Ident, LitStr, Path, Token, bracketed, parenthesized};

use crate::about::once;

#[derive(Default)]
struct Plugin {
    name: Option<Expr>,
    version: Option<Expr>,
    description: Option<Expr>,
    license: Option<Expr>,
    homepage: Option<Expr>,
    tools: Option<Punctuated<Path, Token![,]>>,
    needs: Option<Punctuated<Need, Token![,]>>,
}

const KNOWN: &str = "`name`, `version`, `description`, `license`, `homepage`, `tools` or `needs`";

impl Parse for Plugin {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut plugin = Self::default();
        while !input.is_empty() {
            let key: Ident =
                input.parse().map_err(|error| syn::Error::new(error.span(), format!("expected {KNOWN}")))?;
            input
                .parse::<Token![:]>()
                .map_err(|error| syn::Error::new(error.span(), format!("expected `:` after `{key}`")))?;
            match key.to_string().as_str() {
                "name" => once(&key, &mut plugin.name, input.parse()?)?,
                "version" => once(&key, &mut plugin.version, input.parse()?)?,
                "description" => once(&key, &mut plugin.description, input.parse()?)?,
                "license" => once(&key, &mut plugin.license, input.parse()?)?,
                "homepage" => once(&key, &mut plugin.homepage, input.parse()?)?,
                "tools" => once(&key, &mut plugin.tools, list(input)?)?,
                "needs" => once(&key, &mut plugin.needs, list(input)?)?,
                _ => {
                    return Err(syn::Error::new(key.span(), format!("unknown field `{key}`: expected {KNOWN}")));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(plugin)
    }
}

fn list<T: Parse>(input: ParseStream) -> syn::Result<Punctuated<T, Token![,]>> {
    let items;
    bracketed!(items in input);
    Punctuated::parse_terminated(&items)
}

struct Need {
    kind: Ident,
    name: LitStr,
    why: LitStr,
    required: bool,
}

const NEED: &str = "a need is `http(\"api.example.com\", why = \"…\")`, `setting(\"name\", why = \"…\")`, \
    `secret(\"name\", why = \"…\")` or `tool(\"plugin/tool\", why = \"…\")`, with `required` after it if the plugin is of no use without";

impl Parse for Need {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let wrong = |span: Span| syn::Error::new(span, NEED);
        let kind: Ident = input.parse().map_err(|error: syn::Error| wrong(error.span()))?;
        let variant = match kind.to_string().as_str() {
            "http" => "Http",
            "setting" => "Setting",
            "secret" => "Secret",
            "tool" => "Tool",
            _ => return Err(wrong(kind.span())),
        };
        let arguments;
        parenthesized!(arguments in input);
        let name: LitStr = arguments.parse().map_err(|error: syn::Error| wrong(error.span()))?;
        let mut why = None;
        let mut required = false;
        while !arguments.is_empty() {
            arguments.parse::<Token![,]>().map_err(|error| wrong(error.span()))?;
            if arguments.is_empty() {
                break;
            }
            let key: Ident = arguments.parse().map_err(|error: syn::Error| wrong(error.span()))?;
            if key == "required" {
                required = true;
            } else if key == "why" {
                arguments.parse::<Token![=]>().map_err(|error| wrong(error.span()))?;
                why = Some(arguments.parse().map_err(|error: syn::Error| wrong(error.span()))?);
            } else {
                return Err(wrong(key.span()));
            }
        }
        let why = why.ok_or_else(|| {
            syn::Error::new(kind.span(), "say `why = \"…\"`: by this the operator decides whether to grant it")
        })?;
        Ok(Self { kind: Ident::new(variant, kind.span()), name, why, required })
    }
}

pub fn expand(body: TokenStream) -> syn::Result<TokenStream> {
    let plugin: Plugin = syn::parse2(body)?;
    let Some(tools) = plugin.tools.filter(|tools| !tools.is_empty()) else {
        return Err(syn::Error::new(Span::call_site(), "a plugin has tools: `tools: [some_function]`"));
    };
    let name = or_cargo(plugin.name, "CARGO_PKG_NAME");
    let version = or_cargo(plugin.version, "CARGO_PKG_VERSION");
    let description = or_cargo(plugin.description, "CARGO_PKG_DESCRIPTION");
    let license = or_cargo(plugin.license, "CARGO_PKG_LICENSE");
    let homepage = or_cargo(plugin.homepage, "CARGO_PKG_HOMEPAGE");
    let needs = plugin.needs.into_iter().flatten().map(|Need { kind, name, why, required }| {
        quote! { ::longhaul_sdk::__private::need(::longhaul_sdk::NeedKind::#kind, #name, #why, #required) }
    });
    let entries = tools.iter().map(|tool| {
        quote_spanned! { tool.span() => ::longhaul_sdk::__private::ToolEntry::of::<#tool>() }
    });
    let names =
        tools.iter().map(|tool| quote_spanned! { tool.span() => <#tool as ::longhaul_sdk::__private::Tool>::NAME });
    let checks = [
        check(
            &name,
            quote! { is_plugin_name },
            "a plugin's `name` starts with a lowercase letter and goes on with lowercase letters, digits and `-`, 64 at most",
        ),
        check(&version, quote! { is_version }, "a plugin's `version` is a semantic version, such as 1.0.0"),
        check(&description, quote! { is_said }, "a plugin has a `description`, here or in Cargo.toml"),
    ];
    Ok(quote! {
        /// The plugin that this crate exports.
        pub struct Plugin;

        impl Plugin {
            /// What the host gets to see of the plugin.
            #[allow(dead_code)]
            pub fn manifest() -> ::longhaul_sdk::Manifest {
                ::longhaul_sdk::__private::manifest::<Self>()
            }
        }

        #(#checks)*

        const _: () = ::core::assert!(
            ::longhaul_sdk::__private::are_different(&[#(#names),*]),
            "two of the plugin's tools have the same name",
        );

        impl ::longhaul_sdk::__private::Plugin for Plugin {
            const TOOLS: &'static [::longhaul_sdk::__private::ToolEntry] = &[#(#entries),*];

            fn about() -> ::longhaul_sdk::Manifest {
                ::longhaul_sdk::__private::new_manifest(
                    #name,
                    #version,
                    #description,
                    #license,
                    #homepage,
                    ::std::vec![#(#needs),*],
                )
            }
        }

        // Elsewhere the exports' names would only trouble the linker.
        #[cfg(target_family = "wasm")]
        ::longhaul_sdk::bindings::export!(Plugin with_types_in ::longhaul_sdk::bindings);
    })
}

fn or_cargo(given: Option<Expr>, variable: &str) -> TokenStream {
    match given {
        Some(given) => quote! { #given },
        None => quote! { ::core::env!(#variable) },
    }
}

fn check(value: &TokenStream, rule: TokenStream, message: &str) -> TokenStream {
    quote_spanned! { value.span() =>
        const _: () = ::core::assert!(::longhaul_sdk::__private::#rule(#value), #message);
    }
}
