//! Which of two states of an object is the newer one.

/// Who an object is and which of its states this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revision<'a> {
    pub(super) uid: &'a str,
    pub(super) resource_version: &'a str,
}

impl Revision<'_> {
    /// Whether `self` is an older state of the same object than `held`, so that it must not replace it.
    ///
    /// The answer to a write can arrive before the watch shows that write. Resource versions of one object are
    /// decimal numbers that grow (Kubernetes 1.35, KEP 5504); what is no number is taken as it comes.
    pub(super) fn is_older_than(self, held: Revision<'_>) -> bool {
        let (Ok(new), Ok(old)) = (self.resource_version.parse::<u64>(), held.resource_version.parse::<u64>())
        else {
            return false;
        };
        self.uid == held.uid && new < old
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision<'a>(uid: &'a str, resource_version: &'a str) -> Revision<'a> {
        Revision { uid, resource_version }
    }

    #[test]
    fn only_a_smaller_number_of_the_same_object_is_older() {
        assert!(revision("a", "9").is_older_than(revision("a", "10")));
        assert!(!revision("a", "10").is_older_than(revision("a", "10")));
        assert!(!revision("a", "11").is_older_than(revision("a", "10")));
        assert!(!revision("b", "9").is_older_than(revision("a", "10")));
        assert!(!revision("a", "x9").is_older_than(revision("a", "10")));
    }
}
