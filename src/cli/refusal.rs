//! clap's refusals in this program's words: one line of cause, then hints.

use crate::base::Fault;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

pub(super) fn fault(error: &clap::Error) -> Fault {
    let mut fault = Fault::usage(cause(error));
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
        if let Some(similar) = text(error, kind) {
            fault = fault.hint(format!("did you mean `{similar}`?"));
        }
    }
    fault.hint("run `ncclbench --help` for what is accepted")
}

fn cause(error: &clap::Error) -> String {
    let option = text(error, ContextKind::InvalidArg).unwrap_or_default();
    match (error.kind(), error.source()) {
        (ErrorKind::ValueValidation, Some(source)) => format!("`{option}`: {source}"),
        (ErrorKind::UnknownArgument, _) => format!("unknown option or extra word `{option}`"),
        (ErrorKind::InvalidValue, _) => format!("`{option}` needs a value"),
        (ErrorKind::ArgumentConflict, _) => match text(error, ContextKind::PriorArg) {
            Some(other) => format!("`{option}` and `{other}` exclude each other"),
            None => first_line(error),
        },
        (ErrorKind::MissingRequiredArgument, _) => {
            format!("`--rank`, `--world` and `--rendezvous` belong together; missing: `{option}`")
        }
        _ => first_line(error),
    }
}

/// The argument or arguments that clap names.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(many) if !many.is_empty() => Some(many.join("`, `")),
        _ => None,
    }
}

fn first_line(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let line = rendered.lines().next().unwrap_or("not understood");
    line.trim_start_matches("error: ").to_owned()
}
