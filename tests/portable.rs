//! The program starts on any distribution of the last years and in any image: it needs the C
//! library of 2021 and nothing of a GPU, an MPI or a process manager.
//!
//! It reads the program that cargo built for the tests, or the file that `NCCLBENCH_TEST_PROGRAM`
//! names, such as a release.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and is told by a variable which file to read"
)]

use object::Endianness;
use object::elf::FileHeader64;
use object::elf::SHT_DYNAMIC;
use object::elf::SHT_GNU_VERNEED;
use object::read::elf::Dyn as _;
use object::read::elf::FileHeader as _;
use object::read::elf::SectionHeader as _;

/// The newest C library that may be asked for: that of Ubuntu 22.04, RHEL 9 and Amazon Linux 2023.
const NEWEST: (u32, u32) = (2, 34);

/// What every image has: the C library in its parts, the compiler's run time, the loader.
const ALLOWED: [&str; 4] = [
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
];

type Elf = FileHeader64<Endianness>;

/// What the loader is asked for.
#[derive(Debug, Default)]
struct Needs {
    libraries: Vec<String>,
    /// Library and version, `libc.so.6` and `GLIBC_2.34`.
    versions: Vec<(String, String)>,
}

impl Needs {
    fn read(bytes: &[u8]) -> object::read::Result<Self> {
        let header = Elf::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let mut needs = Self::default();
        let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
        for section in sections.iter() {
            let kind = section.sh_type(endian);
            if kind == SHT_DYNAMIC {
                let (entries, link) = section.dynamic(endian, bytes)?.unwrap();
                let strings = sections.strings(endian, bytes, link)?;
                for entry in entries {
                    if entry.tag(endian) == object::elf::DT_NEEDED {
                        needs.libraries.push(text(entry.string(endian, strings)?));
                    }
                }
            }
            if kind == SHT_GNU_VERNEED {
                let (mut libraries, link) = section.gnu_verneed(endian, bytes)?.unwrap();
                let strings = sections.strings(endian, bytes, link)?;
                while let Some((library, mut versions)) = libraries.next()? {
                    let library = text(library.file(endian, strings)?);
                    while let Some(version) = versions.next()? {
                        let version = text(version.name(endian, strings)?);
                        needs.versions.push((library.clone(), version));
                    }
                }
            }
        }
        Ok(needs)
    }
}

fn program() -> Needs {
    let named = std::env::var("NCCLBENCH_TEST_PROGRAM");
    let path = named.unwrap_or_else(|_| env!("CARGO_BIN_EXE_ncclbench").to_owned());
    Needs::read(&std::fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// `(2, 34)` of `GLIBC_2.34`; a third number does not matter.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix("GLIBC_")?.split('.');
    let major = parts.next()?.parse().ok()?;
    Some((major, parts.next().unwrap_or("0").parse().ok()?))
}

#[test]
fn the_program_needs_no_c_library_that_is_newer_than_2_34() {
    let needs = program();
    assert!(needs.versions.len() > 3, "{needs:?}");
    for (library, version) in needs.versions {
        // versions that are no numbers are the compiler's (GCC_3.0), or the C library's own affair
        let wanted = number(&version);
        assert!(
            wanted.is_some_and(|wanted| wanted <= NEWEST) || version.starts_with("GCC_"),
            "`{library}` is asked for {version}; `objdump -T` names the symbol"
        );
    }
}

#[test]
fn the_program_is_linked_to_what_every_image_has_and_to_nothing_else() {
    let libraries = program().libraries;
    assert!(libraries.contains(&"libc.so.6".to_owned()), "{libraries:?}");
    for library in libraries {
        assert!(ALLOWED.contains(&library.as_str()), "linked to {library}");
    }
}

#[test]
fn a_program_that_needs_more_is_told_from_one_that_does_not() {
    // the C library's own file is there, and asks its loader for what no program may
    assert!(number("GLIBC_2.36") > Some(NEWEST) && number("GLIBC_2.2.5") < Some(NEWEST));
    assert_eq!((number("GLIBC_PRIVATE"), number("GCC_3.0")), (None, None));
    assert!(Needs::read(b"no program").is_err());
}
