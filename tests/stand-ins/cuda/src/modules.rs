//! Modules and their kernels: what ncclbench ships as PTX is emulated on the CPU.

use crate::devices::{self, Device};
use crate::{
    Code, ILLEGAL_ADDRESS, INVALID_HANDLE, INVALID_PTX, INVALID_VALUE, NOT_FOUND, SUCCESS, code,
    collectives, memory, streams,
};
use ncclbench::ffi::kernels::{VerifyResult, emulate};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A loaded module.
struct Module {
    device: &'static Device,
    /// The name of the collectives' module that it is.
    collectives: Option<CString>,
    kernels: Vec<Kernel>,
}

/// A kernel: its name, and how many bytes its one parameter has.
#[derive(Clone)]
struct Kernel {
    name: CString,
    param_bytes: usize,
}

/// A kernel on a device.
struct Function {
    device: &'static Device,
    collectives: Option<CString>,
    kernel: Kernel,
}

static MODULES: LazyLock<Mutex<HashMap<usize, Arc<Module>>>> = LazyLock::new(Mutex::default);
static FUNCTIONS: LazyLock<Mutex<HashMap<usize, Arc<Function>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicUsize = AtomicUsize::new(0x3000);

/// Keeps a thing under a new handle.
fn keep<T>(map: &Mutex<HashMap<usize, Arc<T>>>, thing: T) -> *mut c_void {
    let handle = NEXT.fetch_add(16, Ordering::Relaxed);
    map.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(handle, Arc::new(thing));
    std::ptr::without_provenance_mut(handle)
}

fn find<T>(map: &Mutex<HashMap<usize, Arc<T>>>, handle: *mut c_void) -> Result<Arc<T>, Code> {
    let map = map.lock().unwrap_or_else(PoisonError::into_inner);
    map.get(&handle.addr()).cloned().ok_or(INVALID_HANDLE)
}

/// The kernels in PTX; none where it is no PTX.
fn kernels(ptx: &str) -> Vec<Kernel> {
    ptx.split(".visible .entry ")
        .skip(1)
        .filter_map(kernel)
        .collect()
}

/// From `verify(\n\t.param .align 8 .b8 verify_param_0[152]\n)…`.
fn kernel(entry: &str) -> Option<Kernel> {
    let (name, rest) = entry.split_once('(')?;
    let (params, _) = rest.split_once(')')?;
    let (_, size) = params.split_once('[')?;
    let (size, _) = size.split_once(']')?;
    Some(Kernel {
        name: CString::new(name.trim()).ok()?,
        param_bytes: size.parse().ok()?,
    })
}

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: [c_uint; 2] = [5, 6];

/// # Safety
/// As the driver's: `image` is a C string, `options` and `values` hold `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    out: *mut *mut c_void,
    image: *const c_char,
    count: c_uint,
    options: *const c_uint,
    values: *const *mut c_void,
) -> Code {
    code(devices::current().and_then(|device| {
        // SAFETY: the caller's promise.
        let text = unsafe { CStr::from_ptr(image) }
            .to_str()
            .map_err(|_| INVALID_PTX)?;
        let kernels = kernels(text);
        if kernels.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { write_log(count as usize, options, values) };
            return Err(INVALID_PTX);
        }
        let collectives = collectives::module_of(text);
        let module = Module {
            device,
            collectives,
            kernels,
        };
        let handle = keep(&MODULES, module);
        // SAFETY: the caller's promise.
        unsafe { out.write(handle) };
        Ok(())
    }))
}

