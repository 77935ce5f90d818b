//! Source text as the tidy rules see it: comments and literals blanked out, cut into words, with
//! the extent of every function. It is a scanner and not a parser: enough for Rust and CUDA C++
//! that a compiler has accepted.

/// A word or a sign of the code, and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The same text with every comment, string and character literal replaced by blanks; line ends stay.
pub(crate) fn blanked(text: &str) -> String {
    let source: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < source.len() {
        let end = literal_end(&source, at).unwrap_or(at);
        if end == at {
            code.push(source[at]);
            at += 1;
            continue;
        }
        code.extend(
            source[at..end]
                .iter()
                .map(|&c| if c == '\n' { '\n' } else { ' ' }),
        );
        at = end;
    }
    code
}

/// Where the comment or literal that begins at `at` ends, if one begins there.
fn literal_end(source: &[char], at: usize) -> Option<usize> {
    let next = source.get(at + 1).copied();
    match (source[at], next) {
        ('/', Some('/')) => Some(find(source, at, "\n")),
        ('/', Some('*')) => Some(block_comment_end(source, at)),
        ('"', _) => Some(quoted_end(source, at)),
        ('r', Some('"' | '#')) if !is_word_before(source, at) => raw_string_end(source, at),
        ('\'', _) => character_end(source, at),
        _ => None,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a word runs up to `at`; a lone `b` or `c` there is a string's prefix and no word.
fn is_word_before(source: &[char], at: usize) -> bool {
    let is_word_at = |index: Option<usize>| index.is_some_and(|i| is_word(source[i]));
    match at.checked_sub(1) {
        Some(before) if matches!(source[before], 'b' | 'c') => is_word_at(before.checked_sub(1)),
        before => is_word_at(before),
    }
}

fn find(source: &[char], from: usize, what: &str) -> usize {
    let what: Vec<char> = what.chars().collect();
    (from..source.len())
        .find(|&i| source[i..].starts_with(&what))
        .unwrap_or(source.len())
}

/// Rust's block comments nest; those of C++ do not, and the difference never mattered here.
fn block_comment_end(source: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i < source.len() {
        match source[i..] {
            ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
            ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    i
}

fn quoted_end(source: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < source.len() && source[i] != '"' {
        i += if source[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(source.len())
}

fn raw_string_end(source: &[char], at: usize) -> Option<usize> {
    let hashes = source[at + 1..].iter().take_while(|&&c| c == '#').count();
    if source.get(at + 1 + hashes) != Some(&'"') {
        return None;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let from = at + hashes + 2;
    Some((find(source, from, &close) + close.len()).min(source.len()))
}

/// `'x'` and `'\n'` are literals; `'a` is a lifetime, and `1'000` a number of C++.
fn character_end(source: &[char], at: usize) -> Option<usize> {
    if at > 0 && source[at - 1].is_ascii_digit() {
        return None;
    }
    match source[at + 1..] {
        ['\\', _, ..] => Some((find(source, at + 3, "'") + 1).min(source.len())),
        [_, '\'', ..] => Some(at + 3),
        _ => None,
    }
}

/// The words and signs of blanked code; `::` is one sign.
pub(crate) fn words(code: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let line = index + 1;
        let mut open = false;
        let mut signs = text.chars().peekable();
        while let Some(c) = signs.next() {
            if is_word(c) && open {
                if let Some(last) = found.last_mut() {
                    last.text.push(c);
                }
                continue;
            }
            open = is_word(c);
            let pair = c == ':' && signs.next_if_eq(&':').is_some();
            if !c.is_whitespace() {
                let text = if pair { "::".to_owned() } else { c.to_string() };
                found.push(Word { text, line });
            }
        }
    }
    found
}

/// A function by name, and its first and last line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Every function of Rust that has a body.
pub(crate) fn rust_functions(words: &[Word]) -> Vec<Function> {
    let starts = words
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0].text == "fn" && pair[1].text != "(");
    starts
        .filter_map(|(at, pair)| {
            let open = body_start(words, at)?;
            Some(Function {
                name: pair[1].text.clone(),
                first: pair[0].line,
                last: words[closing(words, open)].line,
            })
        })
        .collect()
}

/// Every function of C++: an outermost block that follows a closing parenthesis.
pub(crate) fn cxx_functions(words: &[Word]) -> Vec<Function> {
    let mut found = Vec::new();
    let mut at = 1;
    while at < words.len() {
        if words[at].text != "{" || words[at - 1].text != ")" {
            at += 1;
            continue;
        }
        let close = closing(words, at);
        let name = words[..at].iter().rposition(|word| word.text == "(");
        let name = name.and_then(|i| i.checked_sub(1)).unwrap_or(0);
        found.push(Function {
            name: words[name].text.clone(),
            first: words[name].line,
            last: words[close].line,
        });
        at = close + 1;
    }
    found
}

/// The brace that opens the body of the function that starts at `at`, unless it has none.
fn body_start(words: &[Word], at: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, word) in words.iter().enumerate().skip(at) {
        match word.text.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            ";" if depth == 0 => return None,
            "{" if depth == 0 => return Some(i),
            _ => {}
        }
    }
    None
}

/// The brace that closes the one at `open`.
pub(crate) fn closing(words: &[Word], open: usize) -> usize {
    let mut depth = 0;
    for (i, word) in words.iter().enumerate().skip(open) {
        match word.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    words.len() - 1
}
