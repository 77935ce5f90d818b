//! Roots, and the texts that other programs leave there.

use super::*;
use std::fs;

fn root(files: &[(&str, &str)]) -> (tempfile::TempDir, Scene) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("proc")).unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let scene = Scene::under(folder.path().to_owned(), 1).unwrap();
    (folder, scene)
}

#[test]
fn a_link_of_a_root_stays_within_it_and_a_loop_is_an_error() {
    let (folder, scene) = root(&[("opt/x/lib.so.1.2", "text"), ("etc/passwd", "ours")]);
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    };
    link("/opt/x/lib.so.1.2", "etc/absolute");
    link("../opt/./x/lib.so.1.2", "etc/relative");
    link("../../../../etc/passwd", "etc/upward");
    link("loop", "etc/loop");
    for name in ["/etc/absolute", "/etc/relative"] {
        assert_eq!(scene.read(name), Ok("text".to_owned()), "{name}");
        assert_eq!(scene.real(name).as_deref(), Some("/opt/x/lib.so.1.2"));
    }
    assert_eq!(scene.read("/etc/upward"), Ok("ours".to_owned()));
    assert_eq!(
        scene.read("/etc/loop"),
        Err("/etc/loop: a loop of links".to_owned())
    );
}

#[test]
fn variables_of_a_root_are_ended_by_nul_or_by_lines() {
    for text in ["A=1\0B=x\ny\0", "A=1\nB=x\n"] {
        let (_folder, scene) = root(&[("proc/self/environ", text)]);
        assert_eq!(scene.variable("A"), Some("1"));
        assert!(scene.variable("B").unwrap().starts_with('x'));
    }
}

#[test]
fn what_a_root_does_not_hold_is_not_taken_from_this_machine() {
    let (_folder, scene) = root(&[]);
    assert!(scene.cpus().is_err() && scene.gpus().is_err());
    assert!(scene.resolve("localhost").is_err() && scene.space("/dev/shm").is_err());
    assert_eq!(scene.variables(), &Env::default());
    assert!(matches!(scene.ask(&FI_INFO), Err(Silence::Absent(_))));
}

#[test]
fn a_program_that_failed_elsewhere_failed() {
    let (_folder, scene) = root(&[("doctor/fi_info", "exit 61\nfi_getinfo: -61\n")]);
    let said = scene.ask(&FI_INFO).unwrap_err();
    assert_eq!(
        said,
        Silence::Failed("`fi_info` ended with 61: fi_getinfo: -61".to_owned())
    );
}

#[test]
fn a_folder_that_is_no_root_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = Scene::under(folder.path().to_owned(), 1).unwrap_err();
    assert!(refused.contains("holds none of the folders"), "{refused}");
    assert!(
        Scene::under("/nowhere".into(), 1)
            .unwrap_err()
            .contains("is no folder")
    );
}

#[test]
fn lists_of_processors_are_read_and_rubbish_is_not() {
    assert_eq!(parse_list("0-2,8"), Some(vec![0, 1, 2, 8]));
    assert_eq!(parse_list(""), Some(Vec::new()));
    for rubbish in ["a", "3-1", "0-4294967295", "-"] {
        assert_eq!(parse_list(rubbish), None, "{rubbish}");
    }
}

#[test]
fn a_disks_line_is_found_by_where_it_is_mounted() {
    let df = "Filesystem 1024-blocks Used Available Capacity Mounted on\nshm 65536 10 65526 1% /dev/shm\n";
    let (_folder, scene) = root(&[("doctor/df", df)]);
    assert_eq!(scene.space("/dev/shm"), Ok((65536 << 10, 65526 << 10)));
    assert!(scene.space("/tmp").is_err());
}
