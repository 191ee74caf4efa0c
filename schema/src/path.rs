//! Where in a value we are, kept on the stack while walking down.

use std::fmt::Write as _;

/// A path from the root of a value. Nothing is allocated before it is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'a> {
    /// The root; the API server's nil path.
    Root,
    /// A path as it was handed in, such as `status`.
    Named(&'a str),
    /// A field of a struct.
    Field(&'a Path<'a>, &'a str),
    /// An entry of a map.
    Key(&'a Path<'a>, &'a str),
    /// An item of a list.
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn from_prefix(prefix: &'a str) -> Self {
        if prefix.is_empty() { Self::Root } else { Self::Named(prefix) }
    }

    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    pub(crate) fn key(&'a self, name: &'a str) -> Self {
        Self::Key(self, name)
    }

    pub(crate) fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    pub(crate) fn is_root(&self) -> bool {
        matches!(self, Self::Root)
    }

    /// `a.b[key][0]`; `<nil>` for the root.
    pub(crate) fn text(&self) -> String {
        if self.is_root() {
            return "<nil>".to_owned();
        }
        let mut out = String::new();
        self.write(&mut out, true);
        out
    }

    /// `a.b.key[0]`, the way the OpenAPI validator writes it; empty for the root. Where the map is the
    /// root itself, its keys keep their leading dot.
    pub(crate) fn dotted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }

    fn write(&self, out: &mut String, brackets: bool) {
        match self {
            Self::Root => {}
            Self::Named(name) => out.push_str(name),
            Self::Field(parent, name) => {
                parent.write(out, brackets);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Self::Key(parent, name) => {
                parent.write(out, brackets);
                let _ = if brackets { write!(out, "[{name}]") } else { write!(out, ".{name}") };
            }
            Self::Index(parent, index) => {
                parent.write(out, brackets);
                let _ = write!(out, "[{index}]");
            }
        }
    }
}

/// A field of a schema, given its path as text.
pub(crate) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A keyed entry of a schema, given the path as text.
pub(crate) fn keyed(path: &str, name: &str) -> String {
    format!("{path}[{name}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations() {
        let root = Path::Root;
        let spec = root.field("spec");
        let labels = spec.field("labels");
        let key = labels.key("a/b");
        let item = key.index(3);
        assert_eq!(item.text(), "spec.labels[a/b][3]");
        assert_eq!(item.dotted(), "spec.labels.a/b[3]");
        assert_eq!(root.text(), "<nil>");
        assert_eq!(root.dotted(), "");
        assert_eq!(root.key("x").dotted(), ".x");
        assert_eq!(Path::Named("status").field("x").text(), "status.x");
    }
}
