//! Runs that are to be the launches of one side.

use crate::base::Fault;
use crate::base::Kind;
use crate::baseline::fingerprint;
use crate::record::Fingerprint;
use crate::record::Header;
use crate::record::baseline::Launch;
use crate::store::Brief;
use crate::store::Store;

/// Launches that belong together.
#[derive(Debug)]
pub(super) struct Side {
    /// The first one's header; the others' fingerprints are the same.
    pub(super) header: Header,
    pub(super) fingerprint: Fingerprint,
    /// Oldest first.
    pub(super) launches: Vec<Launch>,
}

impl Side {
    /// Reads the runs that a person names.
    ///
    /// # Errors
    /// `Missing`, if one is not there; `Usage`, if one cannot be read or two are one and the same;
    /// `Unlike`, if they have not been measured under the same conditions and it is not forced.
    pub(super) fn read(store: &Store, words: &[String], force: bool) -> Result<Self, Fault> {
        let briefs: Result<Vec<Brief>, Fault> =
            words.iter().map(|word| store.read_run(word)).collect();
        Self::of(briefs?, force)
    }

    /// Of runs that were read.
    ///
    /// # Errors
    /// Those of [`Side::read`].
    pub(super) fn of(briefs: Vec<Brief>, force: bool) -> Result<Self, Fault> {
        let first = briefs
            .first()
            .ok_or_else(|| Fault::usage("no run was given"))?;
        let (header, fields) = (first.header.clone(), fingerprint::of(&first.header));
        if !force {
            briefs
                .iter()
                .try_for_each(|brief| alike(&fields, &first.launch, brief))?;
        }
        let mut launches: Vec<Launch> = briefs.into_iter().map(|brief| brief.launch).collect();
        launches.sort_by(|a, b| a.started.cmp(&b.started));
        Ok(Self {
            header,
            fingerprint: fields,
            launches,
        })
    }
}

fn alike(fields: &Fingerprint, first: &Launch, brief: &Brief) -> Result<(), Fault> {
    let differences = fingerprint::differences(fields, &fingerprint::of(&brief.header));
    if differences.is_empty() {
        return Ok(());
    }
    let text = format!(
        "`{}` and `{}` are not launches of one night",
        first.run, brief.launch.run
    );
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let lines = differences.iter().map(|field| {
        format!(
            "{}: `{}` and `{}`",
            field.field,
            said(&field.baseline),
            said(&field.now)
        )
    });
    Err(lines.fold(Fault::new(Kind::Unlike, text), Fault::detail))
}
