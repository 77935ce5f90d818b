//! What stands behind the table's rows.

use crate::record::{Footer, MemoryUse, Release};
use crate::report::cells::general;

/// All lines behind the rows. Of a table without a row nothing is good, whatever nccl-tests would say
/// of it.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `writeResultFooter` and `writeMemInfo`.
pub(super) fn closing(footer: &Footer, program: &str, release: Release, has_rows: bool) -> String {
    let wrong = footer.wrong_measurements;
    let is_good = wrong == 0 && has_rows;
    let floor = match footer.bandwidth_floor {
        None => "",
        Some(floor) => verdict(floor.met),
    };
    let concluded = if release >= Release::NAMES_PROGRAM {
        format!("#\n# Collective test concluded: {program}\n")
    } else {
        String::new()
    };
    format!(
        "{}{}{concluded}{}#\n\n",
        line(
            "Out of bounds values",
            &format!("{wrong} {}", verdict(is_good))
        ),
        line(
            "Avg bus bandwidth",
            &format!("{} {floor}", general(footer.average_busbw_gbps))
        ),
        footer.memory.map(memory).unwrap_or_default(),
    )
}

fn line(name: &str, value: &str) -> String {
    format!("# {name:<20} : {value}\n")
}

fn verdict(is_good: bool) -> &'static str {
    if is_good { "OK" } else { "FAILED" }
}

fn memory(used: MemoryUse) -> String {
    let all = used.initialization_bytes + used.user_bytes + used.collective_bytes;
    let [init, user, collective, all] = [
        used.initialization_bytes,
        used.user_bytes,
        used.collective_bytes,
        all,
    ]
    .map(amount);
    let text = format!(
        "Initialization {init} | User-Allocated {user} | Collective {collective} | Total  {all}"
    );
    line("GPU memory usage", &text)
}

/// Bytes with three digits and a unit, in powers of 1024.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `getMemString`.
#[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
fn amount(bytes: i64) -> String {
    let bytes = bytes as f64;
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    let unit = units
        .into_iter()
        .map(|(unit, power)| (unit, f64::from(1u32 << power)))
        .find(|(_, size)| bytes.abs() >= *size);
    let (unit, size) = unit.unwrap_or(("B", 1.0));
    let value = bytes / size;
    let decimals = match value.abs() {
        small if small < 10.0 => 2,
        middle if middle < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits_and_a_unit() {
        for (bytes, text) in [
            (0, "0.00 B"),
            (1023, "1023 B"),
            (1024, "1.00 KB"),
            (20 << 20, "20.0 MB"),
            (376 << 20, "376 MB"),
            (-3 << 20, "-3.00 MB"),
            (1_288_490_189, "1.20 GB"),
        ] {
            assert_eq!(amount(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn the_line_about_memory_is_nccl_tests() {
        let used = MemoryUse {
            initialization_bytes: 420 << 20,
            user_bytes: 20 << 20,
            collective_bytes: 376 << 20,
        };
        assert_eq!(
            memory(used),
            "# GPU memory usage     : Initialization 420 MB | User-Allocated 20.0 MB | Collective 376 MB | Total  816 MB\n"
        );
    }

    #[test]
    fn a_table_without_a_row_is_not_good() {
        let text = closing(&Footer::default(), "x_perf", Release::NEWEST, false);
        assert!(
            text.starts_with("# Out of bounds values : 0 FAILED\n"),
            "{text}"
        );
    }
}
