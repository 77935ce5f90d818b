//! PMIx by its client library, loaded at run time: one function for each call, no policy.
//!
//! The library is never closed, since it keeps a thread; values that it gives are not freed, since
//! they are few and tiny. Calls may block without end: who calls keeps the deadline.

use super::library::Library;
use super::pmix_sys as sys;
use crate::base::Fault;
use crate::base::Kind;
use crate::record::LibraryRecord;
use std::ffi::{CStr, CString, c_char};
use std::fmt;

const NAMES: [&str; 2] = ["libpmix.so.2", "libpmix.so"];

/// What a record says of the library, without registering with any server.
///
/// # Errors
/// `Missing` as for [`Pmix::init`].
pub fn look(path: Option<&str>) -> Result<LibraryRecord, Fault> {
    let library = open(path)?;
    let loaded = Pmix::resolve(&library)?;
    Ok(LibraryRecord {
        name: "pmix".to_owned(),
        version: version_number(loaded.version()).to_owned(),
        path: loaded.library,
        code: None,
        stand_in: false,
    })
}

/// `4.2.2` of `OpenPMIx 4.2.2 (PMIx Standard: 4.1, …)`; the whole text where there is no number.
fn version_number(text: &str) -> &str {
    let number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    text.split([' ', ',']).find(number).unwrap_or(text)
}

fn open(path: Option<&str>) -> Result<Library, Fault> {
    let names = path.as_ref().map_or(&NAMES[..], std::slice::from_ref);
    Library::open("PMIx", names, c"PMIx_Init")
        .map_err(|fault| fault.hint("set `NCCLBENCH_PMIX` to the library's path"))
}

/// A process that has called `PMIx_Init`.
pub struct Pmix {
    get: sys::Get,
    put: sys::Put,
    commit: sys::Commit,
    fence: sys::Fence,
    abort: sys::Abort,
    finalize: sys::Finalize,
    error_string: sys::ErrorString,
    me: sys::Proc,
    version: String,
    library: String,
}

impl Pmix {
    /// Loads the library, `path` only if it is given, and registers with the server that started
    /// this process.
    ///
    /// # Errors
    /// `Missing` with each name tried and the loader's words; `Call` if there is no server.
    pub fn init(path: Option<&str>) -> Result<Self, Fault> {
        let library = open(path)?;
        // SAFETY: the signature is `pmix.h`'s, as for all that follow.
        let init: sys::Init = unsafe { library.required(c"PMIx_Init") }?;
        let mut pmix = Self::resolve(&library)?;
        // SAFETY: `me` is a `pmix_proc_t` to be written, and no info is given.
        let status = unsafe { init(&raw mut pmix.me, std::ptr::null_mut(), 0) };
        pmix.check("PMIx_Init", status)?;
        Ok(pmix)
    }

    /// All functions but the first; no process is registered yet.
    fn resolve(library: &Library) -> Result<Self, Fault> {
        // SAFETY: each field has the signature that `pmix.h` gives to the name that is looked up;
        // `PMIx_Get_version` takes nothing and gives a string that lives as long as the library,
        // which is never closed.
        unsafe {
            let get_version: sys::GetVersion = library.required(c"PMIx_Get_version")?;
            Ok(Self {
                get: library.required(c"PMIx_Get")?,
                put: library.required(c"PMIx_Put")?,
                commit: library.required(c"PMIx_Commit")?,
                fence: library.required(c"PMIx_Fence")?,
                abort: library.required(c"PMIx_Abort")?,
                finalize: library.required(c"PMIx_Finalize")?,
                error_string: library.required(c"PMIx_Error_string")?,
                me: proc_of("", 0),
                version: text(get_version()).unwrap_or_default(),
                library: library.path().to_owned(),
            })
        }
    }

    /// The file that was loaded.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// The library's own words on its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// This process's rank in its job.
    pub fn rank(&self) -> u32 {
        self.me.rank
    }

