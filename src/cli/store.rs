//! Where runs and baselines are kept: an option that several commands share, and its variable.

use crate::base::Env;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Where results are kept if nothing else is said.
const USUAL: &str = "results";

/// The variable that says so too.
const VARIABLE: &str = "NCCLBENCH_STORE";

/// The option.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct StoreOption {
    /// Folder with runs and baselines [default: `NCCLBENCH_STORE`, else `results`]
    #[arg(long, value_name = "DIR", value_parser = NonEmptyStringValueParser::new(), help_heading = "Store")]
    pub(super) store: Option<String>,
}

/// The store's folder: what was said, else the variable, else `results` where the program was started.
pub fn store_folder(said: Option<&str>, env: &Env) -> String {
    let variable = env.get(VARIABLE).filter(|value| !value.is_empty());
    said.or(variable).unwrap_or(USUAL).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_wins_then_the_variable_then_the_usual_place() {
        let env = |value: &str| -> Env { [(VARIABLE, value)].into_iter().collect() };
        assert_eq!(store_folder(Some("a"), &env("b")), "a");
        assert_eq!(store_folder(None, &env("b")), "b");
        assert_eq!(store_folder(None, &env("")), "results");
        assert_eq!(store_folder(None, &Env::default()), "results");
    }
}
