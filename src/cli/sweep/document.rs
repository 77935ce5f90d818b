//! A configuration in TOML whose every complaint names file, line and key.
//!
//! It knows no key; whoever reads a table takes what it knows and then asks that nothing be left.

use crate::base::Fault;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The text of a configuration and what it is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Document<'t> {
    /// The file, as it was named.
    pub(super) name: &'t str,
    /// What it holds.
    pub(super) text: &'t str,
}

/// A table of which keys are taken one by one.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    document: Document<'a>,
    /// `part[2]`; empty at the top.
    path: String,
    table: &'a DeTable<'a>,
    known: RefCell<Vec<&'static str>>,
}

/// One value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    document: Document<'a>,
    /// `part[2].sizes.from`.
    key: String,
    value: &'a DeValue<'a>,
    span: Range<usize>,
}

impl<'t> Document<'t> {
    /// Reads the text; the tables borrow from it.
    pub(super) fn parse(self) -> Result<DeTable<'t>, Fault> {
        match DeTable::parse(self.text) {
            Ok(table) => Ok(table.into_inner()),
            Err(error) => {
                let message = error.message().lines().next().unwrap_or("not TOML");
                Err(self.fault(error.span(), None, message))
            }
        }
    }

    /// The table at the top.
    pub(super) fn keys(self, table: &'t DeTable<'t>) -> Keys<'t> {
        Keys {
            document: self,
            path: String::new(),
            table,
            known: RefCell::default(),
        }
    }

    fn fault(self, at: Option<Range<usize>>, key: Option<&str>, message: &str) -> Fault {
        let mut place = self.name.to_owned();
        if let Some(at) = at {
            let before = self.text.get(..at.start).unwrap_or(self.text);
            let line = before.matches('\n').count() + 1;
            let _ = write!(place, ", line {line}");
        }
        if let Some(key) = key {
            let _ = write!(place, ", key `{key}`");
        }
        Fault::usage(message).while_doing(place)
    }
}

impl<'a> Keys<'a> {
    /// A value, if the table has it; from now on the key is a known one.
    pub(super) fn get(&self, key: &'static str) -> Option<Entry<'a>> {
        self.known.borrow_mut().push(key);
        let (_, value) = self.table.iter().find(|(name, _)| name.get_ref() == key)?;
        Some(Entry {
            document: self.document,
            key: joined(&self.path, key),
            span: value.span(),
            value: value.get_ref(),
        })
    }

    /// A value that must be there.
    pub(super) fn need(&self, key: &'static str, what: &str) -> Result<Entry<'a>, Fault> {
        self.get(key).ok_or_else(|| {
            let key = joined(&self.path, key);
            let spans = self.table.keys().map(toml::Spanned::span);
            let at = spans.min_by_key(|span| span.start);
            let text = format!("it is missing: {what}");
            self.document.fault(at, Some(&key), &text)
        })
    }

    /// Refuses the first key that nobody asked for.
    pub(super) fn nothing_else(&self) -> Result<(), Fault> {
        let known = self.known.borrow();
        let is_known = |name: &str| known.contains(&name);
        let Some(other) = self.table.keys().find(|name| !is_known(name.get_ref())) else {
            return Ok(());
        };
        let key = joined(&self.path, other.get_ref());
        let mut names = known.clone();
        names.sort_unstable();
        names.dedup();
        let text = format!("there is no such key; accepted here: {}", names.join(", "));
        let fault = self.document.fault(Some(other.span()), Some(&key), &text);
        Err(match nearest(other.get_ref(), &names) {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => fault,
        })
    }
}

impl<'a> Entry<'a> {
    /// A complaint about this value.
    pub(super) fn refuse(&self, message: &str) -> Fault {
        self.document
            .fault(Some(self.span.clone()), Some(&self.key), message)
    }

    /// What `read` makes of the value, its fault with the place in front.
    pub(super) fn read<T>(&self, read: impl FnOnce(&str) -> Result<T, Fault>) -> Result<T, Fault> {
        read(self.text()?).map_err(|fault| self.blame(fault))
    }

    /// Somebody else's fault, which this value is the cause of.
    pub(super) fn blame(&self, fault: Fault) -> Fault {
        let placed = self.refuse("");
        Fault {
            context: placed.context.into_iter().chain(fault.context).collect(),
            ..fault
        }
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        self.value
            .as_str()
            .ok_or_else(|| self.wanted("a text in quotes"))
    }

    /// A text, or a whole number written without quotes.
    pub(super) fn text_or_number(&self) -> Result<String, Fault> {
        match self.value {
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            _ => self
                .value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| self.wanted("a number, or a text in quotes")),
        }
    }

    /// A whole number within a range.
    pub(super) fn whole(&self, range: std::ops::RangeInclusive<u32>) -> Result<u32, Fault> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        self.value
            .as_integer()
            .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok())
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.wanted(&wanted))
    }

    /// A number above 0.
    pub(super) fn positive(&self) -> Result<f64, Fault> {
        let text = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
            DeValue::Float(number) => Some(number.as_str()),
            _ => None,
        };
        text.and_then(|text| text.parse::<f64>().ok())
            .filter(|number| number.is_finite() && *number > 0.0)
            .ok_or_else(|| self.wanted("a number above 0"))
    }

    /// `true` or `false`.
    pub(super) fn flag(&self) -> Result<bool, Fault> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wanted("true or false"))
    }

    /// A table.
    pub(super) fn table(&self) -> Result<Keys<'a>, Fault> {
        let table = self.value.as_table();
        let table = table.ok_or_else(|| self.wanted("a table"))?;
        Ok(Keys {
            document: self.document,
            path: self.key.clone(),
            table,
            known: RefCell::default(),
        })
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// The values of a list, or the one value that stands without one; an empty list is refused.
    pub(super) fn each(&self) -> Result<Vec<Self>, Fault> {
        let Some(list) = self.value.as_array() else {
            return Ok(vec![self.clone()]);
        };
        if list.is_empty() {
            return Err(self.wanted("at least one value"));
        }
        let entry = |(index, value): (usize, &'a toml::Spanned<DeValue<'a>>)| Self {
            document: self.document,
            key: format!("{}[{index}]", self.key),
            span: value.span(),
            value: value.get_ref(),
        };
        Ok(list.iter().enumerate().map(entry).collect())
    }

    fn wanted(&self, what: &str) -> Fault {
        let kind = self.value.type_str();
        let shown = match self.value {
            DeValue::Integer(number) => format!("{kind} {}", number.as_str()),
            DeValue::Float(number) => format!("{kind} {}", number.as_str()),
            DeValue::String(text) => format!("{kind} `{text}`"),
            _ => kind.to_owned(),
        };
        self.refuse(&format!("expected {what}, found {shown}"))
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The name that is the fewest changes away, if those are few for its length.
fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let distances = names.iter().map(|name| (distance(word, name), *name));
    let (changes, name) = distances.min()?;
    (changes <= 1 + word.len().max(name.len()) / 4).then_some(name)
}

