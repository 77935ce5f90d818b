//! The configurations that are built in, so that a program alone in a container has them too.

use crate::base::Fault;
use std::fmt::Write as _;

/// A configuration of `bench-configs/`.
struct Profile {
    name: &'static str,
    text: &'static str,
}

/// Every one of them, in the order in which lists show them.
const ALL: &[Profile] = &[
    Profile {
        name: "quick",
        text: include_str!("../../../bench-configs/quick.toml"),
    },
    Profile {
        name: "nightly",
        text: include_str!("../../../bench-configs/nightly.toml"),
    },
    Profile {
        name: "latency",
        text: include_str!("../../../bench-configs/latency.toml"),
    },
    Profile {
        name: "full",
        text: include_str!("../../../bench-configs/full.toml"),
    },
    Profile {
        name: "efa-gate",
        text: include_str!("../../../bench-configs/efa-gate.toml"),
    },
    Profile {
        name: "container-check",
        text: include_str!("../../../bench-configs/container-check.toml"),
    },
];

pub(super) fn names() -> Vec<&'static str> {
    ALL.iter().map(|profile| profile.name).collect()
}

/// Each profile with the first line of its file, which says why it exists.
pub(super) fn list() -> String {
    let mut text = "profiles:\n".to_owned();
    for Profile { name, text: toml } in ALL {
        let why = toml.lines().next().unwrap_or_default();
        let _ = writeln!(text, "  {name:<16}{}", why.trim_start_matches("# "));
    }
    text
}

/// What a configuration is called in complaints, and its text: a profile by its name, else a file.
///
/// # Errors
/// `Usage` for what is neither.
pub(super) fn find(word: &str) -> Result<(String, String), Fault> {
    if let Some(profile) = ALL.iter().find(|profile| profile.name == word) {
        return Ok((
            format!("bench-configs/{word}.toml"),
            profile.text.to_owned(),
        ));
    }
    let text = std::fs::read_to_string(word).map_err(|error| {
        Fault::usage(format!(
            "the configuration `{word}` cannot be read: {error}"
        ))
        .hint(format!(
            "name a file, or a profile that is built in: {}",
            names().join(", ")
        ))
    })?;
    Ok((word.to_owned(), text))
}

#[cfg(test)]
mod tests {
    use super::super::config;
    use super::*;

    #[test]
    fn every_profile_can_be_read_is_called_as_its_file_and_says_why_it_exists() {
        for Profile { name, text } in ALL {
            let config = config::read(name, text).unwrap();
            assert_eq!(config.name, *name);
            let why = text.lines().next().unwrap();
            assert!(why.starts_with("# ") && why.ends_with('.'), "{name}: {why}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/bench-configs");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        files.sort_unstable();
        let mut built_in = names();
        built_in.sort_unstable();
        assert_eq!(files, built_in);
    }

    #[test]
    fn what_is_neither_profile_nor_file_is_told_the_profiles() {
        let fault = find("nigthly").unwrap_err().to_string();
        assert!(
            fault.contains("nightly") && fault.contains("hint:"),
            "{fault}"
        );
    }
}
