//! Text to tree: the grammar of CEL, and its macros.
//!
//! Depth and size are bounded here, so that everything that walks a tree later may recurse.
//! Behaviour: cel-spec `doc/langdef.md`; cel-go `parser`, which also gives the texts of macro errors.

use super::macros;

/// How long an expression may be, in bytes.
pub(crate) const MAX_SOURCE: usize = 100_000;
/// How many nodes the tree of an expression may have, macros expanded.
pub(crate) const MAX_NODES: usize = 20_000;
/// How deep the tree may be, macros expanded.
pub(crate) const MAX_TREE_DEPTH: usize = 128;
/// How deep parentheses, brackets and arguments may nest.
const MAX_NESTING: usize = 64;

/// What an expression may use, by the minor version of Kubernetes (1.x) it must be compatible with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Env {
    pub(crate) minor: u16,
}

impl Env {
    /// Everything that is implemented.
    pub(crate) const ALL: Self = Self { minor: u16::MAX };
}

/// A mistake in an expression and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    /// Byte offset.
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl Issue {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// The issue as cel-go prints it: position, text, the line, and a mark below the place.
    pub(crate) fn display(&self, source: &str) -> String {
        let mut at = self.at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        let before = &source[..at];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = source[start..at].chars().count();
        let text = source[start..].lines().next().unwrap_or_default().replace('\t', " ");
        let mark = ".".repeat(column);
        format!("ERROR: <input>:{line}:{}: {}\n | {text}\n | {mark}^", column + 1, self.message)
    }
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    /// Dense, unique in its tree.
    pub(crate) id: usize,
    /// Byte offset in the source.
    pub(crate) at: usize,
    depth: usize,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    Ident(String),
    /// The name of a type; the checker puts it where an identifier is one.
    TypeName(String),
    Select {
        operand: Box<Expr>,
        field: String,
        test: bool,
    },
    Call {
        function: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    List(Vec<(Expr, bool)>),
    Map(Vec<(Expr, Expr, bool)>),
    Struct {
        name: String,
        fields: Vec<(String, Expr)>,
    },
    Fold(Box<Fold>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
}

/// What macros expand to.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) range: Expr,
    pub(crate) var: String,
    pub(crate) var2: Option<String>,
    pub(crate) accu: String,
    pub(crate) init: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

/// Makes nodes: counts them and their depth.
pub(crate) struct Builder {
    next: usize,
    /// Where in the source a limit was exceeded.
    exceeded: Option<Issue>,
}

impl Builder {
    pub(crate) fn node(&mut self, at: usize, kind: Kind) -> Expr {
        let depth = 1 + match &kind {
            Kind::Literal(_) | Kind::Ident(_) | Kind::TypeName(_) => 0,
            Kind::Select { operand, .. } => operand.depth,
            Kind::Call { target, args, .. } => {
                args.iter().chain(target.as_deref()).map(|arg| arg.depth).max().unwrap_or(0)
            }
            Kind::List(items) => items.iter().map(|(item, _)| item.depth).max().unwrap_or(0),
            Kind::Map(entries) => entries.iter().map(|(k, v, _)| k.depth.max(v.depth)).max().unwrap_or(0),
            Kind::Struct { fields, .. } => fields.iter().map(|(_, value)| value.depth).max().unwrap_or(0),
            Kind::Fold(fold) => [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result]
                .map(|part| part.depth)
                .into_iter()
                .max()
                .unwrap_or(0),
        };
        let id = self.next;
        self.next += 1;
        if depth > MAX_TREE_DEPTH {
            self.exceed(at, &format!("expression recursion limit exceeded: {MAX_TREE_DEPTH}"));
        }
        if id > MAX_NODES {
            self.exceed(at, &format!("expression node limit exceeded: {MAX_NODES}"));
        }
        if self.exceeded.is_some() {
            // The tree is given up anyway; a leaf keeps it from growing on.
            return Expr { id, at, depth: 1, kind: Kind::Literal(Literal::Null) };
        }
        Expr { id, at, depth, kind }
    }

    fn exceed(&mut self, at: usize, message: &str) {
        self.exceeded.get_or_insert_with(|| Issue::new(at, message));
    }

    pub(crate) fn literal(&mut self, at: usize, literal: Literal) -> Expr {
        self.node(at, Kind::Literal(literal))
    }

    pub(crate) fn ident(&mut self, at: usize, name: &str) -> Expr {
        self.node(at, Kind::Ident(name.to_owned()))
    }

    pub(crate) fn call(&mut self, at: usize, function: &str, args: Vec<Expr>) -> Expr {
        self.node(at, Kind::Call { function: function.to_owned(), target: None, args })
    }

    pub(crate) fn member(&mut self, at: usize, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        self.node(at, Kind::Call { function: function.to_owned(), target: Some(Box::new(target)), args })
    }

    pub(crate) fn list(&mut self, at: usize, items: Vec<Expr>) -> Expr {
        self.node(at, Kind::List(items.into_iter().map(|item| (item, false)).collect()))
    }

    /// The same tree with ids of its own.
    pub(crate) fn copy(&mut self, expr: &Expr) -> Expr {
        let kind = match &expr.kind {
            Kind::Select { operand, field, test } => {
                Kind::Select { operand: Box::new(self.copy(operand)), field: field.clone(), test: *test }
            }
            Kind::Call { function, target, args } => Kind::Call {
                function: function.clone(),
                target: target.as_ref().map(|target| Box::new(self.copy(target))),
                args: args.iter().map(|arg| self.copy(arg)).collect(),
            },
            Kind::List(items) => {
                Kind::List(items.iter().map(|(item, opt)| (self.copy(item), *opt)).collect())
            }
            Kind::Map(entries) => {
                Kind::Map(entries.iter().map(|(k, v, opt)| (self.copy(k), self.copy(v), *opt)).collect())
            }
            Kind::Struct { name, fields } => Kind::Struct {
                name: name.clone(),
                fields: fields.iter().map(|(field, value)| (field.clone(), self.copy(value))).collect(),
            },
            Kind::Fold(fold) => Kind::Fold(Box::new(Fold {
                range: self.copy(&fold.range),
                var: fold.var.clone(),
                var2: fold.var2.clone(),
                accu: fold.accu.clone(),
                init: self.copy(&fold.init),
                condition: self.copy(&fold.condition),
                step: self.copy(&fold.step),
                result: self.copy(&fold.result),
            })),
            leaf => leaf.clone(),
        };
        self.node(expr.at, kind)
    }
}

/// A parsed expression and how many ids it has.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) expr: Expr,
    pub(crate) ids: usize,
}

/// Parses an expression and expands its macros.
pub(crate) fn parse(source: &str, env: Env) -> Result<Parsed, Issue> {
    if source.len() > MAX_SOURCE {
        return Err(Issue::new(
            0,
            format!("expression code point size exceeds limit: size: {}, limit {MAX_SOURCE}", source.len()),
        ));
    }
    let mut parser = Parser {
        lexer: Lexer { source, at: 0 },
        token: Token::End,
        start: 0,
        depth: 0,
        env,
        builder: Builder { next: 0, exceeded: None },
    };
    let expr = parser.whole();
    // Once a limit is exceeded the tree is not what was written, and other issues mean nothing.
    match parser.builder.exceeded {
        Some(issue) => Err(issue),
        None => Ok(Parsed { expr: expr?, ids: parser.builder.next }),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    End,
    Ident(String),
    Literal(Literal),
    /// A whole number that only fits with a minus in front: 2^63.
    MinInt,
    Punct(&'static str),
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

/// Longest first.
const PUNCTUATION: [&str; 27] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ",", ".", "(", ")",
    "[", "]", "{", "}", "=", "&", "|",
];

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn next(&mut self) -> Result<(usize, Token), Issue> {
        self.skip_space();
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok((start, Token::End)) };
        let token = if let Some((prefix, quote)) = string_start(rest) {
            self.at += prefix;
            let literal =
                self.text(start, &self.source[start..start + prefix].to_ascii_lowercase(), quote)?;
            Token::Literal(literal)
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            self.number()?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = &rest[..end];
            let token = match name {
                "true" => Token::Literal(Literal::Bool(true)),
                "false" => Token::Literal(Literal::Bool(false)),
                "null" => Token::Literal(Literal::Null),
                "in" => Token::Punct("in"),
                name => Token::Ident(name.to_owned()),
            };
            self.at += end;
            token
        } else if let Some(punct) = PUNCTUATION
            .iter()
            .find(|punct| rest.starts_with(**punct))
            .filter(|p| !matches!(**p, "=" | "&" | "|"))
        {
            self.at += punct.len();
            Token::Punct(punct)
        } else {
            return Err(Issue::new(start, format!("Syntax error: token recognition error at: '{first}'")));
        };
        Ok((start, token))
    }

    fn number(&mut self) -> Result<Token, Issue> {
        let start = self.at;
        let rest = self.rest();
        let invalid = |kind: &str| Issue::new(start, format!("invalid {kind} literal"));
        if let Some(hex) =
            rest.strip_prefix("0x").filter(|hex| hex.starts_with(|c: char| c.is_ascii_hexdigit()))
        {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let digits = hex[..end].to_owned();
            let unsigned = hex[end..].starts_with(['u', 'U']);
            self.at += 2 + end + usize::from(unsigned);
            let value = u64::from_str_radix(&digits, 16);
            return if unsigned {
                value.map(|value| Token::Literal(Literal::Uint(value))).map_err(|_| invalid("uint"))
            } else {
                whole(value.map_err(|_| invalid("int"))?).ok_or_else(|| invalid("int"))
            };
        }
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut end = digits(rest);
        let mut is_double = false;
        if rest[end..].starts_with('.') && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
            end += 1 + digits(&rest[end + 1..]);
            is_double = true;
        }
        if rest[end..].starts_with(['e', 'E']) {
            let after = &rest[end + 1..];
            let sign = usize::from(after.starts_with(['+', '-']));
            let exponent = digits(&after[sign..]);
            if exponent > 0 {
                end += 1 + sign + exponent;
                is_double = true;
            }
        }
        let text = rest[..end].to_owned();
        let unsigned = !is_double && rest[end..].starts_with(['u', 'U']);
        self.at += end + usize::from(unsigned);
        if is_double {
            let value: f64 = text.parse().map_err(|_| invalid("double"))?;
            return if value.is_finite() {
                Ok(Token::Literal(Literal::Double(value)))
            } else {
                Err(invalid("double"))
            };
        }
        let value: Result<u64, _> = text.parse();
        if unsigned {
            return value.map(|value| Token::Literal(Literal::Uint(value))).map_err(|_| invalid("uint"));
        }
        whole(value.map_err(|_| invalid("int"))?).ok_or_else(|| invalid("int"))
    }

    /// The inside of a text or bytes literal; the lexer stands behind the opening quote.
    fn text(&mut self, start: usize, prefix: &str, quote: &'static str) -> Result<Literal, Issue> {
        let (raw, bytes) = (prefix.contains('r'), prefix.contains('b'));
        let mut out = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                self.at += quote.len();
                break;
            }
            let unterminated =
                || Issue::new(start, "Syntax error: token recognition error: unterminated text");
            let c = rest.chars().next().ok_or_else(unterminated)?;
            if quote.len() == 1 && matches!(c, '\n' | '\r') {
                return Err(unterminated());
            }
            self.at += c.len_utf8();
            match c {
                '\\' if !raw => self.escape(bytes, &mut out)?,
                // Windows line ends count as one.
                '\r' if !raw => {
                    if self.rest().starts_with('\n') {
                        self.at += 1;
                    }
                    out.push(b'\n');
                }
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if bytes {
            return Ok(Literal::Bytes(out));
        }
        String::from_utf8(out).map(Literal::String).map_err(|_| Issue::new(start, "invalid string literal"))
    }

    fn escape(&mut self, bytes: bool, out: &mut Vec<u8>) -> Result<(), Issue> {
        let start = self.at - 1;
        let invalid = || Issue::new(start, "Syntax error: invalid escape sequence");
        let c = self.rest().chars().next().ok_or_else(invalid)?;
        self.at += c.len_utf8();
        let simple = match c {
            'a' => 7,
            'b' => 8,
            'f' => 0xc,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 0xb,
            '\\' | '?' | '"' | '\'' | '`' => c as u8,
            'x' | 'X' => return self.code(2, 16, bytes, out).ok_or_else(invalid),
            'u' if !bytes => return self.code(4, 16, false, out).ok_or_else(invalid),
            'U' if !bytes => return self.code(8, 16, false, out).ok_or_else(invalid),
            '0'..='3' => {
                self.at -= 1;
                return self.code(3, 8, bytes, out).ok_or_else(invalid);
            }
            _ => return Err(invalid()),
        };
        out.push(simple);
        Ok(())
    }

    fn code(&mut self, length: usize, radix: u32, byte: bool, out: &mut Vec<u8>) -> Option<()> {
        let digits = self.rest().get(..length)?;
        if !digits.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        let code = u32::from_str_radix(digits, radix).ok()?;
        self.at += length;
        if byte {
            out.push(u8::try_from(code).ok()?);
        } else {
            out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Some(())
    }
}

fn whole(value: u64) -> Option<Token> {
    match i64::try_from(value) {
        Ok(value) => Some(Token::Literal(Literal::Int(value))),
        Err(_) => (value == 1 << 63).then_some(Token::MinInt),
    }
}

/// The length of what opens a text or bytes literal (`r`, `b`, quotes), and the quotes.
fn string_start(text: &str) -> Option<(usize, &'static str)> {
    let letters = text.bytes().take(3).position(|byte| matches!(byte, b'"' | b'\''))?;
    let prefix = text[..letters].to_ascii_lowercase();
    if !matches!(prefix.as_str(), "" | "r" | "b" | "rb" | "br") {
        return None;
    }
    let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| text[letters..].starts_with(quote))?;
    Some((letters + quotes.len(), quotes))
}

