//! What the driver says about the devices that this process can see; it changes nothing.

use super::Device;
use super::Driver;
use super::sys::CuResult;
use super::text_of;
use crate::base::Fault;
use crate::record::DeviceRecord;
use crate::record::LibraryRecord;
use cudarc::driver::sys::CUdevice;
use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::sys::CUuuid;
use std::ffi::c_char;
use std::ffi::c_int;

impl Driver {
    /// What a record says of the driver.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn record(&self) -> Result<LibraryRecord, Fault> {
        let version = self.version()?;
        Ok(LibraryRecord {
            name: "cuda driver".to_owned(),
            path: self.path().to_owned(),
            version: format!("{}.{}", version / 1000, version % 1000 / 10),
            code: Some(version),
            stand_in: self.is_stand_in(),
        })
    }

    /// What a record says of each device that this process can see, by ordinal.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn devices(&self) -> Result<Vec<DeviceRecord>, Fault> {
        (0..self.device_count()?)
            .map(|ordinal| {
                let device = self.device(ordinal)?;
                Ok(DeviceRecord {
                    ordinal,
                    name: self.device_name(device)?,
                    bus_id: self.device_bus_id(device)?,
                    uuid: Some(self.device_uuid(device)?),
                    memory_bytes: Some(self.device_memory(device)?),
                })
            })
            .collect()
    }

    /// How many devices this process can see.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn device_count(&self) -> Result<u32, Fault> {
        let mut count = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.calls.device_get_count)(&raw mut count) };
        self.check("cuDeviceGetCount", code)?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// The visible device with this ordinal.
    ///
    /// # Errors
    /// `Call` where there is none.
    pub fn device(&self, ordinal: u32) -> Result<Device, Fault> {
        let mut device = 0;
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        // SAFETY: writes one handle.
        let code = unsafe { (self.calls.device_get)(&raw mut device, ordinal) };
        self.check("cuDeviceGet", code)?;
        Ok(Device(device))
    }

    /// A device's name.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn device_name(&self, device: Device) -> Result<String, Fault> {
        self.device_text("cuDeviceGetName", self.calls.device_get_name, device)
    }

    /// A device's PCI address, as nccl-tests prints it: `0000:53:00`, without the function.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn device_bus_id(&self, device: Device) -> Result<String, Fault> {
        let call = self.calls.device_get_pci_bus_id;
        let full = self.device_text("cuDeviceGetPCIBusId", call, device)?;
        let address = full.split('.').next().unwrap_or(&full);
        Ok(address.to_ascii_lowercase())
    }

    fn device_text(
        &self,
        name: &'static str,
        call: unsafe extern "C" fn(*mut c_char, c_int, CUdevice) -> CuResult,
        device: Device,
    ) -> Result<String, Fault> {
        let mut buffer: [c_char; 256] = [0; 256];
        // SAFETY: the driver writes at most 255 bytes and a NUL into the 256 that are there.
        let code = unsafe { call(buffer.as_mut_ptr(), 256, device.0) };
        self.check(name, code)?;
        buffer[255] = 0;
        // SAFETY: terminated by the line above at the latest, and ours.
        Ok(unsafe { text_of(buffer.as_ptr()) }.unwrap_or_default())
    }

    /// A device's unique id: `GPU-…`, or `MIG-…` for a slice of one.
    ///
    /// # Source
    /// CUDA driver API, `cuDeviceGetUuid_v2`: gives the slice's own id where the device is one,
    /// while `cuDeviceGetUuid` gives that of the whole GPU.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn device_uuid(&self, device: Device) -> Result<String, Fault> {
        let whole = self.uuid("cuDeviceGetUuid", self.calls.device_get_uuid, device)?;
        let Some(call) = self.calls.device_get_uuid_v2 else {
            return Ok(format!("GPU-{}", uuid_text(whole)));
        };
        let own = self.uuid("cuDeviceGetUuid_v2", call, device)?;
        let kind = if own == whole { "GPU" } else { "MIG" };
        Ok(format!("{kind}-{}", uuid_text(own)))
    }

    fn uuid(
        &self,
        name: &'static str,
        call: unsafe extern "C" fn(*mut CUuuid, CUdevice) -> CuResult,
        device: Device,
    ) -> Result<[c_char; 16], Fault> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: writes the 16 bytes of the structure.
        let code = unsafe { call(&raw mut uuid, device.0) };
        self.check(name, code)?;
        Ok(uuid.bytes)
    }

    /// A device's memory in bytes.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn device_memory(&self, device: Device) -> Result<u64, Fault> {
        let mut bytes = 0usize;
        // SAFETY: writes one size.
        let code = unsafe { (self.calls.device_total_mem)(&raw mut bytes, device.0) };
        self.check("cuDeviceTotalMem", code)?;
        Ok(bytes as u64)
    }

    /// A device's compute capability: 90 is 9.0.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn compute_capability(&self, device: Device) -> Result<u32, Fault> {
        use CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR;
        use CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR;
        Ok(self.attribute(device, MAJOR)? * 10 + self.attribute(device, MINOR)?)
    }

    /// How many multiprocessors a device has.
    ///
    /// # Errors
    /// `Call` where the driver fails.
    pub fn multiprocessors(&self, device: Device) -> Result<u32, Fault> {
        use CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as COUNT;
        self.attribute(device, COUNT)
    }

    fn attribute(&self, device: Device, which: CUdevice_attribute) -> Result<u32, Fault> {
        let mut value = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.calls.device_get_attribute)(&raw mut value, which, device.0) };
        self.check("cuDeviceGetAttribute", code)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
}

/// 16 bytes as `8-4-4-4-12` hexadecimal digits.
fn uuid_text(bytes: [c_char; 16]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{:02x}", byte.to_ne_bytes()[0]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_reads_as_nvidia_smi_prints_it() {
        let bytes: [c_char; 16] = std::array::from_fn(|i| i.to_ne_bytes()[0].cast_signed() - 2);
        assert_eq!(uuid_text(bytes), "feff0001-0203-0405-0607-08090a0b0c0d");
    }
}
