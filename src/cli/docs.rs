//! `docs/cli.md`, which is what `--help` says.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::{Cli, print};

const HEAD: &str = "\
# Command line

What `kapstan --help` and `kapstan help COMMAND` say. This page is made by `kapstan docs > docs/cli.md`.
";
/// Columns of the texts.
const WIDTH: usize = 100;

/// Prints the page.
pub(super) fn run() -> anyhow::Result<()> {
    print(&page())
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut root = Cli::command().term_width(WIDTH);
    root.build();
    add(&mut page, &root);
    for command in
        root.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        add(&mut page, command);
    }
    page
}

fn add(page: &mut String, command: &Command) {
    let mut command = command.clone().term_width(WIDTH);
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    // Writing to a String cannot fail.
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_repository_is_what_the_program_says() {
        let committed = include_str!("../../docs/cli.md");
        similar_asserts::assert_eq!(committed, page(), "run `kapstan docs > docs/cli.md`");
    }

    #[test]
    fn the_flags_of_every_command_are_sound_and_explained() {
        let mut root = Cli::command();
        root.clone().debug_assert();
        root.build();
        for command in root.get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
        }
    }
}
