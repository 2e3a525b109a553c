//! What both attributes say about a tool: its name, doc comment, hints and pace.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitBool, LitStr, Meta, Token};

/// The attribute's arguments.
#[derive(Default)]
pub struct Arguments {
    pub name: Option<LitStr>,
    title: Option<LitStr>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
    pace: Option<Ident>,
}

const KNOWN: &str = "`name`, `title`, `read_only`, `destructive`, `idempotent`, `open_world` or `pace`";

impl Parse for Arguments {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            let key: Ident =
                input.parse().map_err(|error| syn::Error::new(error.span(), format!("expected {KNOWN}")))?;
            match key.to_string().as_str() {
                "name" => once(&key, &mut arguments.name, text(&key, input)?)?,
                "title" => once(&key, &mut arguments.title, text(&key, input)?)?,
                "read_only" => once(&key, &mut arguments.read_only, flag(input)?)?,
                "destructive" => once(&key, &mut arguments.destructive, flag(input)?)?,
                "idempotent" => once(&key, &mut arguments.idempotent, flag(input)?)?,
                "open_world" => once(&key, &mut arguments.open_world, flag(input)?)?,
                "pace" => once(&key, &mut arguments.pace, pace(input)?)?,
                _ => {
                    return Err(syn::Error::new(key.span(), format!("unknown argument `{key}`: expected {KNOWN}")));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if arguments.read_only == Some(true) && arguments.destructive == Some(true) {
            return Err(syn::Error::new(Span::call_site(), "a tool that is `read_only` cannot be `destructive`"));
        }
        Ok(arguments)
    }
}

pub fn once<T>(key: &Ident, place: &mut Option<T>, value: T) -> syn::Result<()> {
    match place.replace(value) {
        Some(_) => Err(syn::Error::new(key.span(), format!("`{key}` is given twice"))),
        None => Ok(()),
    }
}

fn text(key: &Ident, input: ParseStream) -> syn::Result<LitStr> {
    let wrong = |span| syn::Error::new(span, format!("write `{key} = \"…\"`"));
    input.parse::<Token![=]>().map_err(|error| wrong(error.span()))?;
    input.parse().map_err(|error: syn::Error| wrong(error.span()))
}

fn flag(input: ParseStream) -> syn::Result<bool> {
    if !input.peek(Token![=]) {
        return Ok(true);
    }
    input.parse::<Token![=]>()?;
    Ok(input.parse::<LitBool>()?.value)
}

fn pace(input: ParseStream) -> syn::Result<Ident> {
    let wrong = |span| syn::Error::new(span, "write `pace = quick`, `pace = any` or `pace = long`");
    input.parse::<Token![=]>().map_err(|error| wrong(error.span()))?;
    let pace: Ident = input.parse().map_err(|error: syn::Error| wrong(error.span()))?;
    let name = match pace.to_string().as_str() {
        "quick" => "Quick",
        "any" => "Any",
        "long" => "Long",
        _ => return Err(wrong(pace.span())),
    };
    Ok(Ident::new(name, pace.span()))
}

/// The doc comment, without what Rust's formatting puts before each line.
fn description(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(meta) => match &meta.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
        .flat_map(|text| {
            text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect::<Vec<_>>()
        })
        .collect();
    lines.join("\n").trim().to_owned()
}

/// A tool's name and the expression of its `About`.
pub struct About {
    /// A check of the name, to stand beside the implementation.
    pub check: TokenStream,
    pub name: LitStr,
    pub about: TokenStream,
}

/// `named` is what bears the name; `default_pace` what it is if the author does not say.
pub fn about(
    arguments: Arguments,
    attributes: &[Attribute],
    default_name: String,
    named: Span,
    default_pace: &str,
) -> syn::Result<About> {
    let description = description(attributes);
    if description.is_empty() {
        return Err(syn::Error::new(
            named,
            "a tool needs a doc comment: it is the description by which a model decides whether to call the tool",
        ));
    }
    let name = arguments.name.unwrap_or_else(|| LitStr::new(&default_name, named));
    let message = format!(
        "`{}` is no name for a tool: it starts with a lowercase letter and goes on with lowercase letters, digits and `_`, 64 at most",
        name.value()
    );
    let check = quote_spanned! { name.span() =>
        const _: () = ::core::assert!(::longhaul_sdk::__private::is_tool_name(#name), #message);
    };
    let title = option(arguments.title.as_ref());
    let read_only = option(arguments.read_only.as_ref());
    let destructive = option(arguments.destructive.as_ref());
    let idempotent = option(arguments.idempotent.as_ref());
    let open_world = option(arguments.open_world.as_ref());
    let pace = arguments.pace.unwrap_or_else(|| Ident::new(default_pace, Span::call_site()));
    let about = quote! {
        ::longhaul_sdk::__private::About {
            name: #name,
            title: #title,
            description: #description,
            hints: ::longhaul_sdk::Hints {
                read_only: #read_only,
                destructive: #destructive,
                idempotent: #idempotent,
                open_world: #open_world,
            },
            pace: ::longhaul_sdk::Pace::#pace,
        }
    };
    Ok(About { check, name, about })
}

fn option(value: Option<&impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote! { ::core::option::Option::Some(#value) },
        None => quote! { ::core::option::Option::None },
    }
}

/// Fails if there are generics, on which a tool's schema could not depend.
pub fn not_generic(generics: &syn::Generics, what: &str) -> syn::Result<()> {
    if generics.params.is_empty() && generics.where_clause.is_none() {
        return Ok(());
    }
    Err(syn::Error::new(
        generics.span(),
        format!("{what} cannot be generic: its schemas are fixed when the plugin is installed"),
    ))
}
