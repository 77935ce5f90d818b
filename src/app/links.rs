//! `ncclbench links DIR`: links to this program under the names of nccl-tests' programs.

use super::say;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::cli::LinksArgs;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Makes them; gives the exit code.
pub(super) fn run(args: &LinksArgs) -> u8 {
    match this_program().and_then(|program| make(&program, args)) {
        Ok(text) => super::tell(&text),
        Err(fault) => {
            say(&format!("error: {fault}"));
            fault.kind.exit_code()
        }
    }
}

fn this_program() -> Result<PathBuf, Fault> {
    let found = std::env::current_exe().and_then(fs::canonicalize);
    found
        .map_err(|error| output(&error))
        .while_doing(|| "finding this program".to_owned())
}

/// Makes the links, or none of them; gives a line for each.
fn make(program: &Path, args: &LinksArgs) -> Result<String, Fault> {
    let while_making = || format!("making the folder `{}`", args.folder.display());
    fs::create_dir_all(&args.folder)
        .map_err(|error| output(&error))
        .while_doing(while_making)?;
    let folder = fs::canonicalize(&args.folder)
        .map_err(|error| output(&error))
        .while_doing(while_making)?;
    let target = target(program, &folder);
    let mut text = String::new();
    let links: Vec<PathBuf> = args.names.iter().map(|name| folder.join(name)).collect();
    for link in &links {
        refuse_foreign(link, program)?;
    }
    for link in &links {
        replace(link, &target)
            .map_err(|error| output(&error))
            .while_doing(|| format!("linking `{}`", link.display()))?;
        let _ = writeln!(text, "{} -> {}", link.display(), target.display());
    }
    Ok(text)
}

fn output(error: &io::Error) -> Fault {
    Fault::new(Kind::Output, error.to_string())
}

/// What a link holds: a relative path where the folder lies beside the program or below it, so that
/// both can be moved together, else an absolute one.
fn target(program: &Path, folder: &Path) -> PathBuf {
    let relative = || {
        let tree = program
            .parent()?
            .parent()
            .filter(|tree| tree.parent().is_some())?;
        let down = folder.strip_prefix(tree).ok()?;
        let up: PathBuf = down.components().map(|_| "..").collect();
        Some(up.join(program.strip_prefix(tree).ok()?))
    };
    relative().unwrap_or_else(|| program.to_owned())
}

/// Refuses what is no link to this program, or to a program of its name that has moved.
fn refuse_foreign(link: &Path, program: &Path) -> Result<(), Fault> {
    if fs::symlink_metadata(link).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    let points_to = fs::read_link(link).ok();
    let is_ours = points_to.is_some_and(|path| path.file_name() == program.file_name());
    if is_ours
        || fs::canonicalize(link).is_ok_and(|path| path == program) && fs::read_link(link).is_ok()
    {
        return Ok(());
    }
    let text = format!(
        "`{}` is there and is no link to this program",
        link.display()
    );
    Err(Fault::new(Kind::Output, text).hint("remove it, or give another folder"))
}

/// Puts a link in place at once, so that a script never finds none.
fn replace(link: &Path, target: &Path) -> io::Result<()> {
    let mut fresh = link.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    std::os::unix::fs::symlink(target, &fresh)?;
    fs::rename(&fresh, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(folder: &Path) -> LinksArgs {
        LinksArgs {
            folder: folder.to_owned(),
            names: vec!["all_reduce_perf".to_owned(), "alltoall_perf".to_owned()],
        }
    }

    /// A program in `bin/` of a folder of its own.
    fn program(root: &Path) -> PathBuf {
        let bin = root.join("tree/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("ncclbench"), "x").unwrap();
        fs::canonicalize(bin.join("ncclbench")).unwrap()
    }

    #[test]
    fn a_folder_beside_the_program_gets_relative_links_and_any_other_absolute_ones() {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path());
        let (near, far) = (
            root.path().join("tree/nccl-tests/build"),
            root.path().join("far"),
        );
        make(&program, &args(&near)).unwrap();
        make(&program, &args(&far)).unwrap();
        let link = |folder: &Path| fs::read_link(folder.join("alltoall_perf")).unwrap();
        assert_eq!(link(&near), Path::new("../../bin/ncclbench"));
        assert_eq!(link(&far), program);
        for folder in [near, far] {
            assert_eq!(
                fs::canonicalize(folder.join("all_reduce_perf")).unwrap(),
                program
            );
        }
    }

    #[test]
    fn links_are_made_again_and_a_stale_one_is_mended() {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path());
        let folder = root.path().join("links");
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink("/gone/ncclbench", folder.join("alltoall_perf")).unwrap();
        for _ in 0..2 {
            make(&program, &args(&folder)).unwrap();
            assert_eq!(
                fs::canonicalize(folder.join("alltoall_perf")).unwrap(),
                program
            );
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }

    #[test]
    fn what_is_foreign_stays_and_nothing_is_made() {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path());
        for foreign in ["file", "link", "folder"] {
            let folder = root.path().join(foreign);
            fs::create_dir(&folder).unwrap();
            let there = folder.join("alltoall_perf");
            match foreign {
                "file" => fs::write(&there, "kept").unwrap(),
                "link" => std::os::unix::fs::symlink("/opt/other/alltoall_perf", &there).unwrap(),
                _ => fs::create_dir(&there).unwrap(),
            }
            let fault = make(&program, &args(&folder)).unwrap_err();
            assert_eq!(fault.kind, Kind::Output);
            assert!(fault.message.contains("alltoall_perf"), "{fault}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{foreign}");
        }
    }
}
