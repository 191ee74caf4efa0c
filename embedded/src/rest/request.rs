//! What a request asks for, read from its path and query.
//!
//! Behaviour: apiserver `pkg/endpoints/request/requestinfo.go`.

use http::Method;
use url::form_urlencoded;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// The path names no resource, or the method none of these.
    Other,
}

impl Verb {
    pub(crate) fn name(self, method: &Method) -> String {
        let name = match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => return method.as_str().to_lowercase(),
        };
        name.to_owned()
    }
}

/// A request's path, taken apart. What it does not have is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
}

impl Target {
    /// The target of a path such as `/apis/<group>/<version>/namespaces/<namespace>/<resource>/<name>`;
    /// `None` if it names no resource.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let decode = |part: &str| percent_decode(part);
        let parts: Vec<String> = path.trim_matches('/').split('/').map(decode).collect();
        let (group, version, rest) = match &parts[..] {
            [api, version, rest @ ..] if api == "api" => ("", version, rest),
            [apis, group, version, rest @ ..] if apis == "apis" && !group.is_empty() => {
                (group.as_str(), version, rest)
            }
            _ => return None,
        };
        let mut target = Self { group: group.to_owned(), version: version.clone(), ..Self::default() };
        target.set_rest(rest)?;
        Some(target)
    }

    fn set_rest(&mut self, rest: &[String]) -> Option<()> {
        let is_core = self.group.is_empty();
        let rest = match rest {
            // A namespace itself, or a subresource of it.
            [word, name, subresource @ ..]
                if word == "namespaces"
                    && is_core
                    && subresource.first().is_none_or(|word| word == "status" || word == "finalize") =>
            {
                self.namespace.clone_from(name);
                rest
            }
            [word, namespace, rest @ ..] if word == "namespaces" && !rest.is_empty() => {
                self.namespace.clone_from(namespace);
                rest
            }
            _ => rest,
        };
        match rest {
            [] => return None,
            [resource] => self.resource.clone_from(resource),
            [resource, name] => (self.resource, self.name) = (resource.clone(), name.clone()),
            [resource, name, subresource @ ..] => {
                (self.resource, self.name) = (resource.clone(), name.clone());
                self.subresource = subresource.join("/");
            }
        }
        Some(())
    }

    /// The verb of a request for this target.
    pub(crate) fn verb(&self, method: &Method, query: &Query) -> Verb {
        let is_named = !self.name.is_empty();
        match *method {
            Method::GET | Method::HEAD if is_named => Verb::Get,
            Method::GET | Method::HEAD if query.is_true("watch") => Verb::Watch,
            Method::GET | Method::HEAD => Verb::List,
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE if is_named => Verb::Delete,
            Method::DELETE => Verb::DeleteCollection,
            _ => Verb::Other,
        }
    }
}

fn percent_decode(part: &str) -> String {
    if !part.contains('%') {
        return part.to_owned();
    }
    // A plus sign stands for itself in a path.
    let query = format!("p={}", part.replace('+', "%2B").replace('&', "%26"));
    form_urlencoded::parse(query.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The first value of this name; an empty one counts as none.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next().filter(|value| !value.is_empty())
    }

    pub(crate) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// True for `true` and `1`, as Go reads it; anything else but `false` and `0` counts as true too.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "false" | "0"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::namespace_list("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""])]
    #[case::namespace("/api/v1/namespaces/a", ["", "v1", "a", "namespaces", "a", ""])]
    #[case::namespace_status("/api/v1/namespaces/a/status", ["", "v1", "a", "namespaces", "a", "status"])]
    #[case::list("/api/v1/namespaces/a/pods", ["", "v1", "a", "pods", "", ""])]
    #[case::all("/api/v1/pods", ["", "v1", "", "pods", "", ""])]
    #[case::object("/apis/g/v1/namespaces/a/foos/b", ["g", "v1", "a", "foos", "b", ""])]
    #[case::status("/apis/g/v1/namespaces/a/foos/b/status", ["g", "v1", "a", "foos", "b", "status"])]
    #[case::cluster("/apis/g/v1/foos/b", ["g", "v1", "", "foos", "b", ""])]
    #[case::encoded("/apis/g/v1/foos/b%3Ac", ["g", "v1", "", "foos", "b:c", ""])]
    fn paths(#[case] path: &str, #[case] expected: [&str; 6]) {
        let found = Target::of_path(path).unwrap();
        let Target { group, version, namespace, resource, name, subresource } = &found;
        assert_eq!([group, version, namespace, resource, name, subresource], expected);
    }

    #[rstest]
    #[case("/healthz")]
    #[case("/api")]
    #[case("/api/v1")]
    #[case("/apis/g/v1")]
    fn paths_without_a_resource(#[case] path: &str) {
        assert_eq!(Target::of_path(path), None);
    }
}
