//! Documents of YAML and JSON, and where they begin.

use serde_json::Value;

use super::{Manifest, Origin};

/// The documents of a manifest that are not empty, each with its place, or with its place and what is wrong with it.
pub(super) fn documents(manifest: &Manifest) -> Vec<Result<(Origin, Value), String>> {
    json(manifest).unwrap_or_else(|| yaml(manifest))
}

/// JSON objects one after the other, if that is what it is. YAML may begin with a brace too.
fn json(manifest: &Manifest) -> Option<Vec<Result<(Origin, Value), String>>> {
    let Manifest { source, text } = manifest;
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut documents = Vec::new();
    let mut begins = 0;
    while let Some(value) = values.next() {
        let line = text[..begins].lines().count().max(1) + blank_lines(&text[begins..]);
        let origin = Origin { source: source.clone(), document: documents.len() + 1, line, item: None };
        documents.push(Ok((origin, value.ok()?)));
        begins = values.byte_offset();
    }
    Some(documents)
}

/// How many line ends come before anything else.
fn blank_lines(text: &str) -> usize {
    let blank = text.len() - text.trim_start().len();
    text[..blank].matches('\n').count()
}

fn yaml(manifest: &Manifest) -> Vec<Result<(Origin, Value), String>> {
    // As kubectl reads it, which is by YAML 1.1: `on` is true and 010 is eight.
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let mut documents = Vec::new();
    for (index, (begins, text)) in split(&manifest.text).into_iter().enumerate() {
        let source = manifest.source.clone();
        let origin = |line| Origin { source: source.clone(), document: index + 1, line, item: None };
        match serde_saphyr::from_str_with_options::<Value>(text, options.clone()) {
            Ok(Value::Null) => {}
            Ok(value) => documents.push(Ok((origin(begins + content(text)), value))),
            Err(error) => {
                let (line, message) = told(&error);
                documents.push(Err(format!("{}: {message}", origin(begins + line))));
            }
        }
    }
    documents
}

/// The texts of the documents of a YAML stream, and the line, from 1, that each begins in. Lines of `---` begin documents
/// and stand nowhere else; what comes before the first one is part of it, unless it is a document itself.
fn split(text: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut begins, mut first, mut at) = (Vec::new(), 0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if is_separator(line) && (is_separator(&text[begins..at]) || has_content(&text[begins..at])) {
            parts.push((first, &text[begins..at]));
            (begins, first) = (at, index + 1);
        }
        at += line.len();
    }
    parts.push((first, &text[begins..]));
    parts
}

fn is_separator(line: &str) -> bool {
    let rest = line.strip_prefix("---");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn has_content(text: &str) -> bool {
    text.lines().any(is_content)
}

/// How many lines of a document come before its content.
fn content(text: &str) -> usize {
    text.lines().position(is_content).unwrap_or_default()
}

/// Neither a separator, a comment, a directive, nor nothing.
fn is_content(line: &str) -> bool {
    let line = line.strip_prefix("---").unwrap_or(line).trim();
    !line.is_empty() && !line.starts_with(['#', '%'])
}

/// How many lines come before the one that the error is about, and what it says besides.
fn told(error: &serde_saphyr::Error) -> (usize, String) {
    let error = error.without_snippet();
    let mut message = error.to_string();
    let Some(location) = error.location() else { return (0, message) };
    let suffix = format!(" at line {}, column {}", location.line(), location.column());
    if message.ends_with(&suffix) {
        message.truncate(message.len() - suffix.len());
    }
    // Advice for who calls the parser, not for who wrote the file.
    if let Some(end) = message.find(", set DuplicateKeyPolicy") {
        message.truncate(end);
    }
    let line = usize::try_from(location.line()).unwrap_or_default();
    (line.saturating_sub(1), format!("column {}: {message}", location.column()))
}
