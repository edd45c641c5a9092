//! A validator for JSON Schema 2020-12, for the keywords that the documents use.

use godwit_client::protocol::Timestamp;
use serde_json::{Map, Value};

use super::patterns;

/// Keywords that do not restrict values.
const SILENT: &[&str] = &["description", "title", "example", "examples", "format", "default"];

pub(super) type Schemas = Map<String, Value>;

/// The schema behind a reference.
pub(super) fn resolved<'a>(schema: &'a Value, schemas: &'a Schemas) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => {
            let name = reference.rsplit('/').next().unwrap();
            schemas.get(name).unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
        None => schema,
    }
}

/// The problem of a value, if any.
pub(super) fn check(schema: &Value, value: &Value, schemas: &Schemas) -> Result<(), String> {
    let Some(words) = schema.as_object() else { return Err(format!("no schema: {schema}")) };
    for (word, says) in words {
        holds(word, says, schema, value, schemas)?;
    }
    Ok(())
}

fn holds(word: &str, says: &Value, schema: &Value, value: &Value, schemas: &Schemas) -> Result<(), String> {
    let wrong = || Err(format!("{} is not {word} {says}", shortened(value)));
    let fits = |fits: bool| if fits { Ok(()) } else { wrong() };
    match word {
        "$ref" => check(resolved(schema, schemas), value, schemas),
        "type" => match says {
            Value::Array(types) => fits(types.iter().any(|kind| is_of(kind, value))),
            kind => fits(is_of(kind, value)),
        },
        "const" => fits(value == says),
        "enum" => fits(says.as_array().unwrap().contains(value)),
        "allOf" => says.as_array().unwrap().iter().try_for_each(|part| check(part, value, schemas)),
        "anyOf" => fits(says.as_array().unwrap().iter().any(|one| check(one, value, schemas).is_ok())),
        "oneOf" => one_of(says.as_array().unwrap(), value, schemas),
        "properties" => {
            says.as_object().unwrap().iter().try_for_each(|(name, field)| match value.get(name) {
                Some(inner) => check(field, inner, schemas).map_err(|wrong| format!("{name}: {wrong}")),
                None => Ok(()),
            })
        }
        "required" => {
            says.as_array().unwrap().iter().try_for_each(|name| match value.get(name.as_str().unwrap()) {
                None if value.is_object() => Err(format!("{name} is missing in {}", shortened(value))),
                _ => Ok(()),
            })
        }
        "additionalProperties" if *says == Value::Bool(false) => {
            let known = schema["properties"].as_object();
            let unknown = value
                .as_object()
                .into_iter()
                .flatten()
                .find(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)));
            unknown.map_or(Ok(()), |(name, _)| Err(format!("{name} is unknown")))
        }
        "items" => value.as_array().into_iter().flatten().try_for_each(|item| check(says, item, schemas)),
        "minItems" => fits(value.as_array().is_none_or(|items| items.len() as u64 >= says.as_u64().unwrap())),
        "maxItems" => fits(value.as_array().is_none_or(|items| items.len() as u64 <= says.as_u64().unwrap())),
        "minLength" => {
            fits(value.as_str().is_none_or(|text| text.chars().count() as u64 >= says.as_u64().unwrap()))
        }
        "maxLength" => {
            fits(value.as_str().is_none_or(|text| text.chars().count() as u64 <= says.as_u64().unwrap()))
        }
        "pattern" => fits(
            value
                .as_str()
                .is_none_or(|text| patterns::matches(&patterns::parse(says.as_str().unwrap()), text)),
        ),
        "minimum" => fits(value.as_f64().is_none_or(|number| number >= says.as_f64().unwrap())),
        "maximum" => fits(value.as_f64().is_none_or(|number| number <= says.as_f64().unwrap())),
        _ if SILENT.contains(&word) || word.starts_with("x-") => format_holds(schema, value),
        _ => panic!("{word} means nothing to this test: {schema}"),
    }
}

fn one_of(choices: &[Value], value: &Value, schemas: &Schemas) -> Result<(), String> {
    let outcomes: Vec<_> = choices.iter().map(|choice| check(choice, value, schemas)).collect();
    match outcomes.iter().filter(|outcome| outcome.is_ok()).count() {
        1 => Ok(()),
        0 => {
            let why: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
            Err(format!("{} is none of them: {}", shortened(value), why.join("; ")))
        }
        many => Err(format!("{} is {many} of them", shortened(value))),
    }
}

fn format_holds(schema: &Value, value: &Value) -> Result<(), String> {
    match (schema["format"].as_str(), value.as_str()) {
        (Some("date-time"), Some(text)) if text.parse::<Timestamp>().is_err() => {
            Err(format!("{text} is no time"))
        }
        _ => Ok(()),
    }
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a type {other}"),
    }
}

pub(super) fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