    /// The job's name, the same for all its processes.
    pub fn namespace(&self) -> String {
        let bytes: Vec<u8> = self.me.nspace.iter().map(|c| c.to_ne_bytes()[0]).collect();
        let len = bytes.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&bytes[..len.unwrap_or(bytes.len())]).into_owned()
    }

    /// How many processes the job has.
    ///
    /// # Errors
    /// `Call` if the server does not say.
    pub fn job_size(&self) -> Result<u32, Fault> {
        self.get_u32(sys::JOB_SIZE)
    }

    /// On how many hosts they are.
    ///
    /// # Errors
    /// `Call` if the server does not say.
    pub fn num_nodes(&self) -> Result<u32, Fault> {
        self.get_u32(sys::NUM_NODES)
    }

    fn get_u32(&self, key: &str) -> Result<u32, Fault> {
        let value = self.get(sys::RANK_WILDCARD, key)?;
        if value.kind != sys::TYPE_UINT32 {
            return Err(wrong_type(key, value.kind, sys::TYPE_UINT32));
        }
        // SAFETY: the tag says that this member of the union was written.
        Ok(unsafe { value.data.uint32 })
    }

    /// The text that process `rank` has put under `key`.
    ///
    /// # Errors
    /// `Call` if there is none.
    pub fn get_text(&self, rank: u32, key: &str) -> Result<String, Fault> {
        let value = self.get(rank, key)?;
        if value.kind != sys::TYPE_STRING {
            return Err(wrong_type(key, value.kind, sys::TYPE_STRING));
        }
        // SAFETY: the tag says that this member was written: null or a string that is never freed.
        let text = unsafe { text(value.data.string) };
        text.ok_or_else(|| Fault::new(Kind::Call, format!("PMIx_Get of `{key}` gave no text")))
    }

    fn get(&self, rank: u32, key: &str) -> Result<sys::Value, Fault> {
        let whom = proc_of(&self.namespace(), rank);
        let name = key_of(key);
        let mut value: *mut sys::Value = std::ptr::null_mut();
        // SAFETY: both pointers are to whole C values of ours, no info is given, and the result is
        // written where `value` is.
        let status = unsafe {
            (self.get)(
                &raw const whom,
                name.as_ptr(),
                std::ptr::null(),
                0,
                &raw mut value,
            )
        };
        self.check(&format!("PMIx_Get of `{key}`"), status)?;
        if value.is_null() {
            return Err(Fault::new(
                Kind::Call,
                format!("PMIx_Get of `{key}` gave nothing"),
            ));
        }
        // SAFETY: the call succeeded and gave a value, which is not freed.
        Ok(unsafe { *value })
    }

    /// Puts `text` under `key`, for all processes, and hands it to the server.
    ///
    /// # Errors
    /// `Call` with PMIx's words.
    pub fn put_text(&self, key: &str, text: &str) -> Result<(), Fault> {
        let text = CString::new(text)
            .map_err(|_| Fault::usage(format!("the text for `{key}` has a zero byte")))?;
        let mut value = sys::Value {
            kind: sys::TYPE_STRING,
            data: sys::Data { whole: [0; 3] },
        };
        value.data.string = text.as_ptr();
        let name = key_of(key);
        // SAFETY: the key is a whole `pmix_key_t`, the value a whole `pmix_value_t` whose string
        // outlives the call, which copies both.
        let status = unsafe { (self.put)(sys::SCOPE_GLOBAL, name.as_ptr(), &raw mut value) };
        self.check("PMIx_Put", status)?;
        // SAFETY: takes nothing.
        let status = unsafe { (self.commit)() };
        self.check("PMIx_Commit", status)
    }

    /// Waits for all processes of the job and brings what they have put. Always with the data
    /// collected: a fence without does not wait for other hosts under some versions of Slurm.
    ///
    /// # Errors
    /// `Call` with PMIx's words.
    pub fn fence(&self) -> Result<(), Fault> {
        let mut collect = sys::Info {
            key: key_of(sys::COLLECT_DATA),
            flags: 0,
            value: sys::Value {
                kind: sys::TYPE_BOOL,
                data: sys::Data { whole: [0; 3] },
            },
        };
        collect.value.data.flag = true;
        let all = proc_of(&self.namespace(), sys::RANK_WILDCARD);
        // SAFETY: one whole process and one whole info are given, and counted as one each.
        let status = unsafe { (self.fence)(&raw const all, 1, &raw const collect, 1) };
        self.check("PMIx_Fence", status)
    }

    /// Asks the server to end all processes of the job with `code`.
    ///
    /// # Errors
    /// `Call` with PMIx's words.
    pub fn abort(&self, code: i32, message: &str) -> Result<(), Fault> {
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the message outlives the call; no list of processes means all of them.
        let status = unsafe { (self.abort)(code, message.as_ptr(), std::ptr::null_mut(), 0) };
        self.check("PMIx_Abort", status)
    }

    /// Says goodbye to the server; without it a launcher takes the end of this process for a crash.
    ///
    /// # Errors
    /// `Call` with PMIx's words.
    pub fn finalize(&self) -> Result<(), Fault> {
        // SAFETY: no info is given.
        let status = unsafe { (self.finalize)(std::ptr::null(), 0) };
        self.check("PMIx_Finalize", status)
    }

    fn check(&self, call: &str, status: sys::Status) -> Result<(), Fault> {
        if status == sys::SUCCESS {
            return Ok(());
        }
        // SAFETY: takes any number and gives a string that lives as long as the library.
        let words = unsafe { text((self.error_string)(status)) }.unwrap_or_default();
        Err(Fault::new(
            Kind::Call,
            format!("{call} failed: {words} ({status})"),
        ))
    }
}

