//! Two API servers, and a way to ask both the same.

use anyhow::{Context as _, Result};
use http::{Method, Request};
use kapstan_embedded::Server;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// One of the servers, and a namespace of the test's own in it.
pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Only of the embedded one.
    pub(crate) server: Option<Server>,
    /// The revision of the object that was answered last.
    revision: Mutex<String>,
}

/// The embedded server, new, and the real one, which the tests share.
pub(crate) async fn worlds(prefix: &str) -> Result<[World; 2]> {
    let server = Server::builder().start();
    let mut embedded = World::new("embedded", server.client(), Some(server));
    let mut real = World::new("real", kapstan_envtest::shared().await?.client()?, None);
    for world in [&mut embedded, &mut real] {
        let namespace = json!({ "metadata": { "generateName": format!("{prefix}-") } });
        let made = world.ask(&Step::post("/api/v1/namespaces", namespace)).await?;
        let name = made.body["metadata"]["name"].as_str().context("a namespace has a name")?;
        name.clone_into(&mut world.namespace);
    }
    Ok([embedded, real])
}

/// A request. In its path and body, `{ns}` stands for the test's namespace, and `{rv}` for the revision of
/// the object that was answered last.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    method: Method,
    path: String,
    content_type: &'static str,
    accept: &'static str,
    body: String,
    is_loose: bool,
}

impl Step {
    pub(crate) fn new(method: Method, path: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            content_type: JSON,
            accept: JSON,
            body: body.into(),
            is_loose: false,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, "")
    }

    #[expect(clippy::needless_pass_by_value, reason = "bodies are written in place")]
    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path, body.to_string())
    }

    #[expect(clippy::needless_pass_by_value, reason = "bodies are written in place")]
    pub(crate) fn put(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PUT, path, body.to_string())
    }

    #[expect(clippy::needless_pass_by_value, reason = "bodies are written in place")]
    pub(crate) fn patch(content_type: &'static str, path: impl Into<String>, body: Value) -> Self {
        Self { content_type, ..Self::new(Method::PATCH, path, body.to_string()) }
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path, "")
    }

    #[expect(clippy::needless_pass_by_value, reason = "bodies are written in place")]
    pub(crate) fn delete_with(path: impl Into<String>, options: Value) -> Self {
        Self::new(Method::DELETE, path, options.to_string())
    }

    /// Only the code and the reason are compared: the text names what is inside a server.
    pub(crate) fn loosely(self) -> Self {
        Self { is_loose: true, ..self }
    }

    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    pub(crate) fn content_type(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

impl World {
    fn new(name: &'static str, client: Client, server: Option<Server>) -> Self {
        Self { name, client, namespace: String::new(), server, revision: Mutex::default() }
    }

    pub(crate) async fn ask(&self, step: &Step) -> Result<Answer> {
        let revision = self.revision.lock().clone();
        let fill = |text: &str| text.replace("{ns}", &self.namespace).replace("{rv}", &revision);
        let mut request = Request::builder()
            .method(step.method.clone())
            .uri(fill(&step.path))
            .header("accept", step.accept)
            .header("user-agent", "tester/1");
        if !step.body.is_empty() {
            request = request.header("content-type", step.content_type);
        }
        let response = self.client.send(request.body(Body::from(fill(&step.body).into_bytes()))?).await?;
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings =
            warnings.map(|warning| warning.to_str().map(str::to_owned)).collect::<Result<_, _>>()?;
        let bytes = response.into_body().collect_bytes().await?;
        let body: Value =
            serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        if let Some(revision) = body["metadata"]["resourceVersion"].as_str() {
            revision.clone_into(&mut self.revision.lock());
        }
        Ok(Answer { code, warnings, body })
    }

    /// The answer without what is different on every run.
    async fn normal(&self, step: &Step) -> Result<Answer> {
        let mut answer = self.ask(step).await?;
        normalize(&mut answer.body, &self.namespace);
        unordered(&mut answer.body);
        if step.is_loose {
            answer.body = json!({ "reason": answer.body["reason"] });
        }
        Ok(answer)
    }
}

/// Asks both servers each step, in order, and compares the answers.
pub(crate) async fn compare(worlds: &[World; 2], steps: &[(&str, Step)]) -> Result<()> {
    let mut differences = Vec::new();
    for (name, step) in steps {
        let [embedded, real] = [worlds[0].normal(step).await?, worlds[1].normal(step).await?];
        if embedded != real {
            let text = |answer: &Answer| {
                let body = serde_json::to_string_pretty(&answer.body).unwrap_or_default();
                format!("{}\n{:?}\n{body}\n", answer.code, answer.warnings)
            };
            let diff =
                similar_asserts::SimpleDiff::from_str(&text(&embedded), &text(&real), "embedded", "real")
                    .to_string();
            differences.push(format!("# {name}: {} {}\n{diff}", step.method, step.path));
        }
    }
    anyhow::ensure!(
        differences.is_empty(),
        "{} of {} differ\n{}",
        differences.len(),
        steps.len(),
        differences.join("\n")
    );
    Ok(())
}

/// Puts a word in the place of whatever is different on every run.
pub(crate) fn normalize(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_own = matches!(
                    name.as_str(),
                    "uid"
                        | "resourceVersion"
                        | "creationTimestamp"
                        | "deletionTimestamp"
                        | "time"
                        | "lastTransitionTime"
                );
                if name == "causes" {
                    // The real server judges metadata more than once, and repeats itself.
                    let mut seen = Vec::new();
                    value.as_array_mut().into_iter().for_each(|causes| {
                        causes.retain(|cause| {
                            let is_new = !seen.contains(cause);
                            seen.push(cause.clone());
                            is_new
                        });
                    });
                }
                if is_own && value.is_string() {
                    *value = format!("<{name}>").into();
                } else {
                    normalize(value, namespace);
                }
                if name == "managedFields" {
                    // They come in the order of the seconds in which they were written.
                    value
                        .as_array_mut()
                        .into_iter()
                        .for_each(|managers| managers.sort_by_key(|manager| manager["manager"].to_string()));
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, namespace)),
        Value::String(text) => {
            *text = text.replace(namespace, "{ns}");
            if text.contains("UID") || text.contains("ResourceVersion in") || text.contains("Precondition") {
                *text = without_ids(text);
            }
        }
        _ => {}
    }
}

/// Several causes come in any order, and so does the message that is made of them.
fn unordered(body: &mut Value) {
    if let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut)
        && causes.len() > 1
    {
        causes.sort_by_key(ToString::to_string);
        body["message"] = "<causes>".into();
    }
}

/// A text without UIDs and revisions.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| {
        word.len() == 36 && word.split('-').count() == 5 || word.parse::<u64>().is_ok_and(|number| number > 1)
    };
    let words = text.split(' ').map(|word| {
        let bare = word.trim_matches(|character: char| matches!(character, '(' | ')' | '.' | ',' | '"'));
        if is_id(bare) { word.replace(bare, "<id>") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}
