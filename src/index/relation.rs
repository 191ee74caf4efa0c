//! A many-to-many relation that can be read from both sides.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

/// Which rights belong to a left, and which lefts to a right.
///
/// Every operation costs what it changes or answers; nothing depends on how much else is in the relation.
/// What is read comes in order, so that no hash order gets out.
#[derive(Clone, Debug)]
pub struct Relation<L, R> {
    rights: HashMap<L, BTreeSet<R>>,
    lefts: HashMap<R, BTreeSet<L>>,
}

/// What a [`Relation::set`] changed about who is in the relation at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed<R> {
    /// Rights that no left had before.
    pub appeared: Vec<R>,
    /// Rights that no left has any more.
    pub vanished: Vec<R>,
}

impl<L, R> Default for Relation<L, R> {
    fn default() -> Self {
        Self { rights: HashMap::new(), lefts: HashMap::new() }
    }
}

impl<L: Clone + Eq + Hash + Ord, R: Clone + Eq + Hash + Ord> Relation<L, R> {
    /// Replaces the rights of `left`.
    pub fn set(&mut self, left: &L, rights: BTreeSet<R>) -> Changed<R> {
        let old = self.rights.remove(left).unwrap_or_default();
        let appeared = rights.difference(&old).filter(|right| self.link(left, right)).cloned().collect();
        let vanished = old.difference(&rights).filter(|right| self.unlink(left, right)).cloned().collect();
        if !rights.is_empty() {
            self.rights.insert(left.clone(), rights);
        }
        Changed { appeared, vanished }
    }

    /// Takes `left` out.
    pub fn remove(&mut self, left: &L) -> Changed<R> {
        self.set(left, BTreeSet::new())
    }

    /// Adds one pair.
    pub fn add_pair(&mut self, left: &L, right: &R) {
        if self.rights.entry(left.clone()).or_default().insert(right.clone()) {
            self.link(left, right);
        }
    }

    /// Takes one pair out and says whether it was there and was the last of `left`.
    pub fn remove_pair(&mut self, left: &L, right: &R) -> bool {
        let Some(rights) = self.rights.get_mut(left) else { return false };
        if !rights.remove(right) {
            return false;
        }
        let is_last = rights.is_empty();
        if is_last {
            self.rights.remove(left);
        }
        self.unlink(left, right);
        is_last
    }

    /// The lefts of `right`, in order.
    pub fn lefts(&self, right: &R) -> impl Iterator<Item = &L> {
        self.lefts.get(right).into_iter().flatten()
    }

    /// The rights of `left`, in order.
    pub fn rights(&self, left: &L) -> impl Iterator<Item = &R> {
        self.rights.get(left).into_iter().flatten()
    }

    /// Whether any left has `right`.
    pub fn has_right(&self, right: &R) -> bool {
        self.lefts.contains_key(right)
    }

    /// Every right, in no particular order.
    pub fn all_rights(&self) -> impl Iterator<Item = &R> {
        self.lefts.keys()
    }

    /// How many rights there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lefts.len()
    }

    /// Whether nothing is in the relation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rights.is_empty()
    }

    fn link(&mut self, left: &L, right: &R) -> bool {
        if let Some(lefts) = self.lefts.get_mut(right) {
            lefts.insert(left.clone());
            return false;
        }
        self.lefts.insert(right.clone(), BTreeSet::from([left.clone()]));
        true
    }

    fn unlink(&mut self, left: &L, right: &R) -> bool {
        let Some(lefts) = self.lefts.get_mut(right) else { return false };
        lefts.remove(left);
        let is_last = lefts.is_empty();
        if is_last {
            self.lefts.remove(right);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_tell_the_same() {
        let mut relation = Relation::default();
        relation.set(&"one", BTreeSet::from([1, 2]));
        relation.set(&"two", BTreeSet::from([2, 3]));
        assert_eq!(relation.lefts(&2).collect::<Vec<_>>(), [&"one", &"two"]);
        assert_eq!(relation.rights(&"two").collect::<Vec<_>>(), [&2, &3]);
        let changed = relation.set(&"one", BTreeSet::from([2, 4]));
        assert_eq!(changed, Changed { appeared: vec![4], vanished: vec![1] });
    }

    #[test]
    fn nothing_is_left_of_what_is_removed() {
        let mut relation = Relation::default();
        relation.set(&"one", BTreeSet::from([1, 2]));
        relation.add_pair(&"two", &2);
        relation.add_pair(&"two", &2);
        assert!(!relation.remove_pair(&"one", &1));
        assert!(relation.remove_pair(&"one", &2));
        assert!(!relation.remove_pair(&"one", &2));
        assert_eq!(relation.remove(&"two"), Changed { appeared: vec![], vanished: vec![2] });
        assert!(relation.is_empty());
        assert_eq!(relation.len(), 0);
    }
}