/// Says in the caller's log what is wrong with a module.
///
/// # Safety
/// `options` and `values` hold `count` entries.
unsafe fn write_log(count: usize, options: *const c_uint, values: *const *mut c_void) {
    let text = c"stand-in: no `.visible .entry` in the module";
    if count < 2 {
        return;
    }
    // SAFETY: there are at least two entries.
    let (options, values) = unsafe {
        (
            std::slice::from_raw_parts(options, 2),
            std::slice::from_raw_parts(values, 2),
        )
    };
    let room = values[1].addr();
    if options == ERROR_LOG && room > text.count_bytes() {
        // SAFETY: the log's buffer has `room` bytes, as the second option says.
        unsafe {
            values[0]
                .cast::<c_char>()
                .copy_from(text.as_ptr(), text.count_bytes() + 1)
        };
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: *mut c_void) -> Code {
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    if modules.remove(&module.addr()).is_some() {
        SUCCESS
    } else {
        INVALID_HANDLE
    }
}

/// # Safety
/// `function` must be writable and `name` a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> Code {
    code(find(&MODULES, module).and_then(|module| {
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) };
        let found = module
            .kernels
            .iter()
            .find(|kernel| kernel.name.as_c_str() == name);
        let kernel = found.ok_or(NOT_FOUND)?.clone();
        // SAFETY: the caller's promise.
        unsafe {
            function.write(keep(
                &FUNCTIONS,
                Function {
                    device: module.device,
                    collectives: module.collectives.clone(),
                    kernel,
                },
            ))
        };
        Ok(())
    }))
}

/// # Safety
/// `params` holds the address of the kernel's one parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    _shared_bytes: c_uint,
    stream: *mut c_void,
    params: *const *const u64,
    _extra: *const c_void,
) -> Code {
    let sizes = [grid_x, grid_y, grid_z, block_x, block_y, block_z];
    let launch = || {
        let function = find(&FUNCTIONS, function)?;
        if !std::ptr::eq(function.device, devices::current()?) {
            return Err(INVALID_HANDLE);
        }
        if sizes.contains(&0) || grid_y > 65_535 || grid_z > 65_535 || block_x > 1024 {
            return Err(INVALID_VALUE);
        }
        let words = function.kernel.param_bytes / 8;
        // SAFETY: the caller's promise; all parameters of ncclbench's kernels are made of u64.
        let params = unsafe { std::slice::from_raw_parts(*params, words) }.to_vec();
        streams::find_here(stream)?.enqueue(move || match &function.collectives {
            Some(module) => collectives::run(module, &function.kernel.name, &params, grid_x),
            None => run(&function.kernel, &params),
        })
    };
    code(launch())
}

/// Runs a kernel of ncclbench's, if everything it touches is in allocations.
fn run(kernel: &Kernel, params: &[u64]) -> Result<(), Code> {
    for (address, bytes) in touched(kernel, params) {
        memory::check(
            address,
            usize::try_from(bytes).map_err(|_| ILLEGAL_ADDRESS)?,
        )?;
    }
    // SAFETY: the parameter is the kernel's own by its size, and what it points at was checked.
    let done = unsafe { emulate(&kernel.name, params.as_ptr().cast()) };
    done.map_err(|_| NOT_FOUND)
}

/// What a kernel reads or writes: addresses and sizes in bytes.
fn touched(kernel: &Kernel, params: &[u64]) -> Vec<(u64, u64)> {
    let result = size_of::<VerifyResult>() as u64;
    match kernel.name.to_bytes() {
        // got, len, parts, …, result in 9, …, bits of an element in the last.
        b"verify" | b"list" => {
            vec![
                (params[0], params[1] * params[2] * (params[18] / 8)),
                (params[9], result),
            ]
        }
        b"gather" => vec![(params[0], 1), (params[2], result)],
        // to, count, at, and the words' constants, whose eighth is the bits of an element.
        _ => vec![(params[0], params[1] * (params[10] / 8))],
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: *mut c_void,
    attributes: *const Attribute,
    count: c_uint,
}

/// `CUlaunchAttribute`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    id: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

/// A launch with attributes, of which the one that lets it be made ready early changes nothing here.
///
/// # Safety
/// As for `cuLaunchKernel`; the configuration is readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const Config,
    function: *mut c_void,
    params: *const *const u64,
    extra: *const c_void,
) -> Code {
    // SAFETY: the caller's promise.
    let config = unsafe { &*config };
    // SAFETY: the caller's promise.
    let attributes =
        unsafe { std::slice::from_raw_parts(config.attributes, config.count as usize) };
    if attributes
        .iter()
        .any(|attribute| attribute.id != 6 || attribute.value[0] != 1)
    {
        return INVALID_VALUE;
    }
    let ([x, y, z], [bx, by, bz]) = (config.grid, config.block);
    let (shared, stream) = (config.shared_bytes, config.stream);
    // SAFETY: the caller's promise.
    unsafe { cuLaunchKernel(function, x, y, z, bx, by, bz, shared, stream, params, extra) }
}