/// Levenshtein's distance: letters put in, left out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (left, theirs) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *theirs);
            diagonal = row[left + 1];
            row[left + 1] = changed.min(row[left] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = 'x'\n\n[part]\nsize = [8, '1M']\nitres = 3\n";

    fn with<T>(text: &str, act: impl FnOnce(&Keys<'_>) -> T) -> T {
        let document = Document {
            name: "a.toml",
            text,
        };
        let table = document.parse().unwrap();
        act(&document.keys(&table))
    }

    #[test]
    fn a_complaint_names_file_line_and_key() {
        with(TEXT, |keys| {
            let part = keys.get("part").unwrap().table().unwrap();
            let sizes = part.get("size").unwrap().each().unwrap();
            let fault = sizes[1].whole(1..=9).unwrap_err();
            assert_eq!(
                fault.to_string(),
                "a.toml, line 4, key `part.size[1]`: expected a whole number from 1 to 9, found string `1M`"
            );
        });
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_name() {
        with(TEXT, |keys| {
            let part = keys.get("part").unwrap().table().unwrap();
            assert!(part.get("size").is_some() && part.get("iters").is_none());
            let fault = part.nothing_else().unwrap_err();
            assert_eq!(
                fault.to_string(),
                "a.toml, line 5, key `part.itres`: there is no such key; accepted here: iters, size\n\nhint: did you mean `iters`?"
            );
        });
        assert_eq!(nearest("colour", &["iters", "size"]), None);
    }

    #[test]
    fn what_is_not_toml_says_where() {
        for (text, line) in [
            ("a = \n", 1),
            ("a = 1\nb 2\n", 2),
            ("[x\n", 1),
            ("a=1\na=2\n", 2),
        ] {
            let document = Document {
                name: "b.toml",
                text,
            };
            let fault = document.parse().unwrap_err().to_string();
            assert!(
                fault.starts_with(&format!("b.toml, line {line}")),
                "{fault}"
            );
        }
    }

    #[test]
    fn a_missing_key_is_named() {
        with("a = 1\n", |keys| {
            let fault = keys.need("name", "what the sweep is called").unwrap_err();
            assert_eq!(
                fault.to_string(),
                "a.toml, line 1, key `name`: it is missing: what the sweep is called"
            );
        });
    }
}
