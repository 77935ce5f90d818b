//! The data that travels: from plan to engine to digest to reports and files.
//!
//! Plain and serialisable; nothing here computes or prints. The schema number of a run's file is
//! [`SCHEMA`]; `docs/record.md` describes the lines.

pub mod baseline;
pub mod case;
pub mod checkup;
pub mod conditions;
pub mod contrast;
pub mod fingerprint;
pub mod gate;
pub mod gpu_health;
pub mod header;
pub mod history;
pub mod key;
pub mod line;
pub mod matrix;
pub mod memory;
pub mod nics;
pub mod path;
pub mod per_iteration;
pub mod published;
pub mod quality;
pub mod row;
pub mod sample;
pub mod settings;
pub mod sweep;
pub mod tuning;
pub mod tweaks;
pub mod verdict;

pub use case::{Case, InPlace};
pub use checkup::{Checkup, Checkups, Examined, Finding, Health, SharedFinding};
pub use conditions::{Conditions, DeviceState};
pub use fingerprint::Fingerprint;
pub use gate::{Floor, Limits};
pub use gpu_health::{GpuHealth, GpuHealths};
pub use header::{BandwidthFloor, DeviceRecord, Footer, Header, LibraryRecord, SeatRecord};
pub use key::RowKey;
pub use line::{Line, Run};
pub use matrix::{Pair, PairMatrix};
pub use memory::MemoryUse;
pub use nics::{NicCounters, NicReading};
pub use path::PathRecord;
pub use per_iteration::PerIteration;
pub use published::Published;
pub use quality::{
    Arrival, Distribution, Doubt, Mark, Percentiles, Quality, RankTimes, Sampling, Spent, Stop,
};
pub use row::{Outcome, Row, Spread};
pub use sample::{BadElement, Mismatches, Sample};
pub use settings::{Blocking, Release, Settings};
pub use sweep::{Judgement, Resumed, SweepRecord};
pub use tuning::{Choice, Shape, TUNING_SCHEMA, Tuning};
pub use tweaks::{CtaPolicy, Registration, Tweaks};
pub use verdict::Verdict;

/// Schema number of the lines that a run's file holds.
pub const SCHEMA: u32 = 1;
