//! Loading PTX and launching its kernels; what the kernels are is not known here.

use super::Driver;
use super::Function;
use super::Module;
use super::Stream;
use super::newer;
use super::sys::LaunchAttribute;
use super::sys::LaunchConfig;
use super::text_of;
use crate::base::Fault;
use crate::base::Kind;
use cudarc::driver::sys::CUfunction;
use cudarc::driver::sys::CUjit_option;
use cudarc::driver::sys::CUmodule;
use std::ffi::CStr;
use std::ffi::CString;
use std::ffi::c_char;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Bytes for the log of a module that the driver refuses.
const LOG_BYTES: usize = 8192;

impl Driver {
    /// Loads PTX for the current context's device.
    ///
    /// # Errors
    /// `Call` where the driver cannot compile it, with its log.
    pub fn load_module(&self, ptx: &str) -> Result<Module, Fault> {
        let image = CString::new(ptx)
            .map_err(|_| Fault::new(Kind::Call, "the kernels' PTX holds a NUL"))?;
        let mut log: Vec<c_char> = vec![0; LOG_BYTES];
        let mut module: CUmodule = null_mut();
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // One byte is kept back, so that the log is terminated whatever the driver writes.
        let mut values: [*mut c_void; 2] = [
            log.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(LOG_BYTES - 1),
        ];
        // SAFETY: image, options and values live through the call; the log's size is the one said.
        let code = unsafe {
            (self.calls.module_load_data_ex)(
                &raw mut module,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        // SAFETY: the buffer is zeroed and its last byte is never written.
        let said = unsafe { text_of(log.as_ptr()) };
        self.check("cuModuleLoadDataEx", code).map_err(|fault| {
            let lines: Vec<_> = said.iter().flat_map(|log| log.lines()).collect();
            lines.into_iter().fold(fault, Fault::detail)
        })?;
        Ok(Module(module))
    }

    /// Unloads a module.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn unload_module(&self, module: Module) -> Result<(), Fault> {
        // SAFETY: the handle came from `load_module`, and its owner gives it up here.
        let code = unsafe { (self.calls.module_unload)(module.0) };
        self.check("cuModuleUnload", code)
    }

    /// A kernel of a module.
    ///
    /// # Errors
    /// `Call` where the module has none of that name.
    pub fn function(&self, module: Module, name: &CStr) -> Result<Function, Fault> {
        let mut function: CUfunction = null_mut();
        // SAFETY: writes one handle; the name lives through the call.
        let code =
            unsafe { (self.calls.module_get_function)(&raw mut function, module.0, name.as_ptr()) };
        let found = self.check("cuModuleGetFunction", code);
        found.map_err(|fault| fault.while_doing(format!("looking up kernel {name:?}")))?;
        Ok(Function(function))
    }

    /// Enqueues a launch of a kernel that takes one structure by value.
    ///
    /// `params` holds that structure; the driver copies it before it returns.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn launch(
        &self,
        function: Function,
        grid: (u32, u32),
        block: u32,
        params: &[u64],
        stream: Stream,
    ) -> Result<(), Fault> {
        let mut arguments: [*mut c_void; 1] = [params.as_ptr().cast_mut().cast()];
        // SAFETY: the one argument lives through the call and is only read; its size and what the
        // kernel does with the addresses in it are vouched for by the builder of `params`.
        let code = unsafe {
            (self.calls.launch_kernel)(
                function.0,
                grid.0,
                grid.1,
                1,
                block,
                1,
                1,
                0,
                stream.0,
                arguments.as_mut_ptr(),
                null_mut(),
            )
        };
        self.check("cuLaunchKernel", code)
    }

    /// Whether [`Driver::launch_in_order`] can be early.
    #[must_use]
    pub fn launches_early(&self) -> bool {
        self.calls.launch_kernel_ex.is_some()
    }

    /// As [`Driver::launch`], in one dimension; `early` lets the launch be made ready while the one
    /// before it still runs, which the kernel then has to wait for by itself.
    ///
    /// # Source
    /// CUDA programming guide, "Programmatic Dependent Launch and Synchronization".
    ///
    /// # Errors
    /// `Unsupported` where the driver cannot launch early, `Call` where it fails.
    #[inline]
    pub fn launch_in_order(
        &self,
        function: Function,
        (grid, block): (u32, u32),
        params: &[u64],
        stream: Stream,
        early: bool,
    ) -> Result<(), Fault> {
        if !early {
            return self.launch(function, (grid, 1), block, params, stream);
        }
        let launch = newer("cuLaunchKernelEx", self.calls.launch_kernel_ex)?;
        let mut value = [0; 16];
        value[0] = 1;
        let attribute = LaunchAttribute {
            id: 6,
            padding: 0,
            value,
        };
        let config = LaunchConfig {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            shared_bytes: 0,
            stream: stream.0,
            attributes: &raw const attribute,
            count: 1,
        };
        let mut arguments: [*mut c_void; 1] = [params.as_ptr().cast_mut().cast()];
        // SAFETY: as for `launch`; configuration and attribute live through the call.
        let code = unsafe {
            launch(
                &raw const config,
                function.0,
                arguments.as_mut_ptr(),
                null_mut(),
            )
        };
        self.check("cuLaunchKernelEx", code)
    }
}
