//! Rewrites a source file so that it runs on a simulated machine. In the rewritten file, paths to
//! `std`, `core` and `alloc` begin with `cores_std` instead, which has most of the same names.
//! Paths to `rustix` lead to `cores_std::rustix`, which has a part of that crate.
//!
//! The rewriter works on tokens, so it rewrites macros but not comments; every line keeps its
//! number.

use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

const FACADE: &str = "::cores_std";

/// Words after which a path may begin with `::`; after any other word, `::` continues a path.
const BEFORE_PATHS: &[&str] = &[
    "as", "break", "const", "dyn", "else", "extern", "for", "if", "impl", "in", "let", "match",
    "move", "mut", "pub", "ref", "return", "static", "type", "unsafe", "use", "where", "while",
];

/// Source that cannot be rewritten: its line and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// The code that cannot be rewritten, and the remedy.
    pub why: String,
}

/// The tokens of a file and their positions. Each [`Token::Word`] keeps its text, because finding
/// the text by its position takes long.
struct Tokens(Vec<(Token, Span)>);

enum Token {
    Word(String),
    Mark(char),
    Other,
}

impl Tokens {
    fn of(text: &str) -> Result<Self, Fault> {
        let mut tokens = Self(Vec::new());
        tokens.add(parsed(text)?);
        Ok(tokens)
    }

    fn add(&mut self, stream: TokenStream) {
        for tree in stream {
            let (token, span) = match tree {
                TokenTree::Ident(word) => (Token::Word(word.to_string()), word.span()),
                TokenTree::Punct(mark) => (Token::Mark(mark.as_char()), mark.span()),
                TokenTree::Literal(literal) => (Token::Other, literal.span()),
                TokenTree::Group(group) => {
                    self.0.push((Token::Other, group.span_open()));
                    self.add(group.stream());
                    (Token::Other, group.span_close())
                }
            };
            self.0.push((token, span));
        }
    }

    fn word(&self, i: usize) -> &str {
        match self.0.get(i) {
            Some((Token::Word(word), _)) => word,
            _ => "",
        }
    }

    fn is_mark(&self, i: usize, mark: char) -> bool {
        matches!(self.0.get(i), Some((Token::Mark(it), _)) if *it == mark)
    }

    fn is_colons(&self, i: usize) -> bool {
        self.is_mark(i, ':') && self.is_mark(i + 1, ':')
    }

    fn range(&self, i: usize) -> Range<usize> {
        self.0[i].1.byte_range()
    }
}

/// Returns the rewritten text. `has_alloc` says whether a file of the crate says `extern crate
/// alloc`. If so, the name `alloc` means that crate.
///
/// # Errors
/// Returns the first place that cannot be rewritten.
pub fn rewritten(text: &str, has_alloc: bool) -> Result<String, Fault> {
    let tokens = Tokens::of(text)?;
    let word = |i| tokens.word(i);
    let count = tokens.0.len();
    // A visit to an `UnsafeCell` has a cost, so a function with such a visit cannot be `const`.
    let has_cells = (0..count).any(|i| word(i) == "UnsafeCell");
    let visits = |i: usize| {
        let is_called = || text[tokens.range(i).end..].starts_with("()");
        word(i) == "get" && tokens.is_mark(i.wrapping_sub(1), '.') && is_called()
    };
    let function_of = |i: usize| (0..i).rev().find(|&i| word(i) == "fn");
    let no_constants: BTreeSet<usize> = (0..count)
        .filter(|&i| has_cells && visits(i))
        .filter_map(function_of)
        .filter_map(|i| (i.saturating_sub(2)..i).find(|&i| word(i) == "const"))
        .collect();
    let mut after = String::with_capacity(text.len());
    let mut copied = 0;
    for i in 0..count {
        let begins_with_colons = i >= 2 && tokens.is_colons(i - 2);
        let is_inner = begins_with_colons && i >= 3 && {
            let before = word(i - 3);
            !before.is_empty() && !BEFORE_PATHS.contains(&before)
        };
        let new = match word(i) {
            name @ ("std" | "core" | "alloc" | "rustix") if name != "alloc" || has_alloc => {
                let is_renamed = word(i + 1) == "as" || tokens.is_mark(i + 1, ';');
                if is_renamed && word(i - i.min(1)) == "use"
                    || word(i + 1) == "as" && word(i - i.min(1)) == "crate"
                {
                    return Err(Fault {
                        line: tokens.0[i].1.start().line,
                        why: format!(
                            "`{name}` is renamed or imported; write paths that begin with `{name}::`"
                        ),
                    });
                }
                if is_inner || !tokens.is_colons(i + 1) {
                    continue;
                }
                let facade = if name == "rustix" {
                    "::cores_std::rustix"
                } else {
                    FACADE
                };
                if begins_with_colons {
                    &facade[2..]
                } else {
                    facade
                }
            }
            "Box"
                if word(i + 3) == "from_raw" && tokens.is_colons(i + 1) && !begins_with_colons =>
            {
                "::cores_std::boxed"
            }
            "inline" if passes_on(text, &tokens, i) => "inline] #[track_caller",
            "const" if no_constants.contains(&i) => "     ",
            "thread_local" if tokens.is_mark(i + 1, '!') && !begins_with_colons => {
                "::cores_std::thread_local"
            }
            _ => continue,
        };
        let Range { start, end } = tokens.range(i);
        after.push_str(&text[copied..start]);
        after.push_str(new);
        copied = end;
    }
    after.push_str(&text[copied..]);
    Ok(after)
}

