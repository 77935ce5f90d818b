//! An owned copy of environment variables.
//!
//! Filled once by `cli/environment.rs` from the process, or by literals in tests; nothing below
//! `cli` reads the process's environment itself.

use std::collections::BTreeMap;

/// Variables by name. Values that are not Unicode are kept lossily and are never a number or a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// The value of `name`, if it is set. An empty value counts as set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether `name` is set, to anything.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Name and value of every variable, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Env {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(variables: T) -> Self {
        Self(
            variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}
