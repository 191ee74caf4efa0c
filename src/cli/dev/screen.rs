//! Progress on standard error, and logs among it.
//!
//! On a terminal a block of lines, one for each object, is drawn anew each time; what is to stay goes above it. Otherwise
//! there is one line for each object when it becomes ready.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use terminal_size::{Height, Width, terminal_size_of};
use tracing_subscriber::fmt::MakeWriter;

use crate::readiness::Snapshot;

/// The size of a terminal that does not say.
const SIZE: (usize, usize) = (80, 24);

/// Standard error. Cheap to clone; clones share it.
#[derive(Clone)]
pub(super) struct Screen(Arc<Mutex<State>>);

struct State {
    /// Unset where there is no terminal.
    painter: Option<Painter>,
    /// What has been said to be ready.
    ready: BTreeSet<String>,
}

impl Screen {
    /// With a block if it is a terminal.
    pub(super) fn new(is_terminal: bool) -> Self {
        let painter = is_terminal.then(Painter::default);
        Self(Arc::new(Mutex::new(State { painter, ready: BTreeSet::new() })))
    }

    /// A line that stays.
    pub(super) fn say(&self, line: &str) {
        self.0.lock().put_above(&format!("{line}\n"));
    }

    /// How the objects are now.
    pub(super) fn progress(&self, snapshot: &Snapshot, elapsed: Duration) {
        let State { painter, ready } = &mut *self.0.lock();
        put(&match painter {
            Some(painter) => painter.paint(&block(snapshot, elapsed), size()),
            None => news(snapshot, elapsed, ready),
        });
    }

    /// Takes the block away.
    pub(super) fn finish(&self) {
        if let Some(painter) = &mut self.0.lock().painter {
            put(&painter.paint(&[], size()));
        }
    }
}

impl State {
    fn put_above(&mut self, text: &str) {
        match &mut self.painter {
            Some(painter) => put(&painter.above(text)),
            None => put(text),
        }
    }
}

/// Where logs go.
impl MakeWriter<'_> for Screen {
    type Writer = LogWriter;

    fn make_writer(&self) -> LogWriter {
        LogWriter(self.clone())
    }
}

