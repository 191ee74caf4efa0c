//! Text that came from outside, made fit for a condition or an error message.

/// How many bytes of a foreign text are shown at most.
pub const MAX_FOREIGN_TEXT: usize = 1024;

/// The text cut to at most `max` bytes, on a character boundary; a cut text ends in `…` when there is room.
#[must_use]
pub fn bounded(text: &str, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= max {
        return text.to_owned();
    }
    if max < MARK.len() {
        return text[..text.floor_char_boundary(max)].to_owned();
    }
    format!("{}{MARK}", &text[..text.floor_char_boundary(max - MARK.len())])
}

/// A text of an extension: at most [`MAX_FOREIGN_TEXT`] bytes, control characters (also line breaks) replaced
/// by spaces.
#[must_use]
pub fn foreign(text: &str) -> String {
    foreign_within(text, MAX_FOREIGN_TEXT)
}

/// As [`foreign`], with a bound of its own.
#[must_use]
pub fn foreign_within(text: &str, max: usize) -> String {
    // Cut first: the text may be megabytes long.
    let cut = &text[..text.floor_char_boundary(max.saturating_add(4))];
    let printable: String = cut.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    bounded(&printable, max)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::short_stays("tide", 4, "tide")]
    #[case::long_is_cut("ebb and flow", 8, "ebb a…")]
    #[case::never_inside_a_character("éééé", 6, "é…")]
    #[case::too_small_for_the_mark("tide", 2, "ti")]
    #[case::nothing("tide", 0, "")]
    fn a_bounded_text_never_exceeds_its_bound(
        #[case] text: &str,
        #[case] max: usize,
        #[case] expected: &str,
    ) {
        let cut = bounded(text, max);
        assert_eq!(cut, expected);
        assert!(cut.len() <= max);
    }

    #[test]
    fn a_foreign_text_has_no_control_characters_and_is_bounded() {
        assert_eq!(foreign("a\r\n\u{1b}[31mb\u{7f}"), "a   [31mb ");
        assert_eq!(foreign(&"é".repeat(4000)).len(), MAX_FOREIGN_TEXT - 1);
    }
}
