//! Finding and opening a shared library at run time, and looking up its functions.
//!
//! A library that was opened is never closed: GPU libraries start threads and register exit
//! handlers, so unmapping their code would crash the process long after we are done with them.
//! This file does not know any particular library.

use crate::base::Fault;
use crate::base::Kind;
use std::ffi::CStr;
use std::mem::ManuallyDrop;

/// An open shared library.
#[derive(Debug)]
pub struct Library {
    handle: ManuallyDrop<libloading::Library>,
    path: String,
}

impl Library {
    /// Opens the first of `names` that the loader accepts; `what` is the thing in words.
    ///
    /// `anchor` is a symbol that the library must have. It tells which file was mapped.
    ///
    /// # Errors
    /// `Missing`, with every name tried and the loader's own text.
    pub fn open(what: &str, names: &[&str], anchor: &CStr) -> Result<Self, Fault> {
        let mut refusals = Vec::new();
        for name in names {
            if name.is_empty() {
                // the loader would take the program itself for the library
                refusals
                    .push("``: the name is empty; give a path or unset the variable".to_owned());
                continue;
            }
            // SAFETY: opening a library runs its initialisers. The names are those of vendor
            // libraries that are made to be opened this way, or a path that the user gave.
            match unsafe { libloading::Library::new(name) } {
                Ok(handle) => return Ok(Self::opened(handle, name, anchor)),
                Err(error) => refusals.push(refusal(name, &error.to_string())),
            }
        }
        let fault = Fault::new(
            Kind::Missing,
            format!("cannot load {what}: none of the names tried could be opened"),
        );
        Err(refusals.into_iter().fold(fault, Fault::detail))
    }

    fn opened(handle: libloading::Library, name: &str, anchor: &CStr) -> Self {
        let mut library = Self {
            handle: ManuallyDrop::new(handle),
            path: name.to_owned(),
        };
        if let Some(path) = library.address(anchor).and_then(mapped_file) {
            library.path = path;
        }
        library
    }

    /// The file that was mapped; the name it was opened by where the kernel does not tell.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it exports `symbol`.
    pub fn has(&self, symbol: &CStr) -> bool {
        self.address(symbol).is_some()
    }

    /// The address of `symbol`.
    fn address(&self, symbol: &CStr) -> Option<usize> {
        // SAFETY: the symbol is only asked for its address, which no code reads through.
        let found = unsafe {
            self.handle
                .get::<*const std::ffi::c_void>(symbol.to_bytes_with_nul())
        };
        found.ok().map(|symbol| (*symbol).addr())
    }

    /// A function that the library may lack.
    ///
    /// # Safety
    /// `F` must be a function pointer with the signature that the library's header gives `symbol`.
    pub(super) unsafe fn optional<F: Copy>(&self, symbol: &CStr) -> Option<F> {
        // SAFETY: the caller vouches for the type.
        let found = unsafe { self.handle.get::<F>(symbol.to_bytes_with_nul()) };
        found.ok().map(|symbol| *symbol)
    }

    /// A function that the library must have.
    ///
    /// # Safety
    /// As [`Library::optional`].
    ///
    /// # Errors
    /// `Missing`, with the loader's own text.
    pub(super) unsafe fn required<F: Copy>(&self, symbol: &CStr) -> Result<F, Fault> {
        // SAFETY: the caller vouches for the type.
        match unsafe { self.handle.get::<F>(symbol.to_bytes_with_nul()) } {
            Ok(found) => Ok(*found),
            Err(error) => Err(Fault::new(
                Kind::Missing,
                format!("`{}` has no `{}`", self.path, symbol.to_string_lossy()),
            )
            .detail(error.to_string())),
        }
    }
}

/// A line for a name that was refused; most of the loader's texts start with the name already.
fn refusal(name: &str, text: &str) -> String {
    if text.starts_with(name) {
        text.to_owned()
    } else {
        format!("{name}: {text}")
    }
}

/// The file whose mapping holds `address`.
///
/// # Source
/// proc(5), `/proc/pid/maps`: `start-end perms offset device inode path`.
fn mapped_file(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| file_of_line(line, address))
}