const CALLS: [(&str, &[&str]); 2] = [
    ("Join", &["join", "join_context"]),
    ("Spawn", &["spawn", "spawn_fifo"]),
];

/// Returns the text of a pool's source file, in which the public functions of `CALLS` first add the
/// cost of their own instructions. A function that calls a function of the same row adds nothing,
/// because the called function adds the cost.
///
/// # Errors
/// If the text has the name of such a function and is not Rust.
pub fn with_own_instructions(text: &str) -> Result<String, Fault> {
    let mut names = CALLS.iter().flat_map(|(_, names)| *names);
    if !names.any(|name| text.contains(name)) {
        return Ok(text.to_owned());
    }
    let tokens = Tokens::of(text)?;
    let word = |i| tokens.word(i);
    let source = |i: usize| &text[tokens.range(i)];
    let mut after = String::with_capacity(text.len());
    let mut copied = 0;
    let count = tokens.0.len();
    for i in 0..count {
        let call = CALLS.iter().find(|(_, names)| names.contains(&word(i + 1)));
        let Some((call, names)) = call.filter(|_| i > 0 && word(i) == "fn" && word(i - 1) == "pub")
        else {
            continue;
        };
        let mut body = (i..count).skip_while(|&i| source(i) != "{");
        let Some(begin) = body.next() else {
            continue;
        };
        let mut depth = 1;
        let inside = body.take_while(|&i| {
            match source(i) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth > 0
        });
        let is_passed_on = |i: usize| {
            let rest = &text[tokens.range(i).end..];
            names.contains(&word(i)) && (rest.starts_with('(') || rest.starts_with("::<"))
        };
        if !inside.into_iter().any(is_passed_on) {
            let begin = tokens.range(begin).end;
            after.push_str(&text[copied..begin]);
            after.extend([
                " ::cores_std::manycore::own_instructions(::cores_std::manycore::Call::",
                call,
                ");",
            ]);
            copied = begin;
        }
    }
    after.push_str(&text[copied..]);
    Ok(after)
}

/// Returns a file of tests, rewritten: each test passes its body to the function `on`, as in
/// `on("name", || { … })`.
///
/// # Errors
/// If `text` is not Rust.
pub fn with_tests_on(text: &str, on: &str) -> Result<String, Fault> {
    let mut after = String::with_capacity(text.len());
    let (mut copied, mut is_test, mut name) = (0, false, None);
    let trees: Vec<TokenTree> = parsed(text)?.into_iter().collect();
    for (i, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) if group.stream().to_string() == "test" => is_test = true,
            TokenTree::Ident(word) if is_test && word == "fn" => {
                name = trees.get(i + 1).map(ToString::to_string);
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let body = group.span().byte_range();
                if let Some(name) = name.take() {
                    after.push_str(&text[copied..body.start]);
                    after.extend([
                        "{ ",
                        on,
                        "(\"",
                        &name,
                        "\", || ",
                        &text[body.clone()],
                        ") }",
                    ]);
                    copied = body.end;
                }
                is_test = false;
            }
            _ => {}
        }
    }
    after.push_str(&text[copied..]);
    Ok(after)
}

