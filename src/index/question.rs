//! Questions: which class asks what, what is being asked, and how it ended.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use kapstan_api::hooks::DiscoverVariablesResponse;

use super::{
    Awaited, Index,
    config::{ConfigEntry, Discovered},
    keys::{ClassKey, Job, Name, Target},
    wake::Wake,
};
use crate::{
    digest::Digest,
    runtime::{Cause, Extension, Question, QuestionKey},
};

/// How the last call for a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionOutcome {
    /// It was answered; the digest is that of the answer's content.
    Answered(Digest),
    /// It failed; the text says how.
    Failed(Arc<str>),
    /// It failed, and the handler's failure policy says to go on as if it had no variables.
    Ignored,
}

/// A question that some class asks.
#[derive(Clone, Debug)]
pub struct QuestionEntry {
    /// The question.
    pub question: Question,
    /// How the last call ended; `None` before the first one has.
    pub outcome: Option<QuestionOutcome>,
    /// Why the next call is made.
    pub(super) cause: Cause,
    /// Whether a call is under way or about to be, so that further classes wait for the same one.
    pub(super) is_asked: bool,
    /// Whether the answer is no longer at hand, so that the question counts as open.
    pub(super) is_reopened: bool,
    /// The answer to a question that was reopened, for as long as somebody is to evaluate it: where the cache is too
    /// small for all answers of a class, it would drop one for the other for ever.
    pub(super) kept: Option<Arc<DiscoverVariablesResponse>>,
}

/// A call that is due.
#[derive(Clone, Debug)]
pub enum Call {
    /// A Discovery for this generation of a config.
    Discovery {
        /// Whom to ask.
        extension: Arc<Extension>,
        /// The config's generation.
        generation: i64,
        /// Why.
        cause: Cause,
    },
    /// A question for variables.
    Question {
        /// What to ask.
        question: Question,
        /// Why.
        cause: Cause,
    },
}

impl Index {
    /// What to call for a job that is due; `None` when there is nothing to ask any more.
    pub fn begin(&mut self, job: &Job) -> Option<Call> {
        match job {
            Job::Discovery(target) => {
                let entry = self.configs.get_mut(&target.name)?;
                if entry.config.target() != *target {
                    return None;
                }
                // Also where a call had to wait for its turn, and by now cannot be made: none is under way.
                entry.is_in_flight = entry.config.can_be_called();
                entry.is_in_flight.then(|| Call::Discovery {
                    extension: Arc::clone(&entry.config.extension),
                    generation: target.generation,
                    cause: entry.cause,
                })
            }
            Job::Question(key) => {
                let entry = self.questions.get_mut(key)?;
                entry.is_asked = true;
                // The handler may have got another timeout or failure policy, which wakes no class.
                if let Some(question) = present(&self.configs, &entry.question) {
                    entry.question = question;
                }
                Some(Call::Question { question: entry.question.clone(), cause: entry.cause })
            }
        }
    }

    /// Whether a Discovery must be asked for now: none has ended for the present generation, and none is under way.
    #[must_use]
    pub fn needs_discovery(&self, name: &Name) -> bool {
        self.configs.get(name).is_some_and(|entry| {
            entry.config.can_be_called() && !entry.is_discovery_current() && !entry.is_in_flight
        })
    }

    /// The Discovery that must be asked for now. It counts as under way from here on: whoever looks before the call
    /// begins does not ask for another.
    pub fn request_discovery(&mut self, name: &Name) -> Option<Job> {
        if !self.needs_discovery(name) {
            return None;
        }
        let entry = self.configs.get_mut(name)?;
        entry.is_in_flight = true;
        Some(entry.config.discovery())
    }

