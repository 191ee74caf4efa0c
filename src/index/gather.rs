//! Everything that the evaluation of one class is made from, read in one go under the lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kapstan_api::{
    cluster_class::{HandlerRole, TemplateRef},
    handler_name,
    hooks::{DiscoverVariablesResponse, catalog::GroupVersionHook},
};
use serde::Serialize;
use tokio::time::Instant;

use super::{
    Awaited, Index,
    class::{Class, ClassEntry, PatchQuestion},
    config::{ConfigEntry, Standing, Verdict},
    keys::{ClassKey, Job, Name, TemplateKey},
    question::QuestionOutcome,
    template::KindState,
};
use crate::{
    digest::Digest,
    runtime::{Question, QuestionKey},
};

/// Everything that the evaluation of one class is made from.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The class and what became of it before.
    pub entry: ClassEntry,
    /// What is known for each patch that asks for variables, in the order of the spec.
    pub answers: Vec<(Name, Known)>,
    /// What is known of each template, sorted.
    pub templates: Vec<(TemplateRef, TemplateFinding)>,
    /// What the class waits for. Unless this is empty, it is not evaluated.
    pub open: BTreeSet<Awaited>,
    /// Questions that must be asked first.
    pub jobs: Vec<Job>,
    /// Templates that lack its owner reference.
    pub unowned: Vec<TemplateKey>,
    /// Whether something that the class names does not exist.
    pub lacks_something: bool,
}

/// What is known for a patch that asks for variables.
#[derive(Clone, Debug)]
pub enum Known {
    /// The answer.
    Answer(Box<Answered>),
    /// Nothing, and that counts as no variables, by the handler's failure policy.
    Nothing,
    /// Why there is no answer.
    Failed(Arc<str>),
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The question.
    pub question: Question,
    /// Digest of the answer's content.
    pub digest: Digest,
    /// The answer itself, where it was kept; else the client has it.
    pub kept: Option<Arc<DiscoverVariablesResponse>>,
}

/// What is known of a template that a class refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum TemplateFinding {
    /// It exists; the contract labels of its kind's CRD, `None` when there is no such CRD.
    Found(Option<BTreeMap<String, String>>),
    /// It does not exist.
    Missing,
    /// It exists, but the class cannot be made its owner; the text says why.
    Unowned(Arc<str>),
    /// Its kind cannot be read; the text says why.
    Unavailable(Arc<str>),
}

impl Gathered {
    /// The digest of all that goes into the evaluation; the same digest gives the same result.
    #[must_use]
    pub fn inputs(&self) -> Digest {
        let Parts { meaning, answers, templates } = self.parts();
        Digest::of_all(std::iter::once(meaning).chain(answers).chain(templates))
    }

    /// All that goes into the evaluation, as digests.
    #[must_use]
    pub fn parts(&self) -> Parts {
        let class = &self.entry.class;
        let answers = self.answers.iter().map(|(patch, known)| match known {
            Known::Answer(answer) => Digest::of(&(patch, "answer", answer.digest.to_string())),
            Known::Nothing => Digest::of(&(patch, "nothing")),
            Known::Failed(why) => Digest::of(&(patch, "failed", why)),
        });
        let templates =
            self.templates.iter().map(|(reference, finding)| Digest::of(&(reference.to_string(), finding)));
        let meaning = Digest::of(&(&class.uid, class.generation, class.is_paused));
        Parts { meaning, answers: answers.collect(), templates: templates.collect() }
    }
}

/// What goes into the evaluation of a class, as digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The class itself.
    pub meaning: Digest,
    /// Its answers, in the order of the patches that ask.
    pub answers: Box<[Digest]>,
    /// Its templates, in the order of the references.
    pub templates: Box<[Digest]>,
}

