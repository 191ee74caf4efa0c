//! Regular expressions in Go's syntax, run by the `regex` crate.
//!
//! Both are finite automata without backtracking, so time is linear in the text. The syntaxes differ in
//! details: `\d`, `\w`, `\s` and `\b` are ASCII in Go; `[` and `&&` mean nothing inside a class in Go; a
//! `{` that starts no counter is a literal; a counter stops at 1000; `**` is an error. The pattern is
//! rewritten so that the crate reads it as Go does.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

/// What a compiled pattern may take, in bytes.
const SIZE_LIMIT: usize = 4 << 20;
/// How deep groups may nest. Go allows 1000; ours has to fit the stack.
const NEST_LIMIT: u32 = 200;
/// The largest counter Go allows.
const MAX_COUNT: u32 = 1000;

/// A pattern and what became of it. Equal when the texts are.
#[derive(Clone)]
pub(crate) struct Pattern {
    text: Arc<str>,
    compiled: Result<Regex, Arc<str>>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: compile(text).map_err(Into::into) }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The compiled pattern, or why there is none.
    pub(crate) fn regex(&self) -> Result<&Regex, &str> {
        self.compiled.as_ref().map_err(|error| &**error)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, formatter)
    }
}

/// Compiles a pattern of Go's syntax.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern).map_err(|why| format!("error parsing regexp: {why}"))?;
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).nest_limit(NEST_LIMIT).build().map_err(|error| {
        match error {
            regex::Error::CompiledTooBig(_) => "error parsing regexp: expression too large".to_owned(),
            other => format!("error parsing regexp: {}", last_line(&other.to_string())),
        }
    })
}

/// The crate draws the pattern over several lines; its last line says what is wrong.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

struct Translator<'p> {
    pattern: &'p str,
    chars: Peekable<CharIndices<'p>>,
    out: String,
    /// The last thing was a counter, so another one cannot follow.
    after_repeat: bool,
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut translator = Translator {
        pattern,
        chars: pattern.char_indices().peekable(),
        out: String::with_capacity(pattern.len() + 16),
        after_repeat: false,
    };
    while let Some((at, c)) = translator.chars.next() {
        translator.step(at, c)?;
    }
    Ok(translator.out)
}