/// Whether token `i` is the `inline` of a short function that accesses an atomic or a lock. Such an
/// access is attributed to the line of the function's caller.
fn passes_on(text: &str, tokens: &Tokens, i: usize) -> bool {
    const ACCESSES: [&str; 9] = [
        ".load(",
        ".store(",
        ".swap(",
        ".compare_exchange",
        ".fetch_",
        "lock()",
        ".wait(",
        ".notify_all()",
        " fence(",
    ];
    let Some((_, bracket)) = tokens.0.get(i + 1) else {
        return false;
    };
    let (before, rest) = text.split_at(bracket.byte_range().start);
    let Some(rest) = rest.strip_prefix(']') else {
        return false;
    };
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let right = line.len() - line.trim_start().len();
    let Some(end) = rest.find(&format!("\n{}}}", &line[..right])) else {
        return false;
    };
    let body = &rest[..end];
    let is_method = body.matches("fn ").count() == 1 && !body.contains("extern");
    let is_short = body.len() < 420 && body.matches(';').count() <= 2;
    is_method && is_short && ACCESSES.iter().any(|it| body.contains(it))
}

/// Whether the file says `extern crate alloc`.
///
/// # Errors
/// If the text has the words `extern`, `crate` and `alloc`, and is not Rust.
pub fn has_alloc(text: &str) -> Result<bool, Fault> {
    const WORDS: [&str; 3] = ["extern", "crate", "alloc"];
    // Searching for words is far quicker than finding tokens, and few files have all three words.
    if !WORDS.iter().all(|word| text.contains(word)) {
        return Ok(false);
    }
    let tokens = Tokens::of(text)?;
    let is_declared = |i: usize| (i..).zip(WORDS).all(|(i, word)| tokens.word(i) == word);
    Ok((0..tokens.0.len()).any(is_declared))
}