impl Parts {
    /// Why it was evaluated, given what it was evaluated from before.
    pub(super) fn because(&self, before: Option<&Self>, class: &Class) -> String {
        let Some(before) = before else { return "it was seen for the first time".to_owned() };
        if self.meaning != before.meaning {
            return format!("it was changed (generation {})", class.generation);
        }
        let differs = |now: &[Digest], then: &[Digest], place: usize| now.get(place) != then.get(place);
        let answers = class.questions.iter().enumerate();
        let answers = answers.filter(|(place, _)| differs(&self.answers, &before.answers, *place));
        let answers = answers.map(|(_, question)| format!("the answer of {}", question.handler));
        let templates = class.templates.iter().enumerate();
        let templates = templates.filter(|(place, _)| differs(&self.templates, &before.templates, *place));
        let templates = templates.map(|(_, template)| format!("{} {}", template.kind, template.name));
        let mut changed = answers.chain(templates);
        match (changed.next(), changed.count()) {
            (Some(first), 0) => format!("{first} is another"),
            (Some(first), more) => format!("{first} is another, and {more} more"),
            (None, _) => "somebody else changed its status".to_owned(),
        }
    }
}

impl Index {
    /// Reads what the evaluation of a class is made from, and notes what the class asks and waits for. `None` when
    /// there is nothing to evaluate: the class is gone, or on its way out.
    pub fn gather(&mut self, key: &ClassKey) -> Option<Gathered> {
        let entry = self.classes.get(key)?.clone();
        let class = Arc::clone(&entry.class);
        if class.is_deleting {
            self.rest(key);
            return None;
        }
        let mut gathered = Gathered {
            entry,
            answers: Vec::new(),
            templates: Vec::new(),
            open: BTreeSet::new(),
            jobs: Vec::new(),
            unowned: Vec::new(),
            lacks_something: false,
        };
        let mut asked = BTreeSet::new();
        if !class.is_paused {
            for question in &class.questions {
                self.gather_answer(&class, question, &mut gathered, &mut asked);
            }
            for reference in &class.templates {
                self.gather_template(&class, reference, &mut gathered);
            }
        }
        if !gathered.lacks_something
            && let Some(entry) = self.classes.get_mut(key)
        {
            entry.lacks_since = None;
        }
        if gathered.open.is_empty()
            && let Some(entry) = self.classes.get_mut(key)
        {
            entry.waiting.ends();
        }
        self.ask(key, asked);
        self.awaiting.set(key, gathered.open.clone());
        Some(gathered)
    }

    /// Since when something that a class names has been absent; from now on, if that was not so before.
    pub fn lacks_since(&mut self, key: &ClassKey, now: Instant) -> Instant {
        self.classes.get_mut(key).map_or(now, |entry| *entry.lacks_since.get_or_insert(now))
    }

    fn gather_answer(
        &mut self,
        class: &Class,
        asked_by: &PatchQuestion,
        gathered: &mut Gathered,
        asked: &mut BTreeSet<QuestionKey>,
    ) {
        let known = match self.resolve(class, asked_by) {
            Resolution::Wait(awaited) => Err(awaited),
            Resolution::Absent(why) => {
                gathered.lacks_something = true;
                Ok(Known::Failed(why.into()))
            }
            Resolution::Refused(why) => Ok(Known::Failed(why.into())),
            Resolution::Ask(question) => {
                asked.insert(question.key());
                self.known(question, gathered)
            }
        };
        match known {
            Ok(known) => gathered.answers.push((Arc::clone(&asked_by.patch), known)),
            Err(awaited) => drop(gathered.open.insert(awaited)),
        }
    }

    /// What is known of a question, or that it is open; then the first to ask has it asked.
    fn known(&mut self, question: Question, gathered: &mut Gathered) -> Result<Known, Awaited> {
        let key = question.key();
        let entry = self.question_entry(question.clone(), gathered.entry.cause);
        match entry.outcome.as_ref().filter(|_| !entry.is_reopened) {
            Some(QuestionOutcome::Answered(digest)) => {
                let (digest, kept) = (*digest, entry.kept.clone());
                Ok(Known::Answer(Box::new(Answered { question, digest, kept })))
            }
            Some(QuestionOutcome::Ignored) => Ok(Known::Nothing),
            Some(QuestionOutcome::Failed(why)) => Ok(Known::Failed(Arc::clone(why))),
            None => {
                if !std::mem::replace(&mut entry.is_asked, true) {
                    gathered.jobs.push(Job::Question(key));
                }
                Err(Awaited::Question(key))
            }
        }
    }

