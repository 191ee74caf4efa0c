//! Whole histories: random operations on the index and on a model that works everything out anew each time.
//!
//! After each operation, every class whose inputs are others than it was last told must have been woken, or wait for
//! something that is still to come; and what a class is told must be what the model says.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kapstan_api::{annotations::CONTRACT_LABEL_PREFIX, extension_config::ExtensionHandler};

use super::super::{
    gather::{Gathered, Known, TemplateFinding},
    keys::{ClassKey, Job, SecretKey, Target, TemplateKey},
    place::SecretState,
    question::QuestionOutcome,
    template::Template,
    wake::Wake,
};
use super::fixtures::{
    GROUP, Object, World, answered, class, config, configs, crd, handler, kind, labels, owner, template,
};
use crate::runtime::{Extension, Question, QuestionKey};

/// Operations in one history.
const OPERATIONS: usize = 1_000;
/// Histories, together 10^5 operations. The number of each is its seed; `KAPSTAN_SEED` runs only that one.
const HISTORIES: u64 = 100;

const CONFIGS: [&str; 4] = ["foo", "foo-bar", "bar", "x.foo"];
const NAMESPACES: [&str; 2] = ["foo", "ns"];
const CLASSES: [&str; 4] = ["foo", "one", "two", "three"];
/// Some name a handler that can exist, some only look like it.
const HANDLERS: [&str; 8] =
    ["dv.foo", "x.foo", "dv.foo-bar", "x.foo-bar", "foo.bar", "dv.bar", "dv.x.foo", "nonsense"];
const KINDS: [&str; 2] = ["MachineTemplate", "ClusterTemplate"];
const ENVS: [&str; 3] = ["prod", "test", "none"];

#[test]
fn every_history_wakes_who_must_be_woken_and_leaves_nothing_behind() {
    let seed = std::env::var("KAPSTAN_SEED").ok().map(|seed| seed.parse().unwrap());
    for seed in seed.map_or(0..HISTORIES, |seed| seed..seed + 1) {
        println!("KAPSTAN_SEED={seed}");
        let mut history = History::new(seed);
        for number in 0..OPERATIONS {
            let what = history.operate();
            history.check(&format!("operation {number}, {what}"));
        }
        history.end();
    }
}

// ---- the model ----