fn file_of_line(line: &str, address: usize) -> Option<String> {
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let path = line.find('/').map(|at| line[at..].to_owned())?;
    (start..end).contains(&address).then_some(path)
}

/// Declares a table of a library's functions, filled by symbol name.
///
/// `required` functions are an error where they are missing; `optional` ones become an `Option`.
/// A name before the `=` is the field, the literal after it the symbol.
macro_rules! foreign_table {
    (
        $(#[$meta:meta])*
        $name:ident returning $code:ty;
        required { $($field:ident = $symbol:literal ($($arg:ty),* $(,)?) $(-> $ret:ty)?;)* }
        optional { $($maybe:ident = $maybe_symbol:literal ($($maybe_arg:ty),* $(,)?);)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub(in crate::ffi) struct $name {
            $(pub(in crate::ffi) $field: unsafe extern "C" fn($($arg),*) -> foreign_table!(@ret $code $(, $ret)?),)*
            $(pub(in crate::ffi) $maybe: Option<unsafe extern "C" fn($($maybe_arg),*) -> $code>,)*
        }

        impl $name {
            /// Looks every function up.
            ///
            /// # Safety
            /// `library` must be the one whose header the signatures were taken from.
            ///
            /// # Errors
            /// `Missing` where a required function is not there.
            pub(in crate::ffi) unsafe fn resolve(
                library: &$crate::ffi::library::Library,
            ) -> Result<Self, $crate::base::Fault> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the signature is the header's, as the caller vouches.
                        unsafe { library.required($symbol) }?
                    },)*
                    $($maybe: {
                        // SAFETY: as above.
                        unsafe { library.optional($maybe_symbol) }
                    },)*
                })
            }
        }
    };
    (@ret $code:ty) => { $code };
    (@ret $code:ty, $ret:ty) => { $ret };
}
pub(super) use foreign_table;

/// The text behind a C string that lives as long as its library, or nothing.
///
/// # Safety
/// `text` must be null or point to a NUL-terminated string that is not written to.
pub(super) unsafe fn text_of(text: *const std::ffi::c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and terminated as the caller vouches.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_nowhere_names_every_name_with_the_loaders_text() {
        let names = ["libncclbench-none.so.2", "/nowhere/libncclbench-none.so"];
        let fault = Library::open("the test's library", &names, c"nothing").unwrap_err();
        assert_eq!(fault.kind, Kind::Missing);
        assert_eq!(fault.details.len(), 2);
        for (name, line) in names.iter().zip(&fault.details) {
            assert!(line.starts_with(&format!("{name}: ")), "{line}");
            assert!(line.contains("No such file"), "{line}");
        }
    }

    #[test]
    fn an_open_library_says_its_file_and_its_symbols() {
        let library = Library::open("the C library", &["libc.so.6"], c"getpid").unwrap();
        assert!(library.path().starts_with('/'), "{}", library.path());
        assert!(library.path().contains("libc"), "{}", library.path());
        assert!(library.has(c"getpid") && !library.has(c"ncclbench_no_such_thing"));
    }

    #[test]
    fn a_missing_symbol_is_a_fault_that_names_it() {
        let library = Library::open("the C library", &["libc.so.6"], c"getpid").unwrap();
        // SAFETY: the symbol does not exist, so that nothing is called.
        let found = unsafe { library.required::<unsafe extern "C" fn()>(c"ncclbench_none") };
        let fault = found.unwrap_err();
        assert_eq!(fault.kind, Kind::Missing);
        assert!(fault.message.contains("`ncclbench_none`"), "{fault}");
    }

    #[test]
    fn a_line_of_the_memory_map_names_its_file_only_for_addresses_inside() {
        let line = "7f00-7f10 r-xp 00000000 08:01 123   /usr/lib/lib a.so.1";
        assert_eq!(
            file_of_line(line, 0x7f0f).as_deref(),
            Some("/usr/lib/lib a.so.1")
        );
        assert_eq!(file_of_line(line, 0x7f10), None);
        assert_eq!(
            file_of_line("7f00-7f10 rw-p 0 00:00 0 [heap]", 0x7f00),
            None
        );
    }
}
