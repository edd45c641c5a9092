//! Random values that a schema allows, with a preference for the ends of ranges.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};

use super::patterns;
use super::validate::{Schemas, resolved};
use crate::people::in_ms;

/// For texts without a pattern.
const CHARACTERS: &[char] =
    &['a', 'Z', '7', ' ', '"', '\\', '\n', '\0', '\u{7f}', 'é', 'ß', '漢', '\u{301}', '\u{202e}', '😀'];
/// For texts without a maximum length.
const CHARS_MAX: usize = 300;
const ITEMS_MAX: usize = 20;
const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1_000;

/// Existing values, by the names of schemas and fields, so that requests refer to real things.
pub(super) type Known = BTreeMap<String, Vec<Value>>;

pub(super) struct Values<'a> {
    pub(super) schemas: &'a Schemas,
    pub(super) known: &'a Known,
    pub(super) random: &'a mut StdRng,
}

/// An object whose alternatives have been chosen.
#[derive(Default)]
struct Decided {
    fields: BTreeMap<String, Value>,
    required: BTreeSet<String>,
}

impl Values<'_> {
    /// A value for a field with this name.
    pub(super) fn value(&mut self, name: &str, schema: &Value) -> Value {
        if let Some(value) = self.known_for(name, schema) {
            return value;
        }
        let reference = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        if let Some(target) = reference {
            let target_schema = resolved(schema, self.schemas).clone();
            return self.value(target, &target_schema);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.one(values).clone();
        }
        if let (Some(choices), None) = (schema["oneOf"].as_array(), schema.get("properties")) {
            let choice = self.choice(choices);
            return self.value(name, &choice);
        }
        if schema.get("allOf").is_some() || schema.get("properties").is_some() {
            return self.object(schema);
        }
        match self.kind(&schema["type"]).as_str() {
            "null" => Value::Null,
            "boolean" => json!(self.random.random_bool(0.5)),
            "integer" => json!(self.integer(schema)),
            "string" => json!(self.text(schema)),
            "array" => self.array(name, schema),
            "object" => self.object(schema),
            other => panic!("a type {other}: {schema}"),
        }
    }

    /// Usually an existing value.
    fn known_for(&mut self, name: &str, schema: &Value) -> Option<Value> {
        let target = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        let known = self.known.get(name).or_else(|| self.known.get(target?))?;
        (!known.is_empty() && self.random.random_bool(0.85)).then(|| self.one(known).clone())
    }

    /// An object with a random subset of its optional fields.
    fn object(&mut self, schema: &Value) -> Value {
        let mut decided = Decided::default();
        self.decide(schema, &mut decided);
        let mut object = Map::new();
        for (name, field) in &decided.fields {
            let is_cursor = field.to_string().contains("/Cursor\"");
            if decided.required.contains(name) || (!is_cursor && self.random.random_bool(0.6)) {
                object.insert(name.clone(), self.value(name, field));
            }
        }
        Value::Object(object)
    }

    /// Later parts of an `allOf`, and alternatives, narrow the earlier definition of a field.
    fn decide(&mut self, schema: &Value, decided: &mut Decided) {
        let schema = resolved(schema, self.schemas).clone();
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.decide(part, decided);
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            decided.fields.insert(name.clone(), field.clone());
        }
        let required = schema["required"].as_array().into_iter().flatten();
        decided.required.extend(required.map(|name| name.as_str().unwrap().to_owned()));
        if let Some(choices) = schema["oneOf"].as_array() {
            let choice = choices[self.random.random_range(0..choices.len())].clone();
            self.decide(&choice, decided);
        }
    }

    /// Sometimes null.
    fn choice(&mut self, choices: &[Value]) -> Value {
        let is_null = |choice: &&Value| choice["type"] == "null";
        let (null, others): (Vec<_>, Vec<_>) = choices.iter().partition(is_null);
        let from = if others.is_empty() || (!null.is_empty() && self.random.random_bool(0.1)) {
            null
        } else {
            others
        };
        from[self.random.random_range(0..from.len())].clone()
    }

    fn kind(&mut self, kinds: &Value) -> String {
        match kinds {
            Value::Array(kinds) => {
                let others: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
                if others.len() < kinds.len() && self.random.random_bool(0.1) {
                    return "null".to_owned();
                }
                others[self.random.random_range(0..others.len())].as_str().unwrap().to_owned()
            }
            // Any value is valid.
            Value::Null => "integer".to_owned(),
            kind => kind.as_str().unwrap_or_else(|| panic!("no type: {kind}")).to_owned(),
        }
    }

    fn integer(&mut self, schema: &Value) -> i64 {
        let bound = |word: &str| schema[word].as_f64().map(|number| number as i64);
        let (min, max) = (bound("minimum").unwrap_or(i64::MIN), bound("maximum").unwrap_or(i64::MAX));
        match self.random.random_range(0..4) {
            0 => min,
            1 => max,
            2 => self.random.random_range(min..=min.saturating_add(9).min(max)),
            _ => self.random.random_range(min..=max),
        }
    }

    fn text(&mut self, schema: &Value) -> String {
        if let Some(range) = schema.get("x-seconds-from-now") {
            return self.time_ahead(range);
        }
        if schema["format"] == "date-time" {
            return in_ms(self.random.random_range(-YEAR_MS..YEAR_MS)).to_string();
        }
        let bound = |word: &str| schema[word].as_u64().map(|number| number as usize);
        let (min, max) = (bound("minLength").unwrap_or(0), bound("maxLength").unwrap_or(CHARS_MAX));
        let Some(pattern) = schema["pattern"].as_str() else {
            let count = self.count(min, max);
            return (0..count).map(|_| *self.one(CHARACTERS)).collect();
        };
        let hir = patterns::parse(pattern);
        for _ in 0..100 {
            let count = self.count(min, max);
            let text = patterns::sample(&hir, count, self.random);
            if (min..=max).contains(&text.chars().count()) && patterns::matches(&hir, &text) {
                return text;
            }
        }
        panic!("no text for {schema}");
    }

    /// Excludes the first and the last minute, because the clock advances.
    fn time_ahead(&mut self, range: &Value) -> String {
        const SLACK_SECS: i64 = 60;
        let min = range["minimum"].as_i64().unwrap() + SLACK_SECS;
        let max = range["maximum"].as_i64().map_or(i64::from(u32::MAX), |max| max - SLACK_SECS);
        let secs = match self.random.random_range(0..3) {
            0 => min,
            1 => max,
            _ => self.random.random_range(min..=max),
        };
        in_ms(secs * 1_000).to_string()
    }

    fn array(&mut self, name: &str, schema: &Value) -> Value {
        let bound = |word: &str, or: usize| schema[word].as_u64().map_or(or, |number| number as usize);
        let count = self.count(bound("minItems", 0), bound("maxItems", ITEMS_MAX));
        (0..count).map(|_| self.value(name, &schema["items"])).collect()
    }

    /// The minimum, the maximum, a few, or a random number between.
    fn count(&mut self, min: usize, max: usize) -> usize {
        match self.random.random_range(0..8) {
            0 => min,
            1 => max,
            2 => self.random.random_range(min..=max),
            _ => self.random.random_range(min..=max.min(min + 12)),
        }
    }

    fn one<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.random.random_range(0..values.len())]
    }
}
