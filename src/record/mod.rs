//! The data that travels: from plan to engine to digest to reports and files.
//!
//! Plain and serialisable; nothing here computes or prints. The schema number of a run's file is
//! [`SCHEMA`]; `docs/record.md` describes the lines.

pub mod case;
pub mod header;
pub mod line;
pub mod nics;
pub mod path;
pub mod row;
pub mod sample;
pub mod settings;

pub use case::{Case, InPlace};
pub use header::{DeviceRecord, Footer, Header, LibraryRecord, SeatRecord};
pub use line::{Line, Run};
pub use nics::{NicCounters, NicReading};
pub use path::PathRecord;
pub use row::{Outcome, Row, Spread};
pub use sample::{BadElement, Mismatches, Sample};
pub use settings::{Blocking, Settings};

/// Schema number of the lines that a run's file holds.
pub const SCHEMA: u32 = 1;
