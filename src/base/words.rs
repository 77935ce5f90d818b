//! Words for numbers of things.

use std::fmt::Display;

/// `1 host`, `3 hosts`.
pub fn counted<N: Copy + PartialEq + From<u8> + Display>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    let word = if number == N::from(1) { one } else { many };
    format!("{number} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_one() {
        assert_eq!(counted(1u32, "process", "processes"), "1 process");
        for number in [0usize, 2, 11] {
            let many = counted(number, "process", "processes");
            assert_eq!(many, format!("{number} processes"));
        }
    }
}
