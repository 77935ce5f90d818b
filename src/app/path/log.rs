//! NCCL's log in a run: where it is written, what of it is passed on, what it says so far.

use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::cli::PathWish;
use crate::ffi::environ;
use crate::path;
use crate::path::debug;
use crate::path::debug::Capture;
use crate::path::debug::Filter;
use crate::probe::nccl_log;
use crate::probe::nccl_log::NcclLog;
use crate::record::path::LogFacts;
use std::io::Write;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

/// How often lines are passed on while a communicator is opened, when a person may be waiting.
const LOOK: Duration = Duration::from_millis(100);

/// This process's log of NCCL.
#[derive(Debug)]
pub(in crate::app) struct Log(Mutex<State>);

#[derive(Debug)]
struct State {
    source: Source,
    facts: LogFacts,
    /// Lines are passed on by a thread of their own.
    followed: bool,
}

#[derive(Debug)]
enum Source {
    Ours {
        file: NcclLog,
        filter: Filter,
    },
    /// The pattern of the user's file.
    Theirs(String),
    /// Why there is none.
    None(String),
}

impl Log {
    /// The log, where the path is watched, and its lines passed on as they come. Before anything that
    /// starts a thread.
    ///
    /// # Errors
    /// As [`Log::start`].
    pub(in crate::app) fn follow_nccl(
        wish: &PathWish,
        env: &Env,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Arc<Self>>, Fault> {
        if !wish.watch {
            return Ok(None);
        }
        let log = Arc::new(Self::start(env)?);
        log.follow(clock);
        Ok(Some(log))
    }

    /// Has NCCL write its log where it can be read. Before the first thread of this process only.
    ///
    /// # Errors
    /// `Call` if there are threads already. That a log cannot be had is no fault: it is said with the verdict.
    fn start(env: &Env) -> Result<Self, Fault> {
        let source = match debug::capture(&nccl_log::configured(env)) {
            Capture::Ours { variables, shown } => match NcclLog::create() {
                Ok(file) => {
                    let mut all: Vec<(&str, &str)> = variables
                        .iter()
                        .map(|(name, value)| (*name, value.as_str()))
                        .collect();
                    all.push(("NCCL_DEBUG_FILE", file.path()));
                    environ::set_before_threads(&all)?;
                    let filter = Filter::new(shown);
                    Source::Ours { file, filter }
                }
                Err(fault) => Source::None(format!("NCCL's log is not kept: {}", fault.message)),
            },
            Capture::Theirs(pattern) => Source::Theirs(pattern),
            Capture::Not(why) => Source::None(format!("NCCL's log is not kept: {why}")),
        };
        Ok(Self(Mutex::new(State {
            source,
            facts: LogFacts::default(),
            followed: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on what NCCL has written since, in whole lines, to where NCCL would have written it.
    /// Costs one question to the system where that is nothing.
    pub(in crate::app) fn pass_on(&self) {
        self.lock().read();
    }

    /// Passes lines on as they come, until [`Log::stop_following`]: before the table begins nobody
    /// else does, and an initialisation that hangs is what people read them for.
    fn follow(self: &Arc<Self>, clock: &Arc<dyn Clock>) {
        let mut state = self.lock();
        let shows = matches!(&state.source, Source::Ours { filter, .. } if filter.shows_any());
        if !shows || state.followed {
            return;
        }
        state.followed = true;
        let (log, clock) = (Arc::clone(self), Arc::clone(clock));
        let follow = move || {
            loop {
                {
                    let mut state = log.lock();
                    if !state.followed {
                        return;
                    }
                    state.read();
                }
                clock.pause(LOOK);
            }
        };
        let thread = std::thread::Builder::new().name("nccl log".to_owned());
        // without the thread the lines come later, between the rows
        drop(thread.spawn(follow));
    }

    /// From now on lines are passed on when [`Log::pass_on`] is called.
    pub(in crate::app) fn stop_following(&self) {
        let mut state = self.lock();
        state.followed = false;
        state.read();
    }

    /// What the log says so far, and why there is none. `host` is what NCCL calls this one.
    pub(in crate::app) fn facts(&self, host: &str) -> (LogFacts, Option<String>) {
        let mut state = self.lock();
        state.read();
        match &state.source {
            Source::Ours { .. } => (state.facts.clone(), None),
            Source::None(why) => (LogFacts::default(), Some(why.clone())),
            Source::Theirs(pattern) => {
                let path = nccl_log::expanded(pattern, host, std::process::id());
                match nccl_log::text(&path) {
                    Ok(text) => (path::log::facts(&text), None),
                    Err(fault) => {
                        let why =
                            format!("NCCL's log goes to the user's own file: {}", fault.message);
                        (LogFacts::default(), Some(why))
                    }
                }
            }
        }
    }
}

impl State {
    fn read(&mut self) {
        let Source::Ours { file, filter } = &mut self.source else {
            return;
        };
        let lines = match file.new_lines() {
            Ok(lines) => lines,
            Err(error) => {
                self.source = Source::None(format!("NCCL's log cannot be read: {error}"));
                return;
            }
        };
        let mut out = std::io::stdout().lock();
        for line in lines {
            path::log::read(&line, &mut self.facts);
            if let Some(shown) = filter.pick(&line) {
                // a reader that has gone away has its table cut too, which says so
                drop(out.write_all(format!("{shown}\n").as_bytes()));
            }
        }
    }
}
