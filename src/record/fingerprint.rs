//! What must be alike before two runs may be compared.

use serde::{Deserialize, Serialize};

/// One thing that matters, by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Its name: `nccl`, `gpu`, `nodes`, `env NCCL_ALGO`.
    pub name: String,
    /// Its value; none where it is not known.
    pub value: Option<String>,
}

/// Everything that matters, in a fixed order; host names and process ids are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The fields.
    pub fields: Vec<Field>,
}