#[derive(Clone, Debug)]
struct ConfigModel {
    uid: u64,
    generation: i64,
    url: &'static str,
    setting: Option<&'static str>,
    selector: Selector,
    is_paused: bool,
    secret: Option<&'static str>,
    bundle: Option<&'static str>,
    /// Generation and whether it went well.
    discovered: Option<(i64, bool)>,
    /// Content, and hook by handler.
    registration: Option<(String, BTreeMap<String, String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selector {
    All,
    Env(&'static str),
    Nonsense,
}

#[derive(Clone, Debug, PartialEq)]
struct ClassModel {
    uid: u64,
    generation: i64,
    asks: Vec<(&'static str, Option<&'static str>)>,
    generates: Option<&'static str>,
    templates: BTreeSet<(&'static str, &'static str, &'static str)>,
    is_paused: bool,
    is_deleting: bool,
}

#[derive(Clone, Debug, Default)]
struct KindModel {
    state: KindStage,
    /// By namespace and name.
    objects: BTreeMap<(String, String), TemplateModel>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum KindStage {
    #[default]
    Starting,
    Synced,
    Unavailable(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
struct TemplateModel {
    uid: u64,
    owners: BTreeSet<(String, String)>,
    is_deleting: bool,
    refused: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Waits {
    Discovery(String),
    Question(String),
    Kind(&'static str),
    Owned(TemplateKey),
    Namespace(String),
}

/// What a class is told: one line for each patch and template, or what it waits for.
type Told = Result<Vec<String>, BTreeSet<Waits>>;

#[derive(Debug, Default)]
struct Model {
    configs: BTreeMap<&'static str, ConfigModel>,
    classes: BTreeMap<ClassKey, ClassModel>,
    namespaces: BTreeMap<&'static str, &'static str>,
    kinds: BTreeMap<&'static str, KindModel>,
    crds: BTreeMap<&'static str, &'static str>,
    /// The last outcome of each question, and whether its answer is at hand.
    outcomes: BTreeMap<String, (Option<QuestionOutcome>, bool)>,
    /// What each class asked when it was last looked at.
    asks: BTreeMap<ClassKey, BTreeSet<String>>,
}

impl ConfigModel {
    fn can_be_called(&self) -> bool {
        !self.is_paused && (self.secret.is_none() || self.bundle.is_some())
    }

    fn is_open(&self) -> bool {
        self.can_be_called() && self.discovered.is_none_or(|(generation, _)| generation != self.generation)
    }

    fn content(&self) -> String {
        format!("{} {} {:?}", self.uid, self.url, self.bundle)
    }

    /// Whether this is the config that was asked.
    fn is_as_in(&self, extension: &Extension, generation: i64) -> bool {
        let bundle = extension.client_config.ca_bundle.as_ref();
        uid_text(self.uid) == *extension.uid
            && extension.client_config.url.as_deref() == Some(self.url)
            && bundle.map(|bundle| bundle.0.as_slice()) == self.bundle.map(str::as_bytes)
            && self.generation == generation
    }

    fn object(&self, name: &str, version: u64) -> Object {
        let mut object = config(name).with_uid(self.uid).at_generation(self.generation).at_version(version);
        object = object.at_url(self.url);
        if let Some(value) = self.setting {
            object = object.with_setting("size", value);
        }
        if self.is_paused {
            object = object.paused();
        }
        if let Some(secret) = self.secret {
            object = object.with_ca_from(secret);
        }
        if let Some(bundle) = self.bundle {
            object = object.with_bundle(bundle);
        }
        match self.selector {
            Selector::All => object,
            Selector::Env(env) => object.selecting("env", env),
            Selector::Nonsense => object.selecting_by("Wrong"),
        }
    }
}

impl ClassModel {
    fn object(&self, key: &ClassKey, version: u64) -> Object {
        let mut object = class(&key.to_string()).with_uid(self.uid).at_generation(self.generation);
        object = object.at_version(version);
        for (handler, setting) in &self.asks {
            object = match setting {
                Some(value) => object.asking_with(handler, "size", value),
                None => object.asking(handler),
            };
        }
        if let Some(handler) = self.generates {
            object = object.generating_with(handler);
        }
        for (version, kind, name) in &self.templates {
            object = object.using_version(version, kind, name);
        }
        if self.is_paused {
            object = object.paused();
        }
        if self.is_deleting { object.deleting() } else { object }
    }

    /// The configs that it asks for variables.
    fn configs(&self) -> BTreeSet<&'static str> {
        self.asks.iter().filter_map(|(handler, _)| config_of(handler)).collect()
    }
}

fn config_of(handler: &'static str) -> Option<&'static str> {
    handler.split_once('.').map(|(_, config)| config).filter(|config| !config.contains('.'))
}

impl Model {
    /// What a class is to be told. `is_strict` counts answers that are no longer at hand and owner references that
    /// are missing as open, which matters to a class that is looked at and to none that was evaluated before.
    fn told(&self, key: &ClassKey, is_strict: bool) -> Option<Told> {
        let class = self.classes.get(key).filter(|class| !class.is_deleting)?;
        let (mut lines, mut waits) = (Vec::new(), BTreeSet::new());
        let mut take = |told: Result<String, Waits>| match told {
            Ok(line) => lines.push(line),
            Err(wait) => drop(waits.insert(wait)),
        };
        if !class.is_paused {
            for ask in &class.asks {
                take(self.answer(key, ask, is_strict));
            }
            for reference in &class.templates {
                take(self.template(key, class, reference, is_strict));
            }
        }
        Some(if waits.is_empty() { Ok(lines) } else { Err(waits) })
    }

    fn answer(
        &self,
        key: &ClassKey,
        ask: &(&'static str, Option<&'static str>),
        is_strict: bool,
    ) -> Result<String, Waits> {
        let question = match self.question(key, ask) {
            Ok(Ok(question)) => question,
            Ok(Err(why)) => return Ok(why.to_owned()),
            Err(wait) => return Err(wait),
        };
        match self.outcomes.get(&question) {
            Some((Some(outcome), is_at_hand)) if *is_at_hand || !is_strict => Ok(match outcome {
                QuestionOutcome::Answered(digest) => format!("said {digest:?}"),
                QuestionOutcome::Failed(why) => format!("failed: {why}"),
                QuestionOutcome::Ignored => "nothing".to_owned(),
            }),
            _ => Err(Waits::Question(question)),
        }
    }

    /// The question that stands behind a patch, or why there is none.
    fn question(
        &self,
        key: &ClassKey,
        (handler, setting): &(&'static str, Option<&'static str>),
    ) -> Result<Result<String, &'static str>, Waits> {
        let Some(name) = config_of(handler) else { return Ok(Err("malformed")) };
        let Some(config) = self.configs.get(name) else { return Ok(Err("absent")) };
        if config.is_open() {
            return Err(Waits::Discovery(name.to_owned()));
        }
        let registered = config.registration.as_ref().filter(|(content, _)| *content == config.content());
        let Some((_, handlers)) = registered else { return Ok(Err("undiscovered")) };
        match handlers.get(*handler).map(String::as_str) {
            None => return Ok(Err("no handler")),
            Some("DiscoverVariables") => {}
            Some(_) => return Ok(Err("wrong hook")),
        }
        match (config.selector, self.namespaces.get(&*key.namespace)) {
            (Selector::Nonsense, _) => return Ok(Err("nonsense")),
            (Selector::Env(_), None) => return Err(Waits::Namespace(key.namespace.to_string())),
            (Selector::Env(env), Some(found)) if env != *found => return Ok(Err("not served")),
            _ => {}
        }
        let setting = setting.or(config.setting);
        Ok(Ok(format!("{} {handler} {}", config.content(), setting.unwrap_or("-"))))
    }

    fn template(
        &self,
        key: &ClassKey,
        class: &ClassModel,
        (version, kind_name, name): &(&'static str, &'static str, &'static str),
        is_strict: bool,
    ) -> Result<String, Waits> {
        let kind = &self.kinds[kind_name];
        let finding = match (&kind.state, kind.objects.get(&(key.namespace.to_string(), (*name).to_owned())))
        {
            (KindStage::Starting, _) => return Err(Waits::Kind(kind_name)),
            (KindStage::Unavailable(why), _) => TemplateFinding::Unavailable((*why).into()),
            (KindStage::Synced, None) => TemplateFinding::Missing,
            (KindStage::Synced, Some(found)) => {
                let is_owned = found.owners.iter().any(|(_, uid)| *uid == uid_text(class.uid));
                match found.refused {
                    _ if is_owned => self.found(kind_name),
                    Some(why) => TemplateFinding::Unowned(why.into()),
                    None if found.is_deleting => TemplateFinding::Unowned("it is being deleted".into()),
                    None if !is_strict => self.found(kind_name),
                    None => {
                        return Err(Waits::Owned(template(kind_name, &format!("{}/{name}", key.namespace))));
                    }
                }
            }
        };
        Ok(format!("{kind_name} {name} ({GROUP}/{version}): {finding:?}"))
    }

    fn found(&self, kind: &str) -> TemplateFinding {
        let contract = format!("{CONTRACT_LABEL_PREFIX}v1beta2");
        TemplateFinding::Found(self.crds.get(kind).map(|versions| labels(&[(&contract, versions)])))
    }

    /// Whether something that a class waits for is still to come.
    fn is_to_come(&self, key: &ClassKey, waits: &Waits) -> bool {
        match waits {
            Waits::Discovery(name) => self.configs.get(name.as_str()).is_some_and(ConfigModel::is_open),
            Waits::Question(question) => self
                .outcomes
                .get(question)
                .is_some_and(|(outcome, is_at_hand)| outcome.is_none() || !is_at_hand),
            Waits::Kind(kind) => self.kinds.get(kind).is_some_and(|kind| kind.state == KindStage::Starting),
            Waits::Owned(template) => {
                let class = &self.classes[key];
                let object = self.kinds.get(&*template.kind.kind).and_then(|kind| {
                    kind.objects.get(&(template.namespace.to_string(), template.name.to_string()))
                });
                object.is_some_and(|object| !object.owners.iter().any(|(_, uid)| *uid == uid_text(class.uid)))
            }
            Waits::Namespace(name) => !self.namespaces.contains_key(name.as_str()),
        }
    }

    fn classes_where(&self, is_one: impl Fn(&ClassModel) -> bool) -> BTreeSet<ClassKey> {
        self.classes.iter().filter(|(_, class)| is_one(class)).map(|(key, _)| key.clone()).collect()
    }
}

fn uid_text(uid: u64) -> String {
    format!("uid-{uid}")
}

// ---- histories ----

/// A Discovery under way.
struct Flight {
    name: &'static str,
    extension: Arc<Extension>,
    target: Target,
}

struct History {
    seed: u64,
    dice: Dice,
    world: World,
    model: Model,
    /// What each class was told when it was last looked at.
    told: BTreeMap<ClassKey, Told>,
    flights: Vec<Flight>,
    version: u64,
    uids: u64,
    answers: u64,
}

impl History {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            dice: Dice(seed),
            world: World::default(),
            model: Model::default(),
            told: BTreeMap::new(),
            flights: Vec::new(),
            version: 10,
            uids: 0,
            answers: 0,
        }
    }

    /// Does something at random, and says what.
    fn operate(&mut self) -> String {
        match self.dice.roll(32) {
            0 | 1 => self.change_config(),
            2 if self.dice.roll(2) == 0 => self.delete_config(),
            3 | 4 => self.change_class(),
            5 if self.dice.roll(2) == 0 => self.delete_class(),
            6 => self.change_namespace(),
            7..=9 => self.begin_discovery(),
            10..=13 => self.end_discovery(),
            14..=18 => self.end_question(),
            19 | 20 => self.reopen(),
            21 => self.change_template(),
            22 => self.own_template(),
            23 => self.change_kind(),
            24 => self.change_crd(),
            25 if self.dice.roll(2) == 0 => self.list(),
            _ => self.look_at_some(),
        }
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn next_uid(&mut self) -> u64 {
        self.uids += 1;
        self.uids
    }

    // ---- ExtensionConfigs ----

    fn change_config(&mut self) -> String {
        let name = self.dice.pick(&CONFIGS);
        let what = self.remodel_config(name);
        let version = self.next_version();
        let object = self.model.configs[name].object(name, version);
        let stale = object.clone().at_version(1).at_generation(99).at_url("https://stale.test");
        let wake = self.world.config(object);
        self.check_config_wake(name, &wake, &what);
        assert_eq!(self.world.config(stale), Wake::default(), "seed {}: stale event", self.seed);
        what
    }

    /// Changes a config in the model, or makes one.
    fn remodel_config(&mut self, name: &'static str) -> String {
        let (uid, dice) = (self.next_uid(), &mut self.dice);
        let fresh = ConfigModel {
            uid,
            generation: 1,
            url: "https://a.test",
            setting: None,
            selector: Selector::All,
            is_paused: dice.roll(8) == 0,
            secret: None,
            bundle: None,
            discovered: None,
            registration: None,
        };
        let Some(config) = self.model.configs.get_mut(name) else {
            self.model.configs.insert(name, fresh);
            return format!("config {name} made");
        };
        let before = config.clone();
        let aspect = dice.roll(12).min(8);
        match aspect {
            0 => config.url = dice.pick(&["https://a.test", "https://b.test"]),
            1 => config.setting = dice.pick(&[None, Some("x"), Some("y")]),
            2 | 3 => {
                let env = dice.pick(&["prod", "test"]);
                config.selector = dice.pick(&[Selector::All, Selector::Env(env), Selector::Nonsense]);
            }
            4 => config.is_paused = !config.is_paused,
            5 => config.secret = dice.pick(&[None, Some("ns/ca"), Some("ns/other")]),
            6 => config.bundle = dice.pick(&[None, Some("pem"), Some("mep")]),
            7 => *config = fresh,
            _ => {} // the same once more
        }
        if aspect != 7 {
            let is_spec = matches!(aspect, 0..=3 | 6);
            config.generation += i64::from(is_spec);
            if !before.can_be_called() && config.can_be_called() {
                config.discovered = None;
            }
        }
        format!("config {name}: aspect {aspect}")
    }

    fn delete_config(&mut self) -> String {
        let name = self.dice.pick(&CONFIGS);
        self.model.configs.remove(name);
        let wake = self.world.delete_config(name);
        self.check_config_wake(name, &wake, "deleted");
        format!("config {name} deleted")
    }

    /// A config's event concerns nobody but the classes that ask that config.
    fn check_config_wake(&self, name: &str, wake: &Wake, what: &str) {
        let mut concerned = self.model.classes_where(|class| class.configs().contains(name));
        // A class that has changed and was not looked at since still waits for what it asked before.
        concerned.extend(self.told.iter().filter(|(_, told)| told.is_err()).map(|(key, _)| key.clone()));
        assert!(wake.classes.is_subset(&concerned), "seed {}: {name} {what}: {:?}", self.seed, wake.classes);
        assert!(configs(wake).iter().all(|config| config == name), "seed {}: {wake:?}", self.seed);
    }

    fn begin_discovery(&mut self) -> String {
        let name = self.dice.pick(&CONFIGS);
        let can_be_called = self.model.configs.get(name).is_some_and(ConfigModel::can_be_called);
        let Some(entry) = self.world.index.config(name) else { return format!("{name} is not there") };
        let (extension, target) = (Arc::clone(&entry.config.extension), entry.config.target());
        let begun = self.world.index.begin(&Job::Discovery(target.clone()));
        assert_eq!(begun.is_some(), can_be_called, "seed {}: {name}", self.seed);
        if begun.is_some() {
            // The same once more is one call; that to what the config was before goes on beside it.
            self.flights.retain(|flight| flight.target != target);
            self.flights.push(Flight { name, extension, target });
        }
        format!("discovery of {name} begins")
    }

    fn end_discovery(&mut self) -> String {
        if self.flights.is_empty() {
            return self.begin_discovery();
        }
        let at = self.dice.roll(self.flights.len());
        let Flight { name, extension, target } = self.flights.swap_remove(at);
        let is_good = self.dice.roll(6) > 0;
        let handlers = self.handlers_of(name);
        let result: Result<Arc<[ExtensionHandler]>, Arc<str>> =
            if is_good { Ok(handlers.clone().into()) } else { Err("down".into()) };
        let wake = self.world.index.discovered(&target, result);
        let wake = self.world.note(wake);
        self.check_config_wake(name, &wake, "discovered");
        if let Some(config) =
            self.model.configs.get_mut(name).filter(|config| config.is_as_in(&extension, target.generation))
        {
            config.discovered = Some((target.generation, is_good));
            if is_good {
                let content = config.content();
                let hooks =
                    handlers.iter().map(|handler| (handler.name.clone(), handler.request_hook.hook.clone()));
                config.registration = Some((content, hooks.collect()));
            }
        }
        format!("discovery of {name} ends, {is_good}")
    }

    fn handlers_of(&mut self, config: &str) -> Vec<ExtensionHandler> {
        let mut handlers = Vec::new();
        for name in ["dv", "x", "foo"] {
            let hook = self.dice.pick(&[
                "DiscoverVariables",
                "DiscoverVariables",
                "DiscoverVariables",
                "GeneratePatches",
                "",
            ]);
            if !hook.is_empty() {
                let seconds = self.dice.pick(&[Some(5), Some(10), None]);
                let found = handler(&format!("{name}.{config}"), hook);
                handlers.push(ExtensionHandler { timeout_seconds: seconds, ..found });
            }
        }
        handlers
    }

    // ---- classes ----

    fn a_class(&mut self) -> ClassKey {
        ClassKey::new(self.dice.pick(&NAMESPACES), self.dice.pick(&CLASSES))
    }

    fn change_class(&mut self) -> String {
        let key = self.a_class();
        self.remodel_class(&key);
        self.take_up_kinds();
        let version = self.next_version();
        let object = self.model.classes[&key].object(&key, version);
        let wake = self.world.class(object);
        assert!(wake.classes.iter().all(|woken| *woken == key), "seed {}: {key}: {wake:?}", self.seed);
        format!("class {key} changed")
    }

    fn remodel_class(&mut self, key: &ClassKey) {
        let uid = self.next_uid();
        let dice = &mut self.dice;
        let asks =
            (0..dice.roll(4)).map(|_| (dice.pick(&HANDLERS), dice.pick(&[None, Some("x"), Some("z")])));
        let asks = asks.collect();
        let templates = (0..dice.roll(3))
            .map(|_| (dice.pick(&["v1beta1", "v1beta2"]), dice.pick(&KINDS), dice.pick(&["t", "u"])))
            .collect();
        let generates = dice.pick(&[None, Some("dv.foo"), Some("x.foo-bar")]);
        let fresh = ClassModel {
            uid,
            generation: 1,
            asks,
            generates,
            templates,
            is_paused: false,
            is_deleting: false,
        };
        let aspect = dice.roll(8);
        match self.model.classes.get_mut(key) {
            None => drop(self.model.classes.insert(key.clone(), fresh)),
            Some(class) if aspect == 0 => *class = fresh,
            Some(class) if aspect == 1 => class.is_paused = !class.is_paused,
            Some(class) if aspect == 2 => class.is_deleting = true,
            Some(class) => {
                let ClassModel { uid, generation, is_paused, is_deleting, .. } = class.clone();
                *class = ClassModel { uid, generation: generation + 1, is_paused, is_deleting, ..fresh };
            }
        }
    }

    /// The index sees the classes: it takes up their kinds.
    fn take_up_kinds(&mut self) {
        for (_, kind, _) in self.model.classes.values().flat_map(|class| &class.templates) {
            self.model.kinds.entry(kind).or_default();
        }
    }

    fn delete_class(&mut self) -> String {
        let key = self.a_class();
        self.model.classes.remove(&key);
        self.forget(&key);
        let _ = self.world.delete_class(&key.to_string());
        format!("class {key} deleted")
    }

    fn forget(&mut self, key: &ClassKey) {
        self.told.remove(key);
        self.model.asks.remove(key);
        self.drop_questions();
    }

    fn drop_questions(&mut self) {
        let asked: BTreeSet<&String> = self.model.asks.values().flatten().collect();
        self.model.outcomes.retain(|question, _| asked.contains(question));
    }

    fn look_at_some(&mut self) -> String {
        let classes: Vec<ClassKey> = self.world.woken.iter().cloned().collect();
        for class in &classes {
            if self.dice.roll(2) == 0 {
                self.look_at(class);
            }
        }
        format!("some of {} classes looked at", classes.len())
    }

    /// Looks at a class as its reconcile does, and compares what it is told with the model.
    fn look_at(&mut self, key: &ClassKey) {
        if let Some(class) =
            self.model.classes.get(key).filter(|class| !class.is_deleting && !class.is_paused)
        {
            let questions = class.asks.iter().filter_map(|ask| self.model.question(key, ask).ok()?.ok());
            let questions: BTreeSet<String> = questions.collect();
            for question in &questions {
                self.model.outcomes.entry(question.clone()).or_insert((None, true));
            }
            self.model.asks.insert(key.clone(), questions);
        } else {
            self.model.asks.remove(key);
        }
        self.drop_questions();
        let expected = self.model.told(key, true);
        let told = self.world.gather(key).map(|gathered| self.in_words(&gathered));
        assert_eq!(told, expected, "seed {}: {key}", self.seed);
        match told {
            Some(told) => drop(self.told.insert(key.clone(), told)),
            None => drop(self.told.remove(key)),
        }
    }

    fn in_words(&self, gathered: &Gathered) -> Told {
        if !gathered.open.is_empty() {
            return Err(gathered.open.iter().map(|awaited| self.waits(awaited)).collect());
        }
        let answers = gathered.answers.iter().map(|(_, known)| match known {
            Known::Answer(answer) => format!("said {:?}", answer.digest),
            Known::Nothing => "nothing".to_owned(),
            Known::Failed(why) => category(why),
        });
        let templates =
            gathered.templates.iter().map(|(reference, finding)| format!("{reference}: {finding:?}"));
        Ok(answers.chain(templates).collect())
    }

    fn waits(&self, awaited: &super::super::Awaited) -> Waits {
        use super::super::Awaited;
        match awaited {
            Awaited::Discovery(name) => Waits::Discovery(name.to_string()),
            Awaited::Question(key) => Waits::Question(self.question_text(*key)),
            Awaited::Kind(kind) => {
                Waits::Kind(KINDS.into_iter().find(|known| **known == *kind.kind).unwrap())
            }
            Awaited::Owned(key) => Waits::Owned(key.clone()),
            Awaited::Namespace(name) => Waits::Namespace(name.to_string()),
        }
    }

    fn question_text(&self, key: QuestionKey) -> String {
        let Question { extension, handler, settings, .. } = &self.world.index.questions[&key].question;
        let bundle = extension.client_config.ca_bundle.as_ref();
        let bundle = bundle.map(|bundle| String::from_utf8(bundle.0.clone()).unwrap());
        let (uid, url) =
            (extension.uid.trim_start_matches("uid-"), extension.client_config.url.as_ref().unwrap());
        format!(
            "{uid} {url} {:?} {handler} {}",
            bundle.as_deref(),
            settings.get("size").map_or("-", String::as_str)
        )
    }

    // ---- questions ----

    fn a_question(&mut self) -> Option<(QuestionKey, String)> {
        let texts = self.world.index.questions.keys().map(|key| (self.question_text(*key), *key));
        let texts: Vec<_> = texts.collect::<BTreeMap<_, _>>().into_iter().collect();
        let (text, key) = texts.get(self.dice.roll(texts.len().max(1)))?.clone();
        Some((key, text))
    }

    fn end_question(&mut self) -> String {
        let Some((key, text)) = self.a_question() else { return "no question to answer".to_owned() };
        self.answers += 1;
        let outcome = match self.dice.roll(6) {
            0 => QuestionOutcome::Failed("down".into()),
            1 => QuestionOutcome::Ignored,
            2 => answered(&format!("news {}", self.answers)),
            _ => answered("answer"),
        };
        self.model.outcomes.insert(text.clone(), (Some(outcome.clone()), true));
        let wake = self.world.answer(key, outcome);
        let askers =
            self.model.asks.iter().filter(|(_, asks)| asks.contains(&text)).map(|(key, _)| key.clone());
        let askers: BTreeSet<ClassKey> = askers.collect();
        assert!(wake.classes.is_subset(&askers), "seed {}: {text}: {:?}", self.seed, wake.classes);
        format!("answer to {text}")
    }

    fn reopen(&mut self) -> String {
        let Some((key, text)) = self.a_question() else { return "no question to reopen".to_owned() };
        self.world.index.reopen(key);
        if let Some((Some(_), is_at_hand)) = self.model.outcomes.get_mut(&text) {
            *is_at_hand = false;
        }
        format!("{text} reopened")
    }

    // ---- places, kinds, templates ----

    fn change_namespace(&mut self) -> String {
        let (name, env) = (self.dice.pick(&NAMESPACES), self.dice.pick(&ENVS));
        if self.dice.roll(5) == 0 {
            self.model.namespaces.remove(name);
            let wake = self.world.index.delete_namespace(&name.into());
            let _ = self.world.note(wake);
            return format!("namespace {name} deleted");
        }
        self.model.namespaces.insert(name, env);
        let wake = self.world.namespace(name, &[("env", env)]);
        assert!(wake.classes.iter().all(|class| &*class.namespace == name), "seed {}: {wake:?}", self.seed);
        format!("namespace {name} is {env}")
    }

    fn change_kind(&mut self) -> String {
        let name = self.dice.pick(&KINDS);
        if self.dice.roll(4) == 0 {
            let secret = self.dice.pick(&["ns/ca", "ns/other"]);
            let _ = self.world.secret(secret, SecretState::Absent);
            self.prune();
            return "watches follow".to_owned();
        }
        let is_available = self.dice.roll(3) > 0;
        let Some(known) = self.model.kinds.get_mut(name) else { return format!("{name} is not watched") };
        if is_available {
            known.state = KindStage::Synced;
            let listed: Vec<_> =
                known.objects.iter().map(|(place, object)| (place.clone(), object.clone())).collect();
            let version = self.next_version();
            self.world.index.kind_found(&kind(name), super::fixtures::resource(name));
            let listed = listed.into_iter().map(|((namespace, object), state)| {
                (template(name, &format!("{namespace}/{object}")), state.at(version))
            });
            let wake = self.world.index.reset_templates(&kind(name), listed.collect());
            let _ = self.world.note(wake);
        } else {
            let why = self.dice.pick(&["not served", "forbidden"]);
            self.model.kinds.get_mut(name).unwrap().state = KindStage::Unavailable(why);
            let wake = self.world.index.kind_unavailable(&kind(name), why.into());
            let _ = self.world.note(wake);
        }
        format!("kind {name} is available: {is_available}")
    }

    /// The watches are those in use, by the index as by a scan of all classes and configs.
    fn prune(&mut self) {
        let watched = self.world.index.watched();
        let used = |name: &str| {
            !self
                .model
                .classes_where(|class| class.templates.iter().any(|(_, kind, _)| *kind == name))
                .is_empty()
        };
        let kinds: BTreeSet<_> = KINDS.into_iter().filter(|name| used(name)).map(kind).collect();
        assert_eq!(watched.kinds.into_keys().collect::<BTreeSet<_>>(), kinds, "seed {}", self.seed);
        let secrets = self.model.configs.values().filter_map(|config| config.secret);
        let secrets: BTreeSet<_> = secrets.map(|secret| SecretKey::parse(secret).unwrap()).collect();
        assert_eq!(watched.secrets.into_iter().collect::<BTreeSet<_>>(), secrets, "seed {}", self.seed);
        self.model.kinds.retain(|name, _| kinds.contains(&kind(name)));
    }

    fn a_template(&mut self) -> (&'static str, TemplateKey, (String, String)) {
        let (kind, namespace, name) =
            (self.dice.pick(&KINDS), self.dice.pick(&NAMESPACES), self.dice.pick(&["t", "u"]));
        (kind, template(kind, &format!("{namespace}/{name}")), (namespace.to_owned(), name.to_owned()))
    }

    fn change_template(&mut self) -> String {
        let (kind, key, place) = self.a_template();
        let (uid, version, dice) = (self.next_uid(), self.next_version(), &mut self.dice);
        let fresh = TemplateModel { uid, owners: BTreeSet::new(), is_deleting: false, refused: None };
        let Some(known) = self.model.kinds.get_mut(kind) else { return format!("{kind} is not watched") };
        if dice.roll(4) == 0 {
            known.objects.remove(&place);
            let _ = self.world.delete_template(&key);
            return format!("{key} deleted");
        }
        let object = known.objects.entry(place).or_insert(fresh.clone());
        match dice.roll(5) {
            0 => *object = fresh,
            1 => object.is_deleting = true,
            2 => object.owners.clear(),
            3 => {
                let why = dice.pick(&[None, Some("forbidden"), Some("too large")]);
                object.refused = why;
                let state = object.at(version);
                let _ = self.world.template(&key, state);
                let wake =
                    self.world.index.template_refused(&key, &uid_text(object.uid), why.map(Into::into));
                let _ = self.world.note(wake);
                return format!("{key} refused: {why:?}");
            }
            _ => {}
        }
        let state = object.at(version);
        let _ = self.world.template(&key, state);
        format!("{key} changed")
    }

    fn own_template(&mut self) -> String {
        let (kind, key, place) = self.a_template();
        if !self.model.kinds.get(kind).is_some_and(|kind| kind.state == KindStage::Synced) {
            return format!("{kind} is not known");
        }
        let owners: Vec<_> = self
            .model
            .classes
            .iter()
            .filter(|(class, model)| {
                *class.namespace == *place.0
                    && !model.is_paused
                    && !model.is_deleting
                    && model.templates.iter().any(|(_, of, name)| *of == kind && *name == place.1)
            })
            .map(|(class, model)| (class.name.to_string(), uid_text(model.uid)))
            .collect();
        if let Some(object) = self.model.kinds.get_mut(kind).and_then(|kind| kind.objects.get_mut(&place))
            && !object.is_deleting
        {
            for owner in owners {
                object.owners.retain(|(name, _)| *name != owner.0);
                object.owners.insert(owner);
            }
        }
        let version = self.next_version();
        if let Some(plan) = crate::controllers::template_owners::plan::owners(&self.world.index, &key) {
            let written =
                Template { owners: plan.owners, resource_version: version.to_string(), ..plan.template };
            let _ = self.world.template(&key, written);
        }
        format!("{key} owned")
    }

    fn change_crd(&mut self) -> String {
        let (name, versions) = (self.dice.pick(&KINDS), self.dice.pick(&["v1beta1", "v1beta1_v1beta2"]));
        if self.dice.roll(4) == 0 {
            self.model.crds.remove(name);
            let wake = self.world.index.delete_crd(&crd(name));
            let _ = self.world.note(wake);
        } else {
            self.model.crds.insert(name, versions);
            let contract = format!("{CONTRACT_LABEL_PREFIX}v1beta2");
            let _ = self.world.crd(name, &[(&contract, versions), ("other", "x")]);
        }
        format!("CRD of {name} changed")
    }

    /// Some changes are seen only when the watch lists anew.
    fn list(&mut self) -> String {
        let version = self.next_version();
        if self.dice.roll(2) == 0 {
            let (changed, gone) = (self.dice.pick(&CONFIGS), self.dice.pick(&CONFIGS));
            self.remodel_config(changed);
            self.model.configs.remove(gone);
            let listed =
                self.model.configs.iter().map(|(name, config)| config.object(name, version).config());
            let wake = self.world.index.reset_configs(listed.collect());
            let _ = self.world.note(wake);
            return format!("configs listed, {changed} changed and {gone} gone");
        }
        let (changed, gone) = (self.a_class(), self.a_class());
        self.remodel_class(&changed);
        self.model.classes.remove(&gone);
        self.forget(&gone);
        self.take_up_kinds();
        let listed = self.model.classes.iter().map(|(key, class)| class.object(key, version).class());
        let wake = self.world.index.reset_classes(listed.collect());
        let _ = self.world.note(wake);
        format!("classes listed, {changed} changed and {gone} gone")
    }

    // ---- what must hold ----

    fn check(&self, what: &str) {
        let seed = self.seed;
        for (key, class) in &self.model.classes {
            if self.world.woken.contains(key) || class.is_deleting {
                continue;
            }
            let now = self.model.told(key, false).unwrap();
            let Some(last) = self.told.get(key) else { panic!("seed {seed}: {what}: {key} was never woken") };
            match (last, &now) {
                (Ok(last), Ok(now)) => assert_eq!(last, now, "seed {seed}: {what}: {key} was not woken"),
                // A Discovery under way is no news before it has ended.
                (Ok(_), Err(waits)) => assert!(
                    waits.iter().all(|wait| matches!(wait, Waits::Discovery(_))),
                    "seed {seed}: {what}: {key} was not woken for {waits:?}"
                ),
                (Err(waits), _) => assert!(
                    waits.iter().any(|wait| self.model.is_to_come(key, wait)),
                    "seed {seed}: {what}: {key} waits for what has come: {waits:?}, {now:?}"
                ),
            }
        }
        self.check_relations(what);
    }

    /// The relations answer what a scan of everything does.
    fn check_relations(&self, what: &str) {
        let (seed, index) = (self.seed, &self.world.index);
        for handler in HANDLERS {
            let expected = self.model.classes_where(|class| {
                class.generates == Some(handler) || class.asks.iter().any(|(asked, _)| *asked == handler)
            });
            let named = index.classes_naming(&handler.into()).into_iter().map(|(class, _)| class);
            assert_eq!(named.collect::<BTreeSet<_>>(), expected, "seed {seed}: {what}: {handler}");
        }
        for (kind, namespace) in
            KINDS.into_iter().flat_map(|kind| NAMESPACES.map(|namespace| (kind, namespace)))
        {
            let mut expected = self.model.classes_where(|class| {
                class.templates.iter().any(|(_, of, name)| *of == kind && *name == "t")
            });
            expected.retain(|class| *class.namespace == *namespace);
            let key = template(kind, &format!("{namespace}/t"));
            let found: BTreeSet<ClassKey> =
                index.classes_of_template(&key).map(|entry| entry.class.key.clone()).collect();
            assert_eq!(found, expected, "seed {seed}: {what}: {key}");
        }
        assert_eq!(index.questions.len(), self.model.outcomes.len(), "seed {seed}: {what}");
        let callable = self.model.configs.values().filter(|config| config.can_be_called()).count();
        assert_eq!(index.clocked_len(), callable + index.questions.len(), "seed {seed}: {what}");
    }

    /// Everything comes to rest with the truth, and nothing is left when all is gone.
    fn end(mut self) {
        for name in CONFIGS {
            self.flights.clear();
            let _ = self.begin_discovery_of(name);
        }
        for _ in 0..10 {
            while let Some(class) = self.world.woken.first().cloned() {
                self.look_at(&class);
            }
            for (key, _) in self.world.index.questions.clone() {
                let text = self.question_text(key);
                let (outcome, is_at_hand) = &self.model.outcomes[&text];
                if outcome.is_none() || !is_at_hand {
                    self.model.outcomes.insert(text, (Some(answered("end")), true));
                    let _ = self.world.answer(key, answered("end"));
                }
            }
        }
        self.check("end");
        for (key, told) in &self.told {
            let waits = told.as_ref().err().into_iter().flatten();
            let mut open = waits.filter(|wait| {
                matches!(wait, Waits::Question(_) | Waits::Discovery(_)) && self.model.is_to_come(key, wait)
            });
            assert_eq!(open.next(), None, "seed {}: {key}", self.seed);
        }
        let index = &mut self.world.index;
        let _ = index.reset_configs(vec![]);
        let _ = index.reset_classes(vec![]);
        let _ = index.reset_namespaces(vec![]);
        let _ = index.reset_crds(vec![]);
        let _ = index.watched();
        self.world.assert_empty();
    }

    fn begin_discovery_of(&mut self, name: &'static str) -> Option<()> {
        let config = &self.world.index.config(name)?.config;
        let (extension, target) = (Arc::clone(&config.extension), config.target());
        self.world.index.begin(&Job::Discovery(target.clone()))?;
        self.flights.push(Flight { name, extension, target });
        self.end_discovery();
        Some(())
    }
}

impl TemplateModel {
    fn at(&self, version: u64) -> Template {
        Template {
            uid: uid_text(self.uid).as_str().into(),
            resource_version: version.to_string(),
            owners: self.owners.iter().map(|(name, uid)| owner(name, uid)).collect(),
            is_deleting: self.is_deleting,
        }
    }
}

fn category(why: &str) -> String {
    let known = [
        ("is not of the form", "malformed"),
        ("there is no ExtensionConfig", "absent"),
        ("has not been discovered", "undiscovered"),
        ("has no such handler", "no handler"),
        (", not DiscoverVariables", "wrong hook"),
        ("does not serve namespace", "not served"),
        ("serves no namespace", "nonsense"),
    ];
    let found = known.into_iter().find(|(part, _)| why.contains(part));
    found.map_or_else(|| format!("failed: {why}"), |(_, category)| category.to_owned())
}

/// `SplitMix64`: a seed gives the same throws everywhere.
struct Dice(u64);

impl Dice {
    /// One of `0..sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}
