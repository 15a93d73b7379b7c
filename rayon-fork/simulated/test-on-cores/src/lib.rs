//! An attribute `#[test]` that runs the test on a simulated machine, so that the fork's tests need not say that they do.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes `fn name() { … }` a test that gives its body to `crate::common::machine::run`.
#[proc_macro_attribute]
pub fn test(_: TokenStream, function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let is_fn =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let name = tokens.iter().skip_while(|token| !is_fn(token)).nth(1).map(ToString::to_string);
    let (Some(name), Some(TokenTree::Group(body))) = (name, tokens.pop()) else {
        return "compile_error!(\"`#[test]` is for functions\");".parse().unwrap();
    };
    // The body's own tokens, so that a panic names its line.
    let parse = |text: &str| text.parse::<TokenStream>().unwrap();
    let arguments = parse(&format!("\"{name}\", ||")).into_iter().chain([TokenTree::Group(body)]);
    let arguments = TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments.collect()));
    let call = parse("crate::common::machine::run").into_iter().chain([arguments]);
    let call = TokenTree::Group(Group::new(Delimiter::Brace, call.collect()));
    parse("#[::core::prelude::v1::test]").into_iter().chain(tokens).chain([call]).collect()
}
