//! The only room that times: it takes jobs and yields samples.
