//! Meeting by files in a folder that all processes share: `--rendezvous file:///shared/folder`.
//!
//! Each process leaves a fresh random word, and the first one leaves its answer under that word's
//! name. So nothing that an earlier run has left is ever taken for an answer, and nobody needs a
//! clock that others share. Files appear whole (written aside, then renamed) and only their owner
//! can read them, since the answer holds the run's secret. The folder belongs to one run at a time.

use super::Meeting;
use super::compose::hex;
use crate::base::Clock;
use crate::base::Fault;
use crate::base::Kind;
use crate::bootstrap::tcp::Secret;
use std::collections::BTreeSet;
use std::fs;
use std::fs::DirBuilder;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

const HELLO: &str = "ncclbench-hello-";
const REPLY: &str = "ncclbench-reply-";
const ASIDE: &str = "ncclbench-new-";

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// No file of ours is longer.
const LONGEST: u64 = 64 << 10;

/// Digits of a word that says hello.
const WORD: usize = 64;

/// One process's use of the folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    process: u32,
    clock: Arc<dyn Clock>,
    answering: Mutex<Option<Answering>>,
}

/// The first process's thread that answers; it ends when its sender is dropped.
#[derive(Debug)]
struct Answering {
    go_on: mpsc::Sender<()>,
    thread: JoinHandle<()>,
    made_folder: bool,
}

impl Folder {
    /// For this process of the run that has the folder at `path`.
    pub(super) fn new(path: PathBuf, process: u32, clock: Arc<dyn Clock>) -> Self {
        Self {
            path,
            process,
            clock,
            answering: Mutex::new(None),
        }
    }

    fn hello(&self) -> PathBuf {
        self.path.join(format!("{HELLO}{}", self.process))
    }

    /// Waits for what `found` gives at one look.
    fn until<T>(
        &self,
        limit: Duration,
        mut found: impl FnMut() -> io::Result<Option<T>>,
    ) -> Result<T, Fault> {
        let start = self.clock.now();
        loop {
            if let Some(value) = found().map_err(|error| self.failed("using", &error))? {
                return Ok(value);
            }
            if self.clock.now().saturating_sub(start) >= limit {
                let text = format!(
                    "the first process left nothing in {} within {} s",
                    self.path.display(),
                    limit.as_secs_f64()
                );
                return Err(Fault::new(Kind::Timeout, text)
                    .hint("look whether `--rank 0` was started, and whether both see one folder"));
            }
            self.clock.pause(LOOK);
        }
    }

    fn failed(&self, doing: &str, error: &io::Error) -> Fault {
        let text = format!("{doing} {} failed: {error}", self.path.display());
        Fault::new(Kind::Launch, text)
            .hint("name a folder on a file system that all hosts share and may write to")
    }

    /// Stops answering and takes away what is left of this run and of earlier ones.
    fn clear(&self) {
        let mut answering = self
            .answering
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(Answering {
            go_on,
            thread,
            made_folder,
        }) = answering.take()
        else {
            return;
        };
        drop(go_on);
        drop(thread.join());
        for name in names(&self.path).unwrap_or_default() {
            // what cannot be taken away fools nobody
            drop(fs::remove_file(self.path.join(name)));
        }
        if made_folder {
            drop(fs::remove_dir(&self.path));
        }
    }
}

impl Meeting for Folder {
    fn publish(&self, text: &str, _limit: Duration) -> Result<(), Fault> {
        let made_folder = make(&self.path).map_err(|error| self.failed("making", &error))?;
        // a folder that cannot be written to is told at once, and not when the others give up
        let trial = self.path.join(format!("{REPLY}trial"));
        leave(&self.path, &trial, text)
            .and_then(|()| fs::remove_file(&trial))
            .map_err(|error| self.failed("writing to", &error))?;
        let (go_on, over) = mpsc::channel();
        let (path, text) = (self.path.clone(), text.to_owned());
        let thread = std::thread::Builder::new()
            .name("folder".to_owned())
            .spawn(move || answer_all(&path, &text, &over))
            .map_err(|error| self.failed("answering in", &error))?;
        let mut answering = self
            .answering
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *answering = Some(Answering {
            go_on,
            thread,
            made_folder,
        });
        Ok(())
    }

    fn lookup(&self, limit: Duration) -> Result<String, Fault> {
        let word = hex(Secret::fresh()?.expose());
        let (hello, reply) = (self.hello(), format!("{REPLY}{word}"));
        // the first process makes the folder, and may come later
        self.until(limit, || there(leave(&self.path, &hello, &word)))?;
        let answer = self.until(limit, || {
            // a shared file system may remember that a name was not there, but not a whole list
            if !names(&self.path)?.contains(&reply) {
                return Ok(None);
            }
            there(read(&self.path.join(&reply)))
        });
        drop(fs::remove_file(self.path.join(&reply)));
        drop(fs::remove_file(&hello));
        answer
    }