    /// A question's call ended. Wakes those that ask it when the answer is another one than before, and else only
    /// those that waited for it.
    pub fn answered(&mut self, key: QuestionKey, outcome: QuestionOutcome) -> Wake {
        let mut wake = Wake::default();
        let Some(entry) = self.questions.get_mut(&key) else { return wake };
        wake.is_clock = entry.cause.is_clock();
        entry.cause = match outcome {
            QuestionOutcome::Answered(_) => Cause::Refresh,
            QuestionOutcome::Failed(_) | QuestionOutcome::Ignored => Cause::Probe,
        };
        entry.is_asked = false;
        entry.is_reopened = false;
        let before = entry.outcome.replace(outcome);
        if before.is_some() && before != entry.outcome {
            wake.classes.extend(self.asks.lefts(&key).cloned());
        }
        self.arrived(&Awaited::Question(key), &mut wake);
        wake
    }

    /// Keeps an answer at hand if the one before was not when it was needed. Goes before [`Index::answered`].
    pub fn keep(&mut self, key: QuestionKey, answer: Arc<DiscoverVariablesResponse>) {
        if let Some(entry) = self.questions.get_mut(&key) {
            entry.kept = entry.is_reopened.then_some(answer);
        }
    }

    /// Lets go of what was kept for a class that is evaluated now.
    pub(super) fn let_go(&mut self, class: &ClassKey) {
        for key in self.asks.rights(class) {
            if let Some(entry) = self.questions.get_mut(key) {
                entry.kept = None;
            }
        }
    }

    /// Notes that the answer to a question is no longer at hand, so that it counts as open.
    pub fn reopen(&mut self, key: QuestionKey) {
        if let Some(entry) = self.questions.get_mut(&key) {
            entry.is_reopened = true; // the outcome stays: others were told of it, and a new one is news to them
        }
    }

    /// Replaces the questions that a class asks. Questions that nobody asks any more are dropped.
    pub(super) fn ask(&mut self, class: &ClassKey, questions: BTreeSet<QuestionKey>) {
        let changed = self.asks.set(class, questions);
        for key in changed.vanished {
            self.questions.remove(&key);
            self.clocked.remove(&Job::Question(key));
        }
    }

    /// The state of a question that a class is about to ask, made when it is new.
    pub(super) fn question_entry(&mut self, question: Question, cause: Cause) -> &mut QuestionEntry {
        let key = question.key();
        self.clocked.insert(Job::Question(key));
        let entry = self.questions.entry(key).or_insert_with(|| QuestionEntry {
            question: question.clone(),
            outcome: None,
            cause,
            is_asked: false,
            is_reopened: false,
            kept: None,
        });
        entry.question = question; // the timeout and the failure policy are no part of the key
        entry
    }

    /// The state of a question, if some class asks it.
    #[must_use]
    pub fn question(&self, key: QuestionKey) -> Option<&QuestionEntry> {
        self.questions.get(&key)
    }

    /// Whether the last call for a job failed, so that it waits for its back-off and not for the clock.
    #[must_use]
    pub fn is_failing(&self, job: &Job) -> bool {
        match job {
            Job::Discovery(Target { name, .. }) => {
                self.configs.get(name).is_some_and(|entry| entry.cause == Cause::Probe)
            }
            Job::Question(key) => self.questions.get(key).is_some_and(|entry| entry.cause == Cause::Probe),
        }
    }

    /// What the last Discovery of a config found.
    #[must_use]
    pub fn last_discovery(&self, name: &str) -> Option<&Discovered> {
        self.configs.get(name)?.discovered.as_ref()
    }
}

/// The question as the handler's present registration has it; `None` when it is another one by now.
fn present(configs: &HashMap<Name, ConfigEntry>, question: &Question) -> Option<Question> {
    let entry = configs.get(&question.extension.name)?;
    let handler = entry.registration.as_ref()?.handlers.get(&question.handler)?;
    // The merged settings win over those of the config, so merging once more changes nothing.
    let present = Question::new(Arc::clone(&entry.config.extension), handler, &question.settings).ok()?;
    (present.key() == question.key()).then_some(present)
}