/// Words that are no identifiers.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// How strongly an operator binds, and the function it stands for.
fn operator(token: &Token) -> Option<(u8, &'static str)> {
    let Token::Punct(found) = token else { return None };
    Some(match *found {
        "||" => (0, "_||_"),
        "&&" => (1, "_&&_"),
        "<" => (2, "_<_"),
        "<=" => (2, "_<=_"),
        ">" => (2, "_>_"),
        ">=" => (2, "_>=_"),
        "==" => (2, "_==_"),
        "!=" => (2, "_!=_"),
        "in" => (2, "@in"),
        "+" => (3, "_+_"),
        "-" => (3, "_-_"),
        "*" => (4, "_*_"),
        "/" => (4, "_/_"),
        "%" => (4, "_%_"),
        _ => return None,
    })
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    token: Token,
    /// Where the token starts.
    start: usize,
    depth: usize,
    env: Env,
    builder: Builder,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, Issue> {
        let (start, token) = self.lexer.next()?;
        self.start = start;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn is(&self, punct: &str) -> bool {
        matches!(self.token, Token::Punct(found) if found == punct)
    }

    /// Takes the token when it is this one.
    fn eat(&mut self, punct: &str) -> Result<bool, Issue> {
        let found = self.is(punct);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punct: &str) -> Result<(), Issue> {
        if self.eat(punct)? { Ok(()) } else { Err(self.unexpected(&format!("'{punct}'"))) }
    }

    fn unexpected(&self, wanted: &str) -> Issue {
        let found = match &self.token {
            Token::End => "<EOF>".to_owned(),
            _ => self.lexer.source[self.start..self.lexer.at].to_owned(),
        };
        Issue::new(self.start, format!("Syntax error: mismatched input '{found}' expecting {wanted}"))
    }

    fn whole(&mut self) -> Result<Expr, Issue> {
        self.advance()?;
        let expr = self.expr()?;
        if self.token == Token::End { Ok(expr) } else { Err(self.unexpected("<EOF>")) }
    }

    fn expr(&mut self) -> Result<Expr, Issue> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Issue::new(
                self.start,
                format!("expression recursion limit exceeded: {MAX_NESTING}"),
            ));
        }
        let condition = self.binary(0)?;
        let at = self.start;
        let expr = if self.eat("?")? {
            let then = self.binary(0)?;
            self.expect(":")?;
            let otherwise = self.expr()?;
            self.builder.call(at, "_?_:_", vec![condition, then, otherwise])
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    /// Everything with two operands, the operators binding at least so strongly.
    fn binary(&mut self, min: u8) -> Result<Expr, Issue> {
        let mut left = self.unary()?;
        while let Some((level, function)) = operator(&self.token).filter(|(level, _)| *level >= min) {
            let at = self.start;
            self.advance()?;
            let right = self.binary(level + 1)?;
            left = if level <= 1 {
                self.logical(level, function, at, vec![left, right])?
            } else {
                self.builder.call(at, function, vec![left, right])
            };
        }
        Ok(left)
    }

    /// A chain of `||` or `&&`, as a balanced tree.
    fn logical(&mut self, level: u8, function: &str, at: usize, mut terms: Vec<Expr>) -> Result<Expr, Issue> {
        let mut places = vec![at, at];
        while operator(&self.token).is_some_and(|(_, next)| next == function) {
            places.push(self.start);
            self.advance()?;
            terms.push(self.binary(level + 1)?);
        }
        Ok(self.balance(terms, &places, function))
    }

    fn balance(&mut self, mut terms: Vec<Expr>, places: &[usize], function: &str) -> Expr {
        if terms.len() <= 1 {
            return terms.pop().unwrap_or_else(|| self.builder.literal(0, Literal::Null));
        }
        let middle = terms.len().div_ceil(2);
        let right = terms.split_off(middle);
        let left = self.balance(terms, &places[..middle], function);
        let right = self.balance(right, &places[middle..], function);
        self.builder.call(places[middle], function, vec![left, right])
    }

    fn unary(&mut self) -> Result<Expr, Issue> {
        let at = self.start;
        for (operator, function) in [("!", "!_"), ("-", "-_")] {
            let mut times = 0;
            while self.is(operator) {
                self.advance()?;
                times += 1;
            }
            if times == 0 {
                continue;
            }
            // The last minus belongs to a number.
            if operator == "-"
                && let Some(literal) = self.negative(times)?
            {
                return self.members(literal);
            }
            let operand = self.member()?;
            return Ok(if times % 2 == 0 { operand } else { self.builder.call(at, function, vec![operand]) });
        }
        self.member()
    }

    fn negative(&mut self, times: usize) -> Result<Option<Expr>, Issue> {
        let odd = times % 2 == 1;
        let literal = match &self.token {
            Token::Literal(Literal::Int(value)) => Literal::Int(if odd { -value } else { *value }),
            Token::Literal(Literal::Double(value)) => Literal::Double(if odd { -value } else { *value }),
            Token::MinInt if odd => Literal::Int(i64::MIN),
            _ => return Ok(None),
        };
        let at = self.start;
        self.advance()?;
        Ok(Some(self.builder.literal(at, literal)))
    }

    fn member(&mut self) -> Result<Expr, Issue> {
        let primary = self.primary()?;
        self.members(primary)
    }

    /// What follows a value: fields, calls, indices.
    fn members(&mut self, mut expr: Expr) -> Result<Expr, Issue> {
        loop {
            let at = self.start;
            if self.eat(".")? {
                let optional = self.is("?") && self.env.minor >= 28;
                if optional {
                    self.advance()?;
                }
                let name_at = self.start;
                let Token::Ident(name) = self.token.clone() else {
                    return Err(self.unexpected("IDENTIFIER"));
                };
                self.advance()?;
                if optional {
                    let field = self.builder.literal(name_at, Literal::String(name));
                    expr = self.builder.call(at, "_?._", vec![expr, field]);
                } else if self.is("(") {
                    let at = self.start;
                    let args = self.arguments()?;
                    expr = macros::member(&mut self.builder, self.env, at, &name, expr, args)?;
                } else if self.is("{")
                    && let Some(mut type_name) = qualified_name(&expr)
                {
                    type_name.push('.');
                    type_name.push_str(&name);
                    expr = self.structure(type_name)?;
                } else {
                    expr = self
                        .builder
                        .node(at, Kind::Select { operand: Box::new(expr), field: name, test: false });
                }
            } else if self.eat("[")? {
                let optional = self.env.minor >= 28 && self.eat("?")?;
                let index = self.expr()?;
                self.expect("]")?;
                expr = self.builder.call(at, if optional { "_[?_]" } else { "_[_]" }, vec![expr, index]);
            } else {
                return Ok(expr);
            }
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Issue> {
        self.expect("(")?;
        let mut args = Vec::new();
        if self.eat(")")? {
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            if !self.eat(",")? {
                break;
            }
        }
        self.expect(")")?;
        Ok(args)
    }

    fn primary(&mut self) -> Result<Expr, Issue> {
        let at = self.start;
        match self.token.clone() {
            Token::Literal(literal) => {
                self.advance()?;
                Ok(self.builder.literal(at, literal))
            }
            Token::MinInt => Err(Issue::new(at, "invalid int literal")),
            Token::Punct("(") => {
                self.advance()?;
                let expr = self.expr()?;
                self.expect(")")?;
                Ok(expr)
            }
            Token::Punct("[") => self.list(at),
            Token::Punct("{") => self.map(at),
            Token::Punct(".") => {
                self.advance()?;
                self.name(at)
            }
            Token::Ident(_) => self.name(at),
            _ => Err(self.unexpected("{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}")),
        }
    }

    fn name(&mut self, at: usize) -> Result<Expr, Issue> {
        let Token::Ident(name) = self.token.clone() else { return Err(self.unexpected("IDENTIFIER")) };
        if RESERVED.contains(&name.as_str()) {
            return Err(Issue::new(at, format!("reserved identifier: {name}")));
        }
        self.advance()?;
        if self.is("(") {
            let at = self.start;
            let args = self.arguments()?;
            return macros::global(&mut self.builder, at, &name, args);
        }
        if self.is("{") {
            return self.structure(name);
        }
        Ok(self.builder.ident(at, &name))
    }

    fn list(&mut self, at: usize) -> Result<Expr, Issue> {
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.is("]") {
            let optional = self.env.minor >= 28 && self.eat("?")?;
            items.push((self.expr()?, optional));
            if !self.eat(",")? {
                break;
            }
        }
        self.expect("]")?;
        Ok(self.builder.node(at, Kind::List(items)))
    }

    fn map(&mut self, at: usize) -> Result<Expr, Issue> {
        self.expect("{")?;
        let mut entries = Vec::new();
        while !self.is("}") {
            let optional = self.env.minor >= 28 && self.eat("?")?;
            let key = self.expr()?;
            self.expect(":")?;
            entries.push((key, self.expr()?, optional));
            if !self.eat(",")? {
                break;
            }
        }
        self.expect("}")?;
        Ok(self.builder.node(at, Kind::Map(entries)))
    }

    fn structure(&mut self, name: String) -> Result<Expr, Issue> {
        let at = self.start;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.is("}") {
            let Token::Ident(field) = self.token.clone() else { return Err(self.unexpected("IDENTIFIER")) };
            self.advance()?;
            self.expect(":")?;
            fields.push((field, self.expr()?));
            if !self.eat(",")? {
                break;
            }
        }
        self.expect("}")?;
        Ok(self.builder.node(at, Kind::Struct { name, fields }))
    }
}

/// `a.b.c` where the tree is nothing but names.
pub(crate) fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select { operand, field, test: false } => Some(format!("{}.{field}", qualified_name(operand)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        "self.x +",
        "ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.x +\n | ........^"
    )]
    #[case("a b", "ERROR: <input>:1:3: Syntax error: mismatched input 'b' expecting <EOF>\n | a b\n | ..^")]
    #[case("for", "ERROR: <input>:1:1: reserved identifier: for\n | for\n | ^")]
    #[case("has(x)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(x)\n | ....^")]
    #[case("1 +\n @", "ERROR: <input>:2:2: Syntax error: token recognition error at: '@'\n |  @\n | .^")]
    #[case("9223372036854775808", "ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808\n | ^")]
    fn mistakes_are_placed(#[case] source: &str, #[case] expected: &str) {
        assert_eq!(parse(source, Env::ALL).map(|_| ()).unwrap_err().display(source), expected);
    }

    #[rstest]
    #[case::parens("(", "1", ")")]
    #[case::lists("[", "1", "]")]
    #[case::maps("{1:", "1", "}")]
    #[case::nots("!", "true", "")]
    #[case::minuses("-", "a", "")]
    #[case::conditions("a?1:", "1", "")]
    #[case::fields("", "a", ".b")]
    #[case::indices("", "a", "[0]")]
    #[case::sums("1+", "1", "")]
    #[case::ands("a&&", "a", "")]
    #[case::calls("f(", "1", ")")]
    #[case::macros("x.all(x,", "true", ")")]
    #[case::sorts("", "x", ".sortBy(x, x)")]
    #[case::options("", "x", ".optMap(x, x)")]
    #[case::open("[{(", "", "")]
    fn any_size_ends_without_a_panic(#[case] before: &str, #[case] middle: &str, #[case] after: &str) {
        for times in [1, 50, 1000, 40_000] {
            let _ = parse(&format!("{}{middle}{}", before.repeat(times), after.repeat(times)), Env::ALL);
        }
    }
}
