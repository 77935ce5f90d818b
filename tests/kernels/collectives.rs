//! The collectives' kernels: between ranks on the CPU with sanitizers, and the committed PTX.

#[test]
fn collectives_between_ranks_touch_nothing_that_is_not_theirs() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/kernels-on-cpu");
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let built = std::process::Command::new(root.join("tests/kernels/build-host.sh"))
        .arg(&folder)
        .args(sanitizers)
        .status()
        .unwrap();
    assert!(built.success(), "the collectives' kernels do not compile");
    let objects = std::fs::read_dir(&folder).unwrap();
    let objects = objects.map(|entry| entry.unwrap().path());
    let objects = objects.filter(|path| path.extension().is_some_and(|end| end == "o"));
    let program = folder.join("collectives");
    let linked = std::process::Command::new("g++")
        .args(["-std=c++20", "-O1", "-g", "-pthread"])
        .args(sanitizers)
        .arg(root.join("tests/kernels/collectives.cpp"))
        .args(objects)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(
        linked.success(),
        "the test of the collectives does not compile"
    );
    let ran = std::process::Command::new(program).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let complained = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}\n{complained}");
    assert!(said.contains("comparisons"), "{said}");
}

#[test]
fn the_collectives_ptx_is_for_old_gpus_and_holds_nothing_that_only_some_have() {
    use ncclbench::ffi::kernels::collective::Module;
    for &module in Module::ALL {
        let ptx = module.ptx(false);
        for line in [".version 7.0", ".target sm_70", ".address_size 64"] {
            assert!(
                ptx.lines().any(|text| text == line),
                "{module:?}: no line `{line}`"
            );
        }
        for unwanted in [
            "multimem",
            ".local",
            ".extern",
            "tex.",
            "griddepcontrol",
            "atom.add",
        ] {
            assert!(
                !ptx.contains(unwanted),
                "{module:?}: `{unwanted}` in the PTX"
            );
        }
        // Every loop that waits looks at the clock.
        let waits = ptx.matches("ld.relaxed.sys").count() > 0;
        assert!(waits && ptx.contains("%globaltimer"), "{module:?}");
    }
}
