//! Logs: line by line, each writer's for itself.

use super::build;
use super::cut;
use super::cut::Parted;
use super::heading::Draft;
use super::lines;
use super::lines::LogLine;
use super::row;
use super::row::Reading;
use super::{About, Complaint, Found};

/// What one writer has written so far.
#[derive(Debug, Default)]
struct Writer {
    tag: String,
    draft: Draft,
    /// The first columns of a row that something cut, and where they stood.
    piece: Option<(usize, String)>,
}

/// Reads a log.
pub(super) fn read(text: &str, about: &About) -> Found {
    let mut reader = Reader {
        about,
        writers: Vec::new(),
        found: Found::default(),
    };
    for line in lines::of(text) {
        reader.line(line);
    }
    reader.end()
}

struct Reader<'a> {
    about: &'a About,
    writers: Vec<Writer>,
    found: Found,
}

impl Reader<'_> {
    fn line(&mut self, line: LogLine<'_>) {
        let at = self.writer(line.writer);
        match cut::part(line.text) {
            Parted::Before("") => {}
            Parted::Before(piece) => self.text(at, line.number, piece),
            Parted::Whole(text) => self.text(at, line.number, text),
        }
    }

    /// The index of a writer, which is a new one at its first line.
    fn writer(&mut self, tag: &str) -> usize {
        let known = self.writers.iter().position(|writer| writer.tag == tag);
        known.unwrap_or_else(|| {
            self.writers.push(Writer {
                tag: tag.to_owned(),
                ..Writer::default()
            });
            self.writers.len() - 1
        })
    }

    fn text(&mut self, at: usize, number: usize, text: &str) {
        if let Some(comment) = text.trim_start().strip_prefix('#') {
            self.give_up_piece(at);
            self.comment(at, number, comment.trim());
            return;
        }
        match self.writers[at].piece.take() {
            Some((first, piece)) if continues(text) => {
                self.row(at, first, &format!("{piece}{text}"));
            }

            kept => {
                self.writers[at].piece = kept;
                self.row(at, number, text);
            }
        }
    }

    fn comment(&mut self, at: usize, number: usize, comment: &str) {
        if self.writers[at].draft.is_over(comment) {
            self.close(at);
        }
        let draft = &mut self.writers[at].draft;
        if draft.first_line == 0 {
            draft.first_line = number;
        }
        if let Err(why) = draft.comment(comment) {
            self.complain(number, why);
        }
    }

    fn row(&mut self, at: usize, number: usize, text: &str) {
        match row::read(text) {
            Reading::Row(row) => {
                self.give_up_piece(at);
                let line = number;
                self.writers[at]
                    .draft
                    .rows
                    .push(row::DataRow { line, ..*row });
            }
            Reading::Piece => {
                self.give_up_piece(at);
                self.writers[at].piece = Some((number, text.to_owned()));
            }
            Reading::Bad(why) => self.complain(number, why),
            Reading::Other => self.other(at, number, text),
        }
    }

    /// A line that is neither a comment nor a row: failures are told, and within a table anything.
    fn other(&mut self, at: usize, number: usize, text: &str) {
        let draft = &mut self.writers[at].draft;
        let failed = text.contains("Test NCCL failure")
            || text.contains("Test CUDA failure")
            || text.contains("Test timeout");
        if failed {
            draft.failures.push(text.trim().to_owned());
            self.complain(number, format!("the run failed: {}", text.trim()));
        } else if text.contains(", defaulting to ") {
            self.complain(number, format!("not what was asked for: {}", text.trim()));
        } else if draft.in_table && !text.trim().is_empty() && !text.contains("Test failure") {
            self.complain(
                number,
                format!("neither a row nor a comment: `{}`", start_of(text)),
            );
        }
    }

    fn give_up_piece(&mut self, at: usize) {
        if let Some((number, piece)) = self.writers[at].piece.take() {
            self.complain(number, format!("a row that breaks off: `{}`", piece.trim()));
        }
    }

    fn complain(&mut self, number: usize, why: impl Into<String>) {
        self.found.complaints.push(Complaint::new(number, why));
    }

    /// Closes the run that a writer is in.
    fn close(&mut self, at: usize) {
        let draft = std::mem::take(&mut self.writers[at].draft);
        if draft.is_begun() {
            match build::run(&draft, self.about) {
                Ok(run) => self.found.runs.push(run),
                Err(complaint) => self.found.complaints.push(complaint),
            }
        }
    }

    fn end(mut self) -> Found {
        for at in 0..self.writers.len() {
            self.give_up_piece(at);
            self.close(at);
        }
        self.found
            .complaints
            .sort_by_key(|complaint| complaint.line);
        self.found
    }
}

/// Whether a line can go on with a row: it opens with the blanks between columns and has only
/// figures.
fn continues(text: &str) -> bool {
    let is_figure = |word: &str| word == "N/A" || word.starts_with(|c: char| c.is_ascii_digit());
    text.starts_with("  ")
        && !text.trim().is_empty()
        && text.split_ascii_whitespace().all(is_figure)
}

fn start_of(text: &str) -> String {
    const SHOWN: usize = 60;
    let text = text.trim();
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain("…".chars()).collect()
}
