//! As much of JSON Schema as `docs/record.schema.json` uses: a whole validator would be a dozen crates.

use serde_json::Value;

/// The words that are understood here; a schema that uses another would not be checked.
const KNOWN: [&str; 18] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "oneOf",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "pattern",
];

/// Words of a schema that are not understood.
pub(crate) fn unknown_words(schema: &Value) -> Vec<String> {
    let Some(words) = schema.as_object() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (word, value) in words {
        match word.as_str() {
            "properties" | "$defs" => {
                let inner = value
                    .as_object()
                    .into_iter()
                    .flat_map(|inner| inner.values());
                found.extend(inner.flat_map(unknown_words));
            }
            "items" | "additionalProperties" => found.extend(unknown_words(value)),
            word if !KNOWN.contains(&word) => found.push(word.to_owned()),
            _ => {}
        }
    }
    found
}

/// In what a value is not as a schema says; empty where it is.
pub(crate) fn complaints(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return check(root, &root["$defs"][name], value, place, found);
    }
    if let Some(forms) = schema["oneOf"].as_array() {
        return one_of(root, forms, value, place, found);
    }
    if !is_of_type(schema, value) {
        let wanted = schema["type"].as_str().unwrap_or("of those types");
        return found.push(format!("{place}: is no {wanted}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        found.push(format!("{place}: is not {}", schema["const"]));
    }
    if let Some(all) = schema["enum"].as_array().filter(|all| !all.contains(value)) {
        found.push(format!(
            "{place}: {} is none of {all:?}",
            value.as_str().unwrap_or("it")
        ));
    }
    bounds(schema, value, place, found);
    if let Some(items) = value.as_array() {
        for (index, item) in items.iter().enumerate() {
            check(
                root,
                &schema["items"],
                item,
                &format!("{place}[{index}]"),
                found,
            );
        }
    }
    if value.is_object() {
        object(root, schema, value, place, found);
    }
}

/// The complaints of the form that comes closest, where none fits.
fn one_of(root: &Value, forms: &[Value], value: &Value, place: &str, found: &mut Vec<String>) {
    let all = forms.iter().map(|form| {
        let mut complaints = Vec::new();
        check(root, form, value, place, &mut complaints);
        complaints
    });
    let mut all: Vec<Vec<String>> = all.collect();
    let n_fitting = all
        .iter()
        .filter(|complaints| complaints.is_empty())
        .count();
    match n_fitting {
        1 => {}
        0 => {
            all.sort_by_key(Vec::len);
            found.push(format!("{place}: fits none of the forms; the closest:"));
            found.append(&mut all[0]);
        }
        _ => found.push(format!("{place}: fits {n_fitting} forms")),
    }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        other => panic!("unknown type {other:?}"),
    };
    match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}

fn bounds(schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let number = |word: &str| schema[word].as_f64();
    if let Some(value) = value.as_f64() {
        if number("minimum").is_some_and(|least| value < least) {
            found.push(format!("{place}: {value} is below {}", schema["minimum"]));
        }
        if number("maximum").is_some_and(|most| value > most) {
            found.push(format!("{place}: {value} is above {}", schema["maximum"]));
        }
    }
    if let Some(items) = value.as_array() {
        let n_items = u32::try_from(items.len()).unwrap();
        let bound = |word: &str| number(word).map(|bound| f64::from(n_items) - bound);
        if bound("minItems").is_some_and(|more| more < 0.0)
            || bound("maxItems").is_some_and(|more| more > 0.0)
        {
            found.push(format!("{place}: has {n_items} items"));
        }
    }
    if let (Some(text), Some(part)) = (value.as_str(), schema["pattern"].as_str()) {
        // the only pattern is a plain letter
        assert!(part.chars().all(char::is_alphanumeric));
        if !text.contains(part) {
            found.push(format!("{place}: {text} has no {part}"));
        }
    }
}

fn object(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let fields = value.as_object().unwrap();
    let below = |name: &str| {
        if place.is_empty() {
            name.to_owned()
        } else {
            format!("{place}.{name}")
        }
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        if !fields.contains_key(name) {
            found.push(format!("{place}: lacks {name}"));
        }
    }
    for (name, field) in fields {
        let place = below(name);
        match (
            schema["properties"].get(name),
            &schema["additionalProperties"],
        ) {
            (Some(schema), _) => check(root, schema, field, &place, found),
            (None, Value::Bool(false)) => found.push(format!("{place}: is not in the schema")),
            (None, Value::Object(_)) => {
                check(root, &schema["additionalProperties"], field, &place, found);
            }
            (None, _) => {}
        }
    }
}
