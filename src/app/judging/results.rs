//! `ncclbench results`: what is stored.

use crate::app::say;
use crate::app::tell;
use crate::base::Env;
use crate::base::Fault;
use crate::base::stats::order::median;
use crate::baseline::fingerprint;
use crate::cli;
use crate::cli::ResultsArgs;
use crate::cli::Shown;
use crate::record::Fingerprint;
use crate::record::baseline::LaunchRow;
use crate::report::grid::grid;
use crate::store::Brief;
use crate::store::Store;
use crate::store::StoredRun;
use serde::Serialize;

/// Shows; gives the exit code.
pub(in crate::app) fn run(args: &ResultsArgs, env: &Env) -> u8 {
    let store = Store::at(cli::store_folder(args.store.as_deref(), env));
    let shown = match &args.what {
        Shown::List { fingerprint, json } => list(&store, fingerprint.as_deref(), *json),
        Shown::Run(word) => show(&store, word),
    };
    shown.unwrap_or_else(|fault| crate::app::refuse(&fault))
}

/// A run in a list.
#[derive(Debug, Serialize)]
struct Listed {
    run: String,
    path: String,
    started: String,
    backend: String,
    collective: String,
    ranks: usize,
    rows: usize,
    wrong: u32,
    fingerprint: String,
    /// Why it is not whole; none where it is.
    cut_short: Option<String>,
}

impl Listed {
    fn of(run: &StoredRun, brief: &Brief) -> Self {
        let header = &brief.header;
        Self {
            run: run.name.clone(),
            path: run.path.display().to_string(),
            started: header.started.clone(),
            backend: header.backend.clone(),
            collective: header.collective.clone(),
            ranks: header.seats.len(),
            rows: brief.launch.rows.len(),
            wrong: brief.launch.wrong,
            fingerprint: fingerprint::digest(&fingerprint::of(header)),
            cut_short: brief.launch.cut_short.clone(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let state = match (&self.cut_short, self.wrong) {
            (_, wrong) if wrong > 0 => format!("{wrong} wrong"),
            (Some(why), _) => why.lines().next().unwrap_or_default().to_owned(),
            (None, _) => "whole".to_owned(),
        };
        vec![
            self.run.clone(),
            self.started
                .get(..19)
                .unwrap_or(&self.started)
                .replace('T', " "),
            self.backend.clone(),
            self.collective.clone(),
            self.ranks.to_string(),
            self.rows.to_string(),
            self.fingerprint.clone(),
            state,
        ]
    }
}

fn list(store: &Store, wanted: Option<&str>, json: bool) -> Result<u8, Fault> {
    let (mut listed, mut code) = (Vec::new(), 0);
    for (run, brief) in store.read_all()? {
        match brief {
            Ok(brief) => listed.push(Listed::of(&run, &brief)),
            Err(fault) => {
                say(&format!("error: {fault}"));
                code = 3;
            }
        }
    }
    listed.retain(|run| wanted.is_none_or(|digits| run.fingerprint.starts_with(digits)));
    listed.sort_by(|a, b| a.started.cmp(&b.started));
    if listed.is_empty() && code == 0 {
        say(&format!(
            "note: there is no such run in `{}`",
            store.root().display()
        ));
    }
    let text = if json {
        listed
            .iter()
            .map(super::json)
            .collect::<Result<String, Fault>>()?
    } else {
        table(&listed)
    };
    Ok(super::most_severe(&[tell(&text), code]))
}

fn table(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return String::new();
    }
    let heading = [
        "<run",
        "<started (UTC)",
        "<backend",
        "<collective",
        "ranks",
        "rows",
        "<fingerprint",
        "<state",
    ];
    let heading = heading.map(str::to_owned).to_vec();
    grid(
        &std::iter::once(heading)
            .chain(listed.iter().map(Listed::cells))
            .collect::<Vec<_>>(),
    )
}

fn show(store: &Store, word: &str) -> Result<u8, Fault> {
    let path = store.find(word)?;
    let brief = store.read_run(&path.to_string_lossy())?;
    let (header, launch) = (&brief.header, &brief.launch);
    let fields = fingerprint::of(header);
    let state = match &launch.cut_short {
        Some(why) => format!("not whole: {why}"),
        None => "whole".to_owned(),
    };
    let mut text = format!(
        "{}\n  started {}, {}, {} rows, {} wrong, {state}\n\nfingerprint {}:\n{}\n",
        path.display(),
        header.started,
        header.collective,
        launch.rows.len(),
        launch.wrong,
        fingerprint::digest(&fields),
        self::fields(&fields)
    );
    let heading = ["<row", "repetitions", "time us", "busbw GB/s", "<waived"]
        .map(str::to_owned)
        .to_vec();
    let rows = launch.rows.iter().map(row);
    text.push_str(&grid(
        &std::iter::once(heading).chain(rows).collect::<Vec<_>>(),
    ));
    Ok(tell(&text))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 bytes is past any message size"
)]
fn row(row: &LaunchRow) -> Vec<String> {
    let measure = row.measure.as_ref();
    let times = measure.map_or(&[][..], |measure| {
        if measure.max_us.is_empty() {
            &measure.mean_us
        } else {
            &measure.max_us
        }
    });
    let time = median(times);
    let busbw = time.map(|time| row.algo_bytes.0 as f64 / time / 1e3 * row.bus_factor);
    let number =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    vec![
        row.key.to_string(),
        times.len().to_string(),
        number(time),
        number(busbw),
        row.waived.clone().unwrap_or_default(),
    ]
}

/// The fields of a fingerprint, one a line.
pub(super) fn fields(fingerprint: &Fingerprint) -> String {
    let fields = fingerprint.fields.iter();
    let line =
        |name: &str, value: Option<&str>| format!("  {name}: {}\n", value.unwrap_or("unknown"));
    fields
        .map(|field| line(&field.name, field.value.as_deref()))
        .collect()
}