impl Translator<'_> {
    fn step(&mut self, at: usize, c: char) -> Result<(), String> {
        match c {
            '\\' => self.escape(at)?,
            '[' => self.class(at)?,
            '*' | '+' | '?' => return self.repeat(at, &c.to_string()),
            '{' => match counter(&self.pattern[at..]) {
                Some(text) => {
                    self.skip(text.len() - 1);
                    return self.counted(at, text);
                }
                None => self.out.push_str("\\{"),
            },
            '}' => self.out.push_str("\\}"),
            ']' => self.out.push_str("\\]"),
            '(' => {
                self.out.push('(');
                self.flags(at)?;
            }
            // A space or # is only special under the flag x, which Go has not.
            c => self.out.push(c),
        }
        self.after_repeat = false;
        Ok(())
    }

    fn skip(&mut self, chars: usize) {
        for _ in 0..chars {
            self.chars.next();
        }
    }

    fn counted(&mut self, at: usize, text: &str) -> Result<(), String> {
        let mut numbers = text.trim_matches(['{', '}']).split(',').filter(|number| !number.is_empty());
        if !numbers.all(|number| number.parse::<u32>().is_ok_and(|number| number <= MAX_COUNT)) {
            return Err(format!("invalid repeat count: `{text}`"));
        }
        self.repeat(at, text)
    }

    fn repeat(&mut self, at: usize, text: &str) -> Result<(), String> {
        if self.after_repeat {
            return Err(format!(
                "invalid nested repetition operator: `{}`",
                &self.pattern[at..at + text.len()]
            ));
        }
        self.out.push_str(text);
        if self.chars.peek().is_some_and(|(_, c)| *c == '?') {
            self.chars.next();
            self.out.push('?');
        }
        self.after_repeat = true;
        Ok(())
    }

    /// `(?i)` and its like: only the flags that Go has.
    fn flags(&mut self, at: usize) -> Result<(), String> {
        let rest = &self.pattern[at..];
        let Some(inner) = rest.strip_prefix("(?") else { return Ok(()) };
        if inner.starts_with("P<") || inner.starts_with('<') {
            if inner.starts_with("<=") || inner.starts_with("<!") {
                return Err(format!("invalid or unsupported Perl syntax: `{}`", prefix(rest, 4)));
            }
            return Ok(());
        }
        let end = inner.find([':', ')']).ok_or_else(|| "missing closing )".to_owned())?;
        if !inner[..end].chars().all(|c| matches!(c, 'i' | 'm' | 's' | 'U' | '-')) {
            return Err(format!("invalid or unsupported Perl syntax: `{}`", prefix(rest, 3)));
        }
        Ok(())
    }

    fn escape(&mut self, at: usize) -> Result<(), String> {
        let Some((_, c)) = self.chars.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        match c {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str("[\\t\\n\\x0C\\r ]"),
            'S' => self.out.push_str("[^\\t\\n\\x0C\\r ]"),
            'b' => self.out.push_str("(?-u:\\b)"),
            'B' => self.out.push_str("\\B"),
            'Q' => self.literal(),
            'A' | 'z' | 'p' | 'P' => {
                self.out.push('\\');
                self.out.push(c);
                self.braces();
            }
            c => {
                let literal = self.escaped_char(at, c)?;
                push_literal(&mut self.out, literal);
            }
        }
        Ok(())
    }

    /// `{…}` after `\p`, copied as it is.
    fn braces(&mut self) {
        if self.chars.peek().is_some_and(|(_, c)| *c == '{') {
            for (_, c) in self.chars.by_ref() {
                self.out.push(c);
                if c == '}' {
                    break;
                }
            }
        }
    }

    /// `\Q…\E`.
    fn literal(&mut self) {
        while let Some((_, c)) = self.chars.next() {
            if c == '\\' && self.chars.peek().is_some_and(|(_, c)| *c == 'E') {
                self.chars.next();
                return;
            }
            push_literal(&mut self.out, c);
        }
    }

    /// The one character that an escape stands for.
    fn escaped_char(&mut self, at: usize, c: char) -> Result<char, String> {
        Ok(match c {
            'a' => '\u{7}',
            'f' => '\u{c}',
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\u{b}',
            'x' => return self.hexadecimal(at),
            '0'..='7' => return self.octal(at, c),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(format!("invalid escape sequence: `\\{c}`")),
        })
    }

    fn hexadecimal(&mut self, at: usize) -> Result<char, String> {
        let rest = &self.pattern[at + 2..];
        let (digits, taken) = match rest.strip_prefix('{') {
            Some(inner) => inner.split_once('}').map(|(digits, _)| (digits, digits.len() + 2)),
            None => rest.get(..2).map(|digits| (digits, 2)),
        }
        .ok_or_else(|| format!("invalid escape sequence: `{}`", prefix(&self.pattern[at..], 3)))?;
        self.skip(taken);
        let code = if digits.chars().all(|c| c.is_ascii_hexdigit()) {
            u32::from_str_radix(digits, 16).ok()
        } else {
            None
        };
        code.and_then(char::from_u32)
            .ok_or_else(|| format!("invalid escape sequence: `{}`", prefix(&self.pattern[at..], 3)))
    }

    fn octal(&mut self, at: usize, first: char) -> Result<char, String> {
        let mut digits = String::from(first);
        while digits.len() < 3 {
            match self.chars.peek() {
                Some((_, c @ '0'..='7')) => digits.push(*c),
                _ => break,
            }
            self.chars.next();
        }
        // One digit but 0 would be a reference to a group.
        if digits.len() == 1 && first != '0' {
            return Err(format!("invalid escape sequence: `{}`", prefix(&self.pattern[at..], 2)));
        }
        let code = u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32);
        code.ok_or_else(|| "invalid escape sequence".to_owned())
    }

    fn class(&mut self, at: usize) -> Result<(), String> {
        self.out.push('[');
        if self.chars.next_if(|(_, c)| *c == '^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some((here, c)) = self.chars.next() else {
                return Err(format!("missing closing ]: `{}`", &self.pattern[at..]));
            };
            match c {
                ']' if !first => break,
                '[' if self.pattern[here..].starts_with("[:") => self.posix(here)?,
                '\\' if self.pattern[here..].starts_with("\\Q") => {
                    return Err("invalid escape sequence: `\\Q`".to_owned());
                }
                c => self.class_item(here, c)?,
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    fn posix(&mut self, at: usize) -> Result<(), String> {
        let Some(end) = self.pattern[at..].find(":]") else {
            push_literal(&mut self.out, '[');
            return Ok(());
        };
        let name = &self.pattern[at..at + end + 2];
        self.skip(name.chars().count() - 1);
        let known = name[2..name.len() - 2].trim_start_matches('^');
        let all = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        if !all.contains(&known) {
            return Err(format!("invalid character class range: `{name}`"));
        }
        self.out.push_str(name);
        Ok(())
    }

    /// A character, a range or a class such as `\d` inside a class.
    fn class_item(&mut self, at: usize, c: char) -> Result<(), String> {
        let low = match c {
            '\\' => match self.class_escape(at)? {
                Some(literal) => literal,
                None => return Ok(()),
            },
            c => c,
        };
        push_class_literal(&mut self.out, low);
        let mut ahead = self.chars.clone();
        let is_range =
            ahead.next().is_some_and(|(_, c)| c == '-') && ahead.next().is_some_and(|(_, c)| c != ']');
        if !is_range {
            return Ok(());
        }
        self.chars.next();
        let Some((here, c)) = self.chars.next() else { return Ok(()) };
        let high = match c {
            '\\' => self.class_escape(here)?.ok_or_else(|| "invalid character class range".to_owned())?,
            c => c,
        };
        if high < low {
            return Err(format!("invalid character class range: `{low}-{high}`"));
        }
        self.out.push('-');
        push_class_literal(&mut self.out, high);
        Ok(())
    }

    /// An escape inside a class: its character, or nothing when it stood for several and was written.
    fn class_escape(&mut self, at: usize) -> Result<Option<char>, String> {
        let Some((_, c)) = self.chars.next() else { return Err("missing closing ]".to_owned()) };
        match c {
            'd' => self.out.push_str("0-9"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("0-9A-Za-z_"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str("\\t\\n\\x0C\\r "),
            'S' => self.out.push_str("[^\\t\\n\\x0C\\r ]"),
            'p' | 'P' => {
                self.out.push('\\');
                self.out.push(c);
                self.braces();
            }
            c => return self.escaped_char(at, c).map(Some),
        }
        Ok(None)
    }
}

/// The first characters of a text.
fn prefix(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// `{2}`, `{2,}` or `{2,3}` at the start of a text.
fn counter(text: &str) -> Option<&str> {
    let end = text.find('}')?;
    let (low, high) = text[1..end].split_once(',').unwrap_or((&text[1..end], ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!low.is_empty() && digits(low) && digits(high)).then(|| &text[..=end])
}

fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_punctuation() && c != '<' && c != '>' {
        out.push('\\');
    }
    out.push(c);
}

fn push_class_literal(out: &mut String, c: char) {
    push_literal(out, c);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::ascii_digits(r"^\d+$", "١", false)]
    #[case::ascii_words(r"^\w+$", "é", false)]
    #[case::bracket_in_class("^[[a]+$", "[a", true)]
    #[case::and_in_class("^[a&&b]+$", "&", true)]
    #[case::tilde_in_class("^[a~~b]+$", "~", true)]
    #[case::dashes_in_class("^[+--]+$", ",", true)]
    #[case::first_bracket("^[]a]+$", "]", true)]
    #[case::class_in_class(r"^[\d.]+$", "1.2", true)]
    #[case::not_class_in_class(r"^[\D]+$", "abc", true)]
    #[case::posix("^[[:alpha:]]+$", "abc", true)]
    #[case::literal_brace("^a{b}$", "a{b}", true)]
    #[case::literal_comma_brace("^a{,2}$", "a{,2}", true)]
    #[case::counter("^a{2,3}$", "aaa", true)]
    #[case::less_than(r"^\<a\>$", "<a>", true)]
    #[case::quoted(r"^\Qa.b\E$", "a.b", true)]
    #[case::quoted_dot(r"^\Qa.b\E$", "axb", false)]
    #[case::hexadecimal(r"^\x41\x{1F600}$", "A😀", true)]
    #[case::end_is_end_of_text("^a$", "a\n", false)]
    #[case::flags("(?i)^a$", "A", true)]
    fn patterns_match_as_in_go(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(compile(pattern).map(|regex| regex.is_match(text)), Ok(expected));
    }

    #[rstest]
    #[case::open_group("(", "error parsing regexp: unclosed group")]
    #[case::nested_repeat("a**", "error parsing regexp: invalid nested repetition operator: `*`")]
    #[case::large_counter("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`")]
    #[case::look_behind("(?<=a)b", "error parsing regexp: invalid or unsupported Perl syntax: `(?<=`")]
    #[case::look_ahead("(?=a)b", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`")]
    #[case::extended("(?x)a", "error parsing regexp: invalid or unsupported Perl syntax: `(?x`")]
    #[case::reference(r"(a)\1", "error parsing regexp: invalid escape sequence: `\\1`")]
    #[case::open_class("[a", "error parsing regexp: missing closing ]: `[a`")]
    #[case::too_large("((((a{100}){100}){100}){100})", "error parsing regexp: expression too large")]
    fn patterns_refused(#[case] pattern: &str, #[case] expected: &str) {
        assert_eq!(compile(pattern).map(|_| ()).unwrap_err(), expected);
    }
}
