//! The foreign libraries that a run may use: whether they load here, from where, which version.
//!
//! A library that is not there is a finding and not an error; nothing is set up or registered.

use crate::base::Env;
use crate::base::Fault;
use crate::ffi::cuda::Driver;
use crate::ffi::nccl::Nccl;
use crate::ffi::pmix;
use crate::record::DeviceRecord;
use crate::record::LibraryRecord;
use serde::Deserialize;
use serde::Serialize;

/// A library that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// It loads.
    Loaded(LibraryRecord),
    /// It does not, and why.
    Absent {
        /// As in [`LibraryRecord::name`].
        name: String,
        /// In one line.
        why: String,
    },
}

impl Found {
    fn new(name: &str, looked: Result<LibraryRecord, Fault>) -> Self {
        match looked {
            Ok(record) => Self::Loaded(record),
            Err(fault) => Self::Absent {
                name: name.to_owned(),
                why: in_one_line(&fault),
            },
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Loaded(record) => &record.name,
            Self::Absent { name, .. } => name,
        }
    }

    /// What is known of it, if it loads.
    pub fn record(&self) -> Option<&LibraryRecord> {
        match self {
            Self::Loaded(record) => Some(record),
            Self::Absent { .. } => None,
        }
    }
}

/// The cause with the first foreign word on it: the other names that were tried say the same.
fn in_one_line(fault: &Fault) -> String {
    match fault.details.first() {
        Some(detail) => format!("{} ({detail})", fault.message),
        None => fault.message.clone(),
    }
}

/// The driver, and the devices that it shows this process.
///
/// # Errors
/// `Call` where a driver that is there cannot tell its devices.
pub fn gpus(env: &Env) -> Result<(Found, Vec<DeviceRecord>), Fault> {
    const NAME: &str = "cuda driver";
    match Driver::load(env) {
        Ok(driver) => Ok((Found::Loaded(driver.record()?), driver.devices()?)),
        Err(fault) => Ok((Found::new(NAME, Err(fault)), Vec::new())),
    }
}

/// NCCL, at `path` only if it is given.
pub fn nccl(path: Option<&str>) -> Found {
    Found::new("nccl", Nccl::load(path).map(|nccl| nccl.record()))
}

/// The PMIx client library, at `path` only if it is given.
pub fn pmix(path: Option<&str>) -> Found {
    Found::new("pmix", pmix::look(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_a_finding_with_the_loaders_words() {
        for found in [nccl(Some("/nowhere/lib.so")), pmix(Some("/nowhere/lib.so"))] {
            let Found::Absent { name, why } = &found else {
                panic!("{found:?}");
            };
            assert!(why.contains("/nowhere/lib.so: "), "{name}: {why}");
            assert_eq!((found.record(), found.name()), (None, name.as_str()));
        }
    }

    #[test]
    fn a_machine_without_a_driver_shows_no_gpu_and_says_why() {
        let env = Env::from_iter([("NCCLBENCH_CUDA", "/nowhere/libcuda.so.1")]);
        let (driver, devices) = gpus(&env).unwrap();
        assert!(driver.record().is_none() && devices.is_empty());
    }
}
