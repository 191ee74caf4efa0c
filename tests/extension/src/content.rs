//! What the extension says when nothing is wrong: its handlers, its variables, and success everywhere else.

use std::collections::BTreeMap;

use axum::Router;
use kapstan_api::hooks::catalog::GroupVersionHook;
use kapstan_sdk::{Extension, Handler, HandlerError};
use serde_json::{Value, json};

/// A handler that Discovery announces and the extension serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerSpec {
    /// Name, timeout and failure policy.
    pub handler: Handler,
    /// The hook's name, as in the catalog: `DiscoverVariables`.
    pub hook: String,
}

impl HandlerSpec {
    /// A handler of a hook of the catalog.
    #[must_use]
    pub fn new(handler: impl Into<Handler>, hook: &str) -> Self {
        Self { handler: handler.into(), hook: hook.to_owned() }
    }

    /// The three handlers of the measured baseline: `discovervariables`, `generatepatches` and
    /// `validatetopology`.
    #[must_use]
    pub fn defaults() -> Vec<Self> {
        ["DiscoverVariables", "GeneratePatches", "ValidateTopology"]
            .map(|hook| Self::new(hook.to_ascii_lowercase(), hook))
            .to_vec()
    }

    /// `count` handlers: the default ones first, then further ones of `DiscoverVariables`
    /// (`discovervariables-3`, …).
    #[must_use]
    pub fn many(count: usize) -> Vec<Self> {
        let further = (3..).map(|i| Self::new(format!("discovervariables-{i}"), "DiscoverVariables"));
        Self::defaults().into_iter().chain(further).take(count).collect()
    }
}

/// What `DiscoverVariables` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Variables {
    /// `count` variables `variable-0`, `variable-1`, … of changing types. Their schemas depend on the request's
    /// settings and on `revision`, and on nothing else: the same question has the same answer in every process.
    /// The setting `variablePrefix` goes before each name, so that a class can use one extension twice with
    /// other settings.
    Generated {
        /// How many.
        count: usize,
        /// Stands in every schema; raise it to have new answers to old questions.
        revision: u64,
    },
    /// These, as they go on the wire: `{name, required, schema: {openAPIV3Schema}}`.
    Fixed(Vec<Value>),
}

impl Variables {
    /// `count` generated variables of revision 0.
    #[must_use]
    pub fn count(count: usize) -> Self {
        Self::Generated { count, revision: 0 }
    }

    /// The answer to a question with these settings.
    #[must_use]
    pub fn for_settings(&self, settings: &BTreeMap<String, String>) -> Vec<Value> {
        match self {
            Self::Fixed(variables) => variables.clone(),
            Self::Generated { count, revision } => {
                let seen = settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
                let told = format!("revision {revision}, settings: {}", seen.join(", "));
                let prefix = settings.get("variablePrefix").map_or("", String::as_str);
                (0..*count).map(|i| generated(i, prefix, &told)).collect()
            }
        }
    }
}

fn generated(i: usize, prefix: &str, told: &str) -> Value {
    let mut schema = match i % 4 {
        0 => json!({"type": "string", "default": "m5.large", "maxLength": 64}),
        1 => json!({"type": "integer", "default": 3, "minimum": 0}),
        2 => json!({"type": "boolean", "default": false}),
        _ => json!({"type": "object", "properties": {
            "zone": {"type": "string", "default": "a"},
            "size": {"type": "integer", "default": 10},
        }}),
    };
    schema["description"] = told.into();
    json!({
        "name": format!("{prefix}variable-{i}"),
        "required": i.is_multiple_of(4),
        "schema": {"openAPIV3Schema": schema},
    })
}

/// Handlers and variables behind a router of the sdk.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) handlers: Vec<HandlerSpec>,
    pub(crate) variables: Variables,
    pub(crate) router: Router,
}

impl Content {
    pub(crate) fn try_new(handlers: Vec<HandlerSpec>, variables: Variables) -> anyhow::Result<Self> {
        let mut builder = Extension::builder("test-extension");
        for spec in &handlers {
            let hook = hook(&spec.hook);
            let variables = variables.clone();
            let name = spec.hook.clone();
            builder = builder.handler(spec.handler.clone(), hook, move |request: Value| {
                let response = answer(&name, &request, &variables);
                async { Ok::<_, HandlerError>(response) }
            });
        }
        let router = builder.build()?.into_router();
        Ok(Self { handlers, variables, router })
    }
}

/// The hook of this name, whether or not the catalog has it.
pub(crate) fn hook(name: &str) -> GroupVersionHook {
    GroupVersionHook::named(name)
}

fn answer(hook: &str, request: &Value, variables: &Variables) -> Value {
    match hook {
        "DiscoverVariables" => json!({"variables": variables.for_settings(&settings(request))}),
        "GeneratePatches" => json!({"items": []}),
        _ => json!({}),
    }
}

fn settings(request: &Value) -> BTreeMap<String, String> {
    let Some(settings) = request["settings"].as_object() else { return BTreeMap::new() };
    settings
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}