fn parsed(text: &str) -> Result<TokenStream, Fault> {
    text.parse::<TokenStream>().map_err(|error| Fault {
        line: error.span().start().line,
        why: format!("not Rust: {error}; mend the file, or delete it if no module needs it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_to_the_standard_library_lead_to_the_facade() {
        for (text, expected) in [
            ("use std::sync::Arc;", "use ::cores_std::sync::Arc;"),
            (
                "fn f() -> ::std::io::Result<()> {}",
                "fn f() -> ::cores_std::io::Result<()> {}",
            ),
            (
                "use {core::mem, std::fmt};",
                "use {::cores_std::mem, ::cores_std::fmt};",
            ),
            (
                "a(&std::hint::spin_loop, core::mem::take)",
                "a(&::cores_std::hint::spin_loop, ::cores_std::mem::take)",
            ),
            (
                "macro_rules! m { ($a:ident) => { core::sync::$a } }",
                "macro_rules! m { ($a:ident) => { ::cores_std::sync::$a } }",
            ),
            (
                "thread_local!(static A: u8 = 1);",
                "::cores_std::thread_local!(static A: u8 = 1);",
            ),
            (
                "drop(Box::from_raw(it))",
                "drop(::cores_std::boxed::from_raw(it))",
            ),
            (
                "use rustix::thread::membarrier;",
                "use ::cores_std::rustix::thread::membarrier;",
            ),
        ] {
            assert_eq!(rewritten(text, true).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_only_looks_like_such_a_path_stays() {
        for text in [
            "// std::sync and `core::mem`",
            "/// std::sync::Arc\nstruct A;",
            "const A: &str = \"std::sync\";",
            "use crate::std::sync;",
            "use self::core::{a, b};",
            "extern crate std;",
            "let std = std.core + x::alloc::y();",
            "use loom::thread_local;",
            "//! One.\n\nuse a::{\n    b, // two\n};\n\n\nfn three() {}\n",
        ] {
            assert_eq!(rewritten(text, true).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_function_that_visits_a_cell_is_no_constant() {
        let text = "struct A(UnsafeCell<u8>);\nimpl A { pub const fn a(&self) -> *mut u8 { self.0.get() } const fn b() {} }";
        let expected = text.replace("const fn a", "      fn a");
        assert_eq!(rewritten(text, false), Ok(expected));
        let text = "const fn a(it: NonZero<u8>) -> u8 { it.get() }";
        assert_eq!(rewritten(text, false).as_deref(), Ok(text));
    }

    #[test]
    fn a_method_that_only_passes_an_access_on_is_reported_by_its_caller() {
        let method =
            |body| format!("impl A {{\n    #[inline]\n    fn a(&self) {{\n{body}\n    }}\n}}\n");
        let short = method("        self.0.store(1, Relaxed);");
        let expected = short.replace("#[inline]", "#[inline] #[track_caller]");
        assert_eq!(rewritten(&short, false), Ok(expected));
        for body in [
            "        self.0.push(1);",
            "        self.0.load(Relaxed);\n        b();\n        c();",
        ] {
            assert_eq!(rewritten(&method(body), false), Ok(method(body)));
        }
        let deeper = method("        match self.0.lock() {\n        }").replace('\n', "\n    ");
        assert!(rewritten(&deeper, false).unwrap().contains("track_caller"));
    }

    #[test]
    fn a_public_function_that_begins_a_job_adds_its_instructions_once() {
        let charge = |call| {
            format!(
                " ::cores_std::manycore::own_instructions(::cores_std::manycore::Call::{call});"
            )
        };
        let text = "pub fn join<A>(a: A)\nwhere A: Send,\n{ join_by::<_, 1>(|| { a() }) }";
        let expected = text.replace("{ join", &format!("{{{} join", charge("Join")));
        assert_eq!(with_own_instructions(text), Ok(expected));
        let text = "impl S { pub fn spawn(&self) { self.push(self.fifo()) } fn b() { spawn() } }";
        let expected = text.replace("{ self", &format!("{{{} self", charge("Spawn")));
        assert_eq!(with_own_instructions(text), Ok(expected));
        for text in [
            "pub fn join(a: A) { join_context::<A>(|_| a()) }",
            "impl P { pub fn spawn_fifo(&self) { { self.install(|| spawn(1)) } } }",
            "impl T for B { fn spawn(&mut self) { self.0() } }",
            "pub fn join_all() { }",
            "trait T { fn join(&self); }",
        ] {
            assert_eq!(with_own_instructions(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn alloc_is_a_crate_where_it_is_declared_and_else_a_name_like_any() {
        let text = "use alloc::boxed::Box;";
        assert_eq!(rewritten(text, false).as_deref(), Ok(text));
        assert_eq!(
            rewritten(text, true).as_deref(),
            Ok("use ::cores_std::boxed::Box;")
        );
        assert_eq!(
            rewritten("alloc::alloc::alloc(it)", true).as_deref(),
            Ok("::cores_std::alloc::alloc(it)")
        );
        assert_eq!(has_alloc("#[cfg(a)]\nextern crate alloc;"), Ok(true));
        assert_eq!(has_alloc("extern crate std; use alloc::x;"), Ok(false));
    }

    #[test]
    fn tests_give_their_bodies_away_and_other_functions_do_not() {
        let text =
            "#[test]\n#[should_panic(expected = \"x\")]\nfn a() {\n    b();\n}\nfn b() { c() }\n";
        let expected = text
            .replace("fn a() {", "fn a() { on(\"a\", || {")
            .replace(";\n}", ";\n}) }");
        assert_eq!(with_tests_on(text, "on"), Ok(expected));
    }

    #[test]
    fn another_name_for_the_library_is_refused_with_its_line() {
        for text in [
            "\nuse std as s;",
            "\nuse core;",
            "\nextern crate core as std;",
        ] {
            let fault = rewritten(text, false).unwrap_err();
            assert!(
                fault.line == 2 && fault.why.contains("write paths"),
                "{fault:?}"
            );
        }
        let fault = rewritten("fn f() {\n    )\n}", false).unwrap_err();
        assert!(fault.why.contains("not Rust"), "{fault:?}");
    }
}