    fn abort(&self, _code: u8, _message: &str) {}

    fn met(&self) {
        self.clear();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Answers every word that has no answer yet, until the sender of `over` is gone.
fn answer_all(folder: &Path, text: &str, over: &mpsc::Receiver<()>) {
    let mut answered = BTreeSet::new();
    loop {
        for name in names(folder).unwrap_or_default() {
            if !name.starts_with(HELLO) {
                continue;
            }
            // one that is gone meanwhile, or cannot be read yet, is met at the next look
            let word = read(&folder.join(&name)).unwrap_or_default();
            if !is_word(&word) || answered.contains(&word) {
                continue;
            }
            if leave(folder, &folder.join(format!("{REPLY}{word}")), text).is_ok() {
                answered.insert(word);
            }
        }
        if over.recv_timeout(LOOK) == Err(mpsc::RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

fn is_word(text: &str) -> bool {
    text.len() == WORD && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The folder, if it was not there; whether it was made.
fn make(folder: &Path) -> io::Result<bool> {
    if folder.is_dir() {
        return Ok(false);
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    Ok(true)
}

/// Names of the files that are ours.
fn names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if [HELLO, REPLY, ASIDE]
            .iter()
            .any(|head| name.starts_with(head))
        {
            found.insert(name);
        }
    }
    Ok(found)
}

/// Writes a file that appears whole, over one of the same name if there is one.
fn leave(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    let word = Secret::fresh().map_err(|fault| io::Error::other(fault.message))?;
    let aside = folder.join(format!("{ASIDE}{}", hex(word.expose())));
    let mut options = OpenOptions::new();
    let written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&aside)
        .and_then(|mut open| {
            open.write_all(text.as_bytes())
                .and_then(|()| open.sync_all())
        })
        .and_then(|()| fs::rename(&aside, file));
    written.inspect_err(|_| drop(fs::remove_file(&aside)))
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?
        .take(LONGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// What is not there now may be there at the next look.
fn there<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering;

    const SOON: Duration = Duration::from_mins(1);

    /// Passes as it is waited on, with real pauses for the other threads.
    #[derive(Debug, Default)]
    struct Paused(AtomicU64);

    impl Clock for Paused {
        fn now(&self) -> Duration {
            Duration::from_millis(self.0.load(Ordering::Relaxed))
        }

        fn pause(&self, pause: Duration) {
            std::thread::park_timeout(pause);
            let passed = u64::try_from(pause.as_millis()).unwrap();
            self.0.fetch_add(passed, Ordering::Relaxed);
        }
    }

    fn folder(path: &Path, process: u32) -> Folder {
        Folder::new(path.to_owned(), process, Arc::new(Paused::default()))
    }

    #[test]
    fn five_processes_that_come_before_and_after_the_first_get_its_text_and_nothing_is_left() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("runs/one");
        std::thread::scope(|scope| {
            let others: Vec<_> = [4, 2, 1, 3]
                .map(|process| {
                    let path = &path;
                    scope.spawn(move || folder(path, process).lookup(SOON))
                })
                .into();
            let first = folder(&path, 0);
            first.publish("the card", SOON).unwrap();
            for other in others {
                assert_eq!(other.join().unwrap().unwrap(), "the card");
            }
            first.met();
        });
        assert!(!path.exists(), "{:?}", names(&path));
    }

    #[test]
    fn what_an_earlier_run_has_left_is_no_answer_and_is_taken_away() {
        let root = tempfile::tempdir().unwrap();
        let old = "a".repeat(WORD);
        fs::write(root.path().join(format!("{HELLO}1")), &old).unwrap();
        fs::write(root.path().join(format!("{REPLY}{old}")), "an old card").unwrap();
        fs::write(root.path().join(format!("{HELLO}2")), "../../escape").unwrap();
        fs::write(root.path().join("somebody's"), "").unwrap();
        let late = folder(root.path(), 1).lookup(Duration::from_millis(100));
        assert_eq!(late.unwrap_err().kind, Kind::Timeout);
        fs::write(root.path().join(format!("{HELLO}1")), &old).unwrap();
        let first = folder(root.path(), 0);
        first.publish("the card", SOON).unwrap();
        assert_eq!(folder(root.path(), 1).lookup(SOON).unwrap(), "the card");
        drop(first);
        let left: Vec<_> = fs::read_dir(root.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn files_can_be_read_by_their_owner_only() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("card");
        leave(root.path(), &file, "secret").unwrap();
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(read(&file).unwrap(), "secret");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let fault = folder(&file.join("below"), 0)
            .publish("x", SOON)
            .unwrap_err();
        assert_eq!(fault.kind, Kind::Launch);
        let fault = folder(&file, 1).lookup(SOON).unwrap_err();
        assert!(fault.message.starts_with("using "), "{fault}");
    }
}