fn wrong_type(key: &str, got: u16, expected: u16) -> Fault {
    let text = format!("PMIx_Get of `{key}` gave type {got}, not {expected}");
    Fault::new(Kind::Call, text)
}

fn proc_of(namespace: &str, rank: u32) -> sys::Proc {
    sys::Proc {
        nspace: c_text(namespace),
        rank,
    }
}

fn key_of(key: &str) -> [c_char; sys::KEY_LEN] {
    c_text(key)
}

/// `text` with at least one zero behind; cut off where it is too long for its array.
fn c_text<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (slot, byte) in array[..N - 1].iter_mut().zip(text.bytes()) {
        *slot = c_char::from_ne_bytes([byte]);
    }
    array
}

/// A C string's text; `None` for null.
///
/// # Safety
/// `pointer` is null or points to a string that ends with a zero and lives through the call.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(pointer) };
    Some(text.to_string_lossy().into_owned())
}

impl fmt::Debug for Pmix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pmix")
            .field("namespace", &self.namespace())
            .field("rank", &self.rank())
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_told_with_the_loaders_words() {
        let fault = Pmix::init(Some("/nowhere/libpmix.so")).unwrap_err();
        assert_eq!(fault.kind, Kind::Missing);
        assert!(fault.details[0].contains("No such file"), "{fault}");
    }

    #[test]
    fn a_library_that_is_something_else_is_told_by_what_it_lacks() {
        let fault = Pmix::init(Some("libc.so.6")).unwrap_err();
        assert!(fault.message.contains("has no `PMIx_Init`"), "{fault}");
    }

    #[test]
    fn a_librarys_words_on_its_version_hold_a_number() {
        assert_eq!(
            version_number("OpenPMIx 4.2.2 (PMIx Standard: 4.1)"),
            "4.2.2"
        );
        assert_eq!(version_number("unknown"), "unknown");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_and_still_ends() {
        let array: [c_char; 4] = c_text("abcdef");
        assert_eq!(array.map(|c| c.to_ne_bytes()[0]), *b"abc\0");
    }
}
