//! The real NCCL from NVIDIA's wheel, as far as it goes without a GPU: loading, versions, ids, words.
//!
//! `NCCLBENCH_TEST_NCCL` names the library, for which `target/wheels` is searched without it:
//! `pip install --no-deps --target target/wheels nvidia-nccl-cu13==2.30.7`. These tests are ignored
//! because the wheel is large; where they are asked for and it is not there, they fail.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use ncclbench::base::Kind;
use ncclbench::ffi::nccl::Nccl;
use ncclbench::ffi::nccl::Tuning;

#[expect(
    clippy::disallowed_methods,
    reason = "a test is told by a variable where a large file is"
)]
fn real() -> Nccl {
    let told = std::env::var("NCCLBENCH_TEST_NCCL").ok();
    let wheel = "target/wheels/nvidia/nccl/lib/libnccl.so.2";
    let path = told.unwrap_or_else(|| format!("{}/{wheel}", env!("CARGO_MANIFEST_DIR")));
    Nccl::load(Some(&path)).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
#[ignore = "needs NCCL's wheel"]
fn the_real_library_says_its_version_and_is_no_stand_in() {
    let nccl = real();
    assert!(nccl.version() >= 21800 && !nccl.is_stand_in());
    assert_eq!(nccl.version_text().split('.').next(), Some("2"));
    assert!(nccl.path().ends_with("libnccl.so.2"));
}

#[test]
#[ignore = "needs NCCL's wheel"]
fn a_new_library_has_its_allocator_and_all_to_all() {
    let nccl = real();
    for collective in ["alltoall", "gather", "scatter"] {
        assert_eq!(nccl.has(collective), nccl.version() >= 22800);
    }
    assert_eq!(nccl.allocates(), nccl.version() >= 21900);
}

#[test]
#[ignore = "needs NCCL's wheel"]
fn the_real_library_makes_ids_that_differ() {
    let nccl = real();
    let (one, other) = (nccl.unique_id().unwrap(), nccl.unique_id().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.as_bytes().len(), 128);
}

#[test]
#[ignore = "needs NCCL's wheel and no GPU driver"]
fn without_a_driver_joining_fails_in_the_real_librarys_own_words() {
    let nccl = real();
    let id = nccl.unique_id().unwrap();
    let fault = nccl
        .join(&[id], 1, &[0], Tuning::default(), &|_| Ok(()))
        .unwrap_err();
    assert_eq!(fault.kind, Kind::Call);
    let wanted = "ncclCommInitRankConfig failed: unhandled cuda error";
    assert!(fault.message.starts_with(wanted), "{fault}");
    assert!(
        fault.message.ends_with("(ncclUnhandledCudaError, 1)"),
        "{fault}"
    );
    assert!(
        fault.details[0].contains("may predate this call"),
        "{fault}"
    );
}
