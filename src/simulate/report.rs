//! What a simulation found out, for programs and for people.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::fleet::Size;

/// So many seconds of a histogram are shown in a table.
const SHOWN: usize = 30;

/// What a simulation found out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What is as it should be in the end.
    pub ready: Ready,
    /// What there is.
    pub size: Size,
    /// From nothing to everything ready.
    pub settle: Settle,
    /// Calls to extensions in each second since the first object was created.
    pub histogram: Vec<u64>,
}

/// Objects that are as they should be, by what the API server stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// `ExtensionConfig`s that are discovered in their present generation.
    pub extension_configs: usize,
    /// `ClusterClass`es whose variables and templates are good in their present generation.
    pub cluster_classes: usize,
    /// Templates that every class that uses them owns.
    pub templates_owned: usize,
}

/// What it took to settle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settle {
    /// Seconds from the first create to the last object that became ready, or until that was given up.
    pub seconds: f64,
    /// Seconds of these in which objects were still being created.
    #[serde(skip)]
    pub seconds_of_creation: f64,
    /// Calls that extensions got.
    pub calls: Calls,
    /// The most calls that were under way at once.
    pub max_in_flight: u64,
    /// Desired statuses that were computed.
    pub evaluations: PerKind,
    /// Requests of the manager for a change, granted or not.
    pub writes: PerKind,
    /// Lists that the manager asked for.
    pub lists: Lists,
    /// Writes that were refused because somebody else wrote first.
    pub conflicts: u64,
    /// Events that the manager recorded.
    pub events: u64,
    /// Objects whose status said for a time that something was awaited.
    pub pending: usize,
}

/// Calls by hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Calls {
    /// What an extension can do.
    pub discovery: u64,
    /// What variables it has.
    pub discover_variables: u64,
}

/// A count for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PerKind {
    /// Of `ExtensionConfig`s.
    pub extension_config: u64,
    /// Of `ClusterClass`es.
    pub cluster_class: u64,
    /// Of templates of any kind.
    pub template: u64,
}

/// Lists, and what they were for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lists {
    /// Those with which a watch began: one for each thing that is watched.
    pub per_watch: u64,
    /// All others.
    pub extra: u64,
}

impl Report {
    /// Whether everything that there is, is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let Ready { extension_configs, cluster_classes, templates_owned } = self.ready;
        extension_configs == self.size.extension_configs
            && cluster_classes == self.size.cluster_classes
            && templates_owned == self.size.templates()
    }
}

/// A table.
impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { ready, size, settle, histogram } = self;
        let of = |ready: usize, all: usize| format!("{ready} of {all}");
        row(f, "", ["ExtensionConfig", "ClusterClass", "Template"].map(str::to_owned))?;
        row(
            f,
            "ready",
            [
                of(ready.extension_configs, size.extension_configs),
                of(ready.cluster_classes, size.cluster_classes),
                of(ready.templates_owned, size.templates()),
            ],
        )?;
        row(f, "evaluations", settle.evaluations.cells())?;
        row(f, "writes", settle.writes.cells())?;
        writeln!(f)?;
        let settled = if self.is_ready() { "settled            in" } else { "not settled        after" };
        writeln!(
            f,
            "{settled} {:.1} s, of which {:.1} s to create",
            settle.seconds, settle.seconds_of_creation
        )?;
        settle.lines(f)?;
        write!(f, "calls each second ")?;
        histogram.iter().take(SHOWN).try_for_each(|calls| write!(f, " {calls}"))?;
        let more = histogram.iter().skip(SHOWN).max();
        more.map_or(Ok(()), |most| {
            write!(f, " and {most} at most in the {} that follow", histogram.len() - SHOWN)
        })?;
        writeln!(f)
    }
}

impl PerKind {
    fn cells(self) -> [String; 3] {
        [self.extension_config, self.cluster_class, self.template].map(|count| count.to_string())
    }
}

impl Settle {
    fn lines(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Calls { discovery, discover_variables } = self.calls;
        let Lists { per_watch, extra } = self.lists;
        writeln!(
            f,
            "calls              {discovery} Discovery, {discover_variables} DiscoverVariables, {} at once at most",
            self.max_in_flight
        )?;
        writeln!(f, "lists              {per_watch} to begin a watch, {extra} more")?;
        writeln!(f, "conflicts          {}", self.conflicts)?;
        writeln!(f, "events             {}", self.events)?;
        writeln!(f, "pending            {}", self.pending)
    }
}

fn row(f: &mut Formatter<'_>, name: &str, cells: [String; 3]) -> fmt::Result {
    let [first, second, third] = cells;
    writeln!(f, "{name:<17}  {first:>16}  {second:>14}  {third:>14}")
}
