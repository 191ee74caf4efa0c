//! Which calls a setting or a question is about.
//!
//! The path of a call is `<prefix>/<group>/<version>/<hook>[/<handler>]`. The prefix is the path of an
//! ExtensionConfig's URL, so that one test extension serves many of them; it is empty when the URL has no path.

use kapstan_api::hooks::catalog::GROUP;

/// A set of calls. Of several settings that cover a call, that of the most specific target counts: a path (the
/// longer the more specific) before a hook, a hook before everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every call.
    All,
    /// Every call of a hook, by its name (`DiscoverVariables`), whatever the prefix and the handler.
    Hook(String),
    /// Every call whose path is this one or lies below it, in whole segments: `/ext-1` covers `/ext-1/…`, not
    /// `/ext-10/…`.
    Under(String),
}

impl Target {
    /// Discovery of the extension at `prefix`.
    #[must_use]
    pub fn discovery(prefix: &str) -> Self {
        Self::hook_at(prefix, "Discovery")
    }

    /// Every handler of `hook` at `prefix`.
    #[must_use]
    pub fn hook_at(prefix: &str, hook: &str) -> Self {
        Self::Under(format!("{prefix}{}", hook_path(hook, None)))
    }

    /// One handler of `hook` at `prefix`.
    #[must_use]
    pub fn handler(prefix: &str, hook: &str, handler: &str) -> Self {
        Self::Under(format!("{prefix}{}", hook_path(hook, Some(handler))))
    }

    /// Whether a call of `path` (without query) is in the set.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Hook(hook) => hook_of(path).is_some_and(|called| called.eq_ignore_ascii_case(hook)),
            Self::Under(top) => {
                path.strip_prefix(top.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }

    /// Higher is more specific.
    pub(crate) fn specificity(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Hook(_) => 1,
            Self::Under(path) => 2 + path.len(),
        }
    }
}

/// A path; the empty one and `/` are every call.
impl From<&str> for Target {
    fn from(path: &str) -> Self {
        match path.trim_end_matches('/') {
            "" => Self::All,
            path => Self::Under(path.to_owned()),
        }
    }
}

/// See `From<&str>`.
impl From<&String> for Target {
    fn from(path: &String) -> Self {
        path.as_str().into()
    }
}

/// The path of a hook (by name, any version we know) below the prefix.
#[must_use]
pub fn hook_path(hook: &str, handler: Option<&str>) -> String {
    crate::content::hook(hook).path(handler)
}

/// Splits a path into the prefix and what the sdk serves. A path without a hook in it is all prefix.
pub(crate) fn split(path: &str) -> (&str, &str) {
    let hooks = format!("/{GROUP}/");
    path.find(&hooks).map_or((path, ""), |at| path.split_at(at))
}

/// The hook's segment of a path, lower-case.
fn hook_of(path: &str) -> Option<&str> {
    split(path).1.split('/').nth(3)
}
