//! A CA bundle that somebody else keeps putting back: after some rounds it is left.

use std::time::Duration;

use k8s_openapi::ByteString;
use tokio::time::Instant;

use crate::digest::Digest;

/// How often a bundle is taken from its Secret against the same other value, before that value is left.
pub const ROUNDS: u32 = 3;
/// What is put back later than this after it was overwritten begins a count of its own: somebody who does so once a
/// day does not fight.
pub const WINDOW: Duration = Duration::from_mins(10);

/// How often one bundle was written over one other value.
#[derive(Clone, Debug)]
pub struct Duel {
    /// The bundle of the Secret, and the value that it was written over.
    between: (Digest, Digest),
    rounds: u32,
    last: Instant,
}

impl Duel {
    /// The bundle `ours` was written over `theirs`; `None` stands for no bundle.
    pub(super) fn note(
        held: &mut Option<Self>,
        ours: &ByteString,
        theirs: Option<&ByteString>,
        now: Instant,
    ) {
        let between = between(ours, theirs);
        match held.as_mut().filter(|duel| duel.between == between && now < duel.last + WINDOW) {
            Some(duel) => {
                duel.rounds += 1;
                duel.last = now;
            }
            None => *held = Some(Self { between, rounds: 1, last: now }),
        }
    }

    /// Whether `theirs` is left although the Secret has `ours`, because it was put back again and again.
    #[must_use]
    pub fn is_lost(&self, ours: &ByteString, theirs: Option<&ByteString>) -> bool {
        self.rounds >= ROUNDS && self.between == between(ours, theirs)
    }
}

fn between(ours: &ByteString, theirs: Option<&ByteString>) -> (Digest, Digest) {
    let theirs = theirs.map(|bundle| bundle.0.as_slice()).unwrap_or_default();
    (Digest::of_bytes(&ours.0), Digest::of_bytes(theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> ByteString {
        ByteString(text.into())
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_lost_after_three_rounds_against_the_same_value_in_a_row() {
        let (ours, theirs, now) = (bytes("ours"), bytes("theirs"), Instant::now());
        let mut duel = None;
        for round in 1..=ROUNDS {
            assert!(!duel.as_ref().is_some_and(|duel: &Duel| duel.is_lost(&ours, Some(&theirs))));
            Duel::note(&mut duel, &ours, Some(&theirs), now + WINDOW / 2 * round);
        }
        let duel = duel.unwrap();
        assert!(duel.is_lost(&ours, Some(&theirs)));
        assert!(!duel.is_lost(&ours, None), "another value is another matter");
        assert!(!duel.is_lost(&bytes("new"), Some(&theirs)), "and so is another Secret");
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_late_or_with_another_value_does_not_fight() {
        let (ours, theirs, start) = (bytes("ours"), bytes("theirs"), Instant::now());
        let mut duel = None;
        for round in 0..10 {
            Duel::note(&mut duel, &ours, Some(&theirs), start + WINDOW * round);
        }
        assert!(!duel.as_ref().unwrap().is_lost(&ours, Some(&theirs)));
        for round in 0..10 {
            let theirs = [Some(&theirs), None][round % 2];
            Duel::note(&mut duel, &ours, theirs, start);
            assert!(!duel.as_ref().unwrap().is_lost(&ours, theirs));
        }
    }
}
