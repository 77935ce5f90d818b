//! Waits that end: late, lost, aborted, mistaken.

use super::*;

#[test]
fn a_rank_that_never_comes_is_named_by_all_who_wait_and_with_its_host() {
    let limit = Some(Duration::from_secs(10));
    for (shape, count) in [
        ("aaa", 4),
        ("aaa", 100_000),
        ("abc", 4),
        ("abc", 100_000),
        ("aab", 4),
        ("aab", 100_000),
    ] {
        // It stays until the others have given up, so that nobody sees it leave.
        let stays = std::sync::Barrier::new(3);
        let faults = on_all(
            shape,
            limit,
            &(Arc::new(Leaping::default()) as Arc<dyn Clock>),
            |lane| {
                let span = lane.buffer(&vec![0; 4 * count]);
                let result = if lane.rank == Rank(2) {
                    Ok(())
                } else {
                    lane.all_reduce(span, span)
                };
                stays.wait();
                result.err()
            },
        );
        let fault = faults[0]
            .clone()
            .or(faults[1].clone())
            .expect("somebody gave up");
        let name = format!("rank 2 (node-{})", &shape[2..]);
        assert_eq!(fault.kind, Kind::Timeout, "{shape} {count} {fault}");
        // A host does not see whom another host's rank waits for; ranks of one host do.
        for fault in faults.iter().flatten().map(Fault::to_string) {
            let is_known = fault.contains(&name) || fault.contains("did not go on");
            assert!(is_known, "{shape} {count} {fault}");
        }
        assert_eq!(
            fault.to_string(),
            format!("all-reduce: {name} did not arrive within 10 s"),
            "{shape} {count}"
        );
    }
}

#[test]
fn an_abort_from_another_thread_ends_waits_of_every_kind() {
    for shape in ["aaa", "abc"] {
        for verb in 0..3 {
            let faults = on_all(shape, None, &running(), |lane| {
                let span = lane.buffer(&vec![0; 300_000]);
                if lane.rank == Rank(2) {
                    return None;
                }
                let aborter = lane.session.aborter();
                std::thread::scope(|scope| {
                    scope.spawn(move || aborter.abort());
                    let ops = lane.session.ops(0);
                    match verb {
                        0 => lane.all_reduce(span, span).err(),
                        1 => ops.all_to_all(span, span, DataType::Float).err(),
                        _ => ops.recv(span, DataType::Float, Rank(2)).err(),
                    }
                })
            });
            for fault in faults[..2].iter().flatten() {
                assert!(
                    matches!(fault.kind, Kind::Interrupted | Kind::Peer),
                    "{shape} {fault}"
                );
            }
            assert!(faults[0].is_some() && faults[1].is_some(), "{shape} {verb}");
        }
    }
}

#[test]
fn ranks_that_call_different_sizes_are_told_so() {
    for shape in ["aa", "ab"] {
        for counts in [[4, 8], [100_000, 200_000]] {
            let faults = on_all(shape, None, &running(), |lane| {
                let span = lane.buffer(&vec![0; 4 * counts[lane.rank.0 as usize]]);
                lane.all_reduce(span, span).err().map(|fault| fault.kind)
            });
            assert!(
                faults.contains(&Some(Kind::Disagree)),
                "{shape} {counts:?} {faults:?}"
            );
        }
    }
}

#[test]
fn a_rank_that_closed_its_session_is_named_where_no_limit_is_set() {
    for shape in ["aa", "ab"] {
        let faults = on_all(shape, None, &running(), |lane| {
            let span = lane.buffer(&[0; 4]);
            (lane.rank == Rank(0)).then(|| lane.all_reduce(span, span).unwrap_err())
        });
        let fault = faults[0].clone().unwrap();
        assert_eq!(fault.kind, Kind::Peer);
        assert!(fault.to_string().contains("rank 1 (node-"), "{fault}");
    }
}

#[test]
fn spans_of_no_buffer_and_ranks_of_no_world_are_faults() {
    on_all("a", None, &running(), |lane| {
        let span = lane.buffer(&[0; 8]);
        let none = Span {
            buffer: Buffer(9),
            ..span
        };
        assert_eq!(lane.all_reduce(none, span).unwrap_err().kind, Kind::Call);
        let ops = lane.session.ops(0);
        assert_eq!(
            ops.send(span, DataType::Int8, Rank(1)).unwrap_err().kind,
            Kind::Call
        );
        assert!(lane.session.alloc(0, Bytes(u64::MAX)).is_err());
    });
}

#[test]
fn the_probe_shows_one_device_that_is_the_processor() {
    let wish = Wish {
        nccl_lib: None,
        env: Env::default(),
        seed: 0,
        kernel: crate::backend::KernelWish::default(),
        comm: crate::backend::CommWish::default(),
    };
    let equipment = Host.probe(&wish).unwrap();
    assert_eq!(equipment.devices.len(), 1);
    assert_eq!(equipment.devices[0].bus_id, "0000:00:00");
}