    fn gather_template(&self, class: &Class, reference: &TemplateRef, gathered: &mut Gathered) {
        let key = class.template_key(reference);
        let finding = match (self.kind_state(&key.kind), self.template(&key)) {
            (KindState::Starting, _) => {
                gathered.open.insert(Awaited::Kind(key.kind));
                return;
            }
            (KindState::Unavailable(why), _) => TemplateFinding::Unavailable(why),
            (KindState::Synced, None) => {
                gathered.lacks_something = true;
                TemplateFinding::Missing
            }
            (KindState::Synced, Some(template)) => {
                let is_owned = template.owners.iter().any(|owner| *owner.uid == *class.uid);
                match self.refusal_of(&key) {
                    Some(why) if !is_owned => TemplateFinding::Unowned(why),
                    None if !is_owned && template.is_deleting => {
                        TemplateFinding::Unowned("it is being deleted".into())
                    }
                    _ => {
                        if !is_owned {
                            gathered.open.insert(Awaited::Owned(key.clone()));
                            gathered.unowned.push(key.clone());
                        }
                        TemplateFinding::Found(self.contracts_of(&key.kind).cloned())
                    }
                }
            }
        };
        gathered.templates.push((reference.clone(), finding));
    }

    /// Who is to be asked for the variables of a patch.
    fn resolve(&self, class: &Class, asked_by: &PatchQuestion) -> Resolution {
        let handler = &asked_by.handler;
        let Ok(name) = handler_name::parse(handler) else {
            return Resolution::Refused(format!(
                "handler {handler:?} is not of the form <handler>.<extensionconfig>"
            ));
        };
        let Some(entry) = self.configs.get(name.config) else {
            return Resolution::Absent(format!(
                "handler {handler} is not registered: there is no ExtensionConfig {}",
                name.config
            ));
        };
        match entry.standing() {
            Standing::Open => return Resolution::Wait(Awaited::Discovery(Arc::clone(&entry.config.name))),
            Standing::Undiscovered => {
                return Resolution::Refused(format!(
                    "handler {handler} is not known yet: ExtensionConfig {} has not been discovered as it is now, its conditions say why",
                    name.config
                ));
            }
            Standing::Usable => {}
        }
        self.ask_usable(class, asked_by, entry)
    }

    fn ask_usable(&self, class: &Class, asked_by: &PatchQuestion, entry: &ConfigEntry) -> Resolution {
        let (handler, config) = (&asked_by.handler, &entry.config.name);
        let Some(known) =
            entry.registration.as_ref().and_then(|registration| registration.handlers.get(handler))
        else {
            return Resolution::Refused(format!(
                "handler {handler} is not registered: ExtensionConfig {config} has no such handler"
            ));
        };
        let wanted = GroupVersionHook::named(HandlerRole::DiscoverVariables.hook());
        if !GroupVersionHook::of(&known.request_hook).is_ok_and(|hook| hook.is_same_hook(&wanted)) {
            let hook = &known.request_hook.hook;
            return Resolution::Refused(format!("handler {handler} serves {hook}, not {}", wanted.hook));
        }
        let namespace = &class.key.namespace;
        match entry.config.selection.verdict(self.namespace(namespace)) {
            Verdict::Served => {}
            Verdict::NotKnown => return Resolution::Wait(Awaited::Namespace(Arc::clone(namespace))),
            Verdict::NotServed => {
                return Resolution::Refused(format!(
                    "handler {handler} does not serve namespace {namespace}: the namespaceSelector of ExtensionConfig {config} does not match it"
                ));
            }
            Verdict::Nonsense(why) => {
                return Resolution::Refused(format!(
                    "handler {handler} serves no namespace: namespaceSelector of ExtensionConfig {config}: {why}"
                ));
            }
        }
        match Question::new(Arc::clone(&entry.config.extension), known, &asked_by.settings) {
            Ok(question) => Resolution::Ask(question),
            Err(error) => Resolution::Refused(format!("handler {handler} cannot be called: {error}")),
        }
    }
}

/// Who is to be asked for the variables of a patch.
enum Resolution {
    /// Nobody before this is there.
    Wait(Awaited),
    /// Nobody, since there is no such config; the text says so.
    Absent(String),
    /// Nobody; the text says why, the same for the same state.
    Refused(String),
    /// This.
    Ask(Question),
}
