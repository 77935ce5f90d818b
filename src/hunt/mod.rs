//! Who makes a job slow: which pairs are to be measured in which rounds, and what their times say.
//!
//! Pure: it measures nothing and knows neither processes nor clocks. Participants are numbered from 0
//! and may be nodes, a node's rails or GPUs.

pub mod rounds;
pub mod score;
#[cfg(test)]
mod tests;
pub mod traffic;

pub use rounds::Pairs;
pub use score::Limits;
pub use score::Met;
pub use score::Verdict;
pub use score::judge;