/// Writes one event, which comes in one piece.
pub(super) struct LogWriter(Screen);

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.lock().put_above(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// That nobody reads it is no reason to end.
fn put(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn size() -> (usize, usize) {
    let size = terminal_size_of(io::stderr());
    size.map_or(SIZE, |(Width(width), Height(height))| (width.into(), height.into()))
}

/// Every object, and what it waits for first if it is not ready.
fn objects(snapshot: &Snapshot) -> Vec<(String, Option<&str>)> {
    let configs = snapshot.configs.iter().map(|config| (config.title(), &config.problems));
    let classes = snapshot.classes.iter().map(|class| (class.title(), &class.problems));
    let objects = configs.chain(classes);
    objects.map(|(title, problems)| (title, problems.first().map(String::as_str))).collect()
}

/// A line for each object that is ready for the first time.
fn news(snapshot: &Snapshot, elapsed: Duration, ready: &mut BTreeSet<String>) -> String {
    let mut lines = String::new();
    for (title, _) in objects(snapshot).into_iter().filter(|(_, waits_for)| waits_for.is_none()) {
        if ready.insert(title.clone()) {
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{title} is ready after {:.1} s", elapsed.as_secs_f64());
        }
    }
    lines
}

/// A head, and a line for each object; first those that are not ready.
fn block(snapshot: &Snapshot, elapsed: Duration) -> Vec<String> {
    let objects = objects(snapshot);
    let waiting = objects.iter().filter_map(|(title, why)| why.map(|why| format!("  {title}: {why}")));
    let waiting: Vec<_> = waiting.collect();
    let ready =
        objects.iter().filter(|(_, why)| why.is_none()).map(|(title, _)| format!("  {title} is ready"));
    let (of, all) = (objects.len() - waiting.len(), objects.len());
    let head = format!("{of} of {all} ready after {:.1} s", elapsed.as_secs_f64());
    std::iter::once(head).chain(waiting.iter().cloned()).chain(ready).collect()
}

/// Draws a block of lines over the one before.
#[derive(Default)]
struct Painter {
    /// The lines that are there now.
    drawn: Vec<String>,
}

impl Painter {
    /// What to write to have this block in place of the one before. It takes no more room than the terminal has.
    fn paint(&mut self, block: &[String], (width, height): (usize, usize)) -> String {
        let room = height.saturating_sub(1).max(1);
        let mut lines: Vec<String> = block.iter().map(|line| cut(line, width)).collect();
        if lines.len() > room {
            let hidden = lines.len() - (room - 1);
            lines.truncate(room - 1);
            lines.push(cut(&format!("  and {hidden} more"), width));
        }
        let clear = self.clear();
        self.drawn = lines;
        clear + &self.text()
    }

    /// What to write to have this above the block.
    fn above(&self, text: &str) -> String {
        format!("{}{text}{}", self.clear(), self.text())
    }

    /// To the first line of the block, and nothing from there on.
    fn clear(&self) -> String {
        match self.drawn.len() {
            0 => String::new(),
            lines => format!("\x1b[{lines}F\x1b[J"),
        }
    }

    fn text(&self) -> String {
        self.drawn.iter().flat_map(|line| [line, "\n"]).collect()
    }
}

/// The beginning of a line that fits. What comes from outside moves no cursor.
fn cut(line: &str, width: usize) -> String {
    let plain = line.chars().map(|character| if character.is_control() { ' ' } else { character });
    if line.chars().count() <= width {
        return plain.collect();
    }
    plain.take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readiness::{Class, Config};

    fn config(name: &str, problems: &[&str]) -> Config {
        let problems = problems.iter().map(|&problem| problem.to_owned()).collect();
        Config { name: name.to_owned(), discovered: None, handlers: Vec::new(), problems }
    }

    fn snapshot(configs: Vec<Config>) -> Snapshot {
        let class = Class {
            namespace: "ns".to_owned(),
            name: "c".to_owned(),
            variables_ready: None,
            ref_versions_up_to_date: None,
            variables: Vec::new(),
            templates: 0,
            owned: 0,
            problems: Vec::new(),
        };
        Snapshot { configs, classes: vec![class] }
    }

    #[test]
    fn an_object_is_said_to_be_ready_once() {
        let mut ready = BTreeSet::new();
        let after = Duration::from_millis(1234);
        let first = news(&snapshot(vec![config("a", &["no"]), config("b", &[])]), after, &mut ready);
        assert_eq!(first, "ExtensionConfig b is ready after 1.2 s\nClusterClass ns/c is ready after 1.2 s\n");
        let next = news(&snapshot(vec![config("a", &[]), config("b", &["again"])]), after, &mut ready);
        assert_eq!(next, "ExtensionConfig a is ready after 1.2 s\n");
        assert_eq!(news(&snapshot(vec![config("a", &[]), config("b", &[])]), after, &mut ready), "");
    }

    #[test]
    fn a_block_has_a_line_for_each_object_and_those_that_wait_come_first() {
        let snapshot = snapshot(vec![config("a", &[]), config("b", &["no", "nor this"])]);
        let lines = block(&snapshot, Duration::from_secs(2));
        assert_eq!(
            lines,
            [
                "2 of 3 ready after 2.0 s",
                "  ExtensionConfig b: no",
                "  ExtensionConfig a is ready",
                "  ClusterClass ns/c is ready"
            ]
        );
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn a_block_is_drawn_over_the_one_before_and_what_stays_above_it() {
        let mut painter = Painter::default();
        assert_eq!(painter.above("said\n"), "said\n");
        assert_eq!(painter.paint(&lines(&["a", "b"]), (80, 24)), "a\nb\n");
        assert_eq!(painter.paint(&lines(&["c"]), (80, 24)), "\x1b[2F\x1b[Jc\n");
        assert_eq!(painter.above("logged\n"), "\x1b[1F\x1b[Jlogged\nc\n");
        assert_eq!(painter.paint(&[], (80, 24)), "\x1b[1F\x1b[J");
        assert_eq!(painter.above("said\n"), "said\n");
    }

    #[test]
    fn a_block_is_no_larger_than_the_terminal_and_moves_no_cursor() {
        let mut painter = Painter::default();
        let text = painter.paint(&lines(&["123456", "1234567", "a\x1b[31mb", "x", "y"]), (6, 5));
        assert_eq!(text, "123456\n12345…\na [31…\n  and…\n");
    }
}
