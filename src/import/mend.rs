//! nccl-tests' JSON where it is none: infinities, and files that a killed run left behind.

/// The text as JSON: an infinity or a not-a-number outside of strings becomes `null`, and what a
/// killed run left open is closed behind the last row that is whole.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`: infinities are printed raw, and the file is written as the run
/// goes on.
pub(super) fn mend(text: &str) -> (String, bool) {
    let text = without_infinities(text.trim());
    if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
        return (text, false);
    }
    let closed = close(&text);
    (closed.unwrap_or(text), true)
}

fn without_infinities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let bare = ["-inf", "inf", "-nan", "nan"];
        let word = bare
            .iter()
            .find(|word| !in_string && rest.starts_with(**word));
        let taken = if let Some(word) = word {
            out.push_str("null");
            word.len()
        } else {
            let escaped = in_string && c == '\\';
            in_string ^= c == '"';
            let length = if escaped {
                1 + rest[1..].chars().next().map_or(0, char::len_utf8)
            } else {
                c.len_utf8()
            };
            out.push_str(&rest[..length]);
            length
        };
        rest = &rest[taken..];
    }
    out
}

/// Closes what is open behind the last whole object of `results`; none where there is no such list.
fn close(text: &str) -> Option<String> {
    let key = "\"results\":[";
    let start = text.find(key)? + key.len();
    let end = last_whole_object(&text[start..]);
    Some(format!("{}]}}", &text[..start + end]))
}

/// Where the last object of a list ends that is whole, from behind the list's bracket.
fn last_whole_object(list: &str) -> usize {
    let (mut depth, mut in_string, mut escaped, mut end) = (0u32, false, false, 0);
    for (at, c) in list.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' if !in_string => depth += 1,
            '}' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    end = at + 1;
                }
            }
            ']' if !in_string && depth == 0 => return end,
            _ => {}
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_become_null_but_not_in_strings() {
        let text = r#"{"a":inf,"b":[-inf,nan],"c":"inf \" nan","results":[]}"#;
        let (mended, was_cut) = mend(text);
        assert_eq!(
            mended,
            r#"{"a":null,"b":[null,null],"c":"inf \" nan","results":[]}"#
        );
        assert!(!was_cut);
    }

    #[test]
    fn a_file_cut_anywhere_keeps_its_whole_rows() {
        let whole = r#"{"x":1,"results":[{"a":{"b":1}},{"a":{"b":2}}],"end":"}"}"#;
        let rows = |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text).ok()?;
            value["results"].as_array().map(Vec::len)
        };
        for cut in whole.find('[').unwrap() + 1..whole.len() {
            let (mended, was_cut) = mend(&whole[..cut]);
            assert!(was_cut, "{cut}");
            let expected = whole[..cut].matches("}}").count().min(2);
            assert_eq!(rows(&mended), Some(expected), "{cut} {mended}");
        }
        let (text, was_cut) = mend(r#"{"x":"#);
        assert!(was_cut && rows(&text).is_none());
    }
}
