//! [`Reader`]: the entries of one dictionary, taken one by one.

use super::{Repair, Strictness};
use crate::error::excerpt;
use crate::literal::Value;
use crate::{Code, Violation};

/// Takes values out of a dictionary and notes what is wrong with them.
pub(super) struct Reader<'a> {
    axis: Option<usize>,
    strictness: Strictness,
    dict: &'a Value,
    pub(super) violations: Vec<Violation>,
    pub(super) repairs: Vec<Repair>,
}

/// Integers up to here are exact as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl<'a> Reader<'a> {
    pub(super) fn new(axis: Option<usize>, dict: &'a Value, strictness: Strictness) -> Self {
        Self {
            axis,
            strictness,
            dict,
            violations: Vec::new(),
            repairs: Vec::new(),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.dict.get(key)
    }

    pub(super) fn violate(&mut self, code: Code, key: &str, given: String, allowed: &str) {
        let mut violation = Violation::new(code, given, allowed).key(key);
        violation.axis = self.axis;
        self.violations.push(violation);
    }

    /// Notes a repair, whatever the strictness.
    pub(super) fn repair(&mut self, code: Code, key: &str, given: String, read_as: String) {
        self.repairs.push(Repair {
            code,
            axis: self.axis,
            rank: None,
            key: Some(key.to_owned()),
            given,
            read_as,
        });
    }

    /// Lenient: a repair, and true. Strict: a violation, and false.
    pub(super) fn bend(
        &mut self,
        code: Code,
        key: &str,
        given: &Value,
        allowed: &str,
        read_as: &str,
    ) -> bool {
        let given = shown(given);
        match self.strictness {
            Strictness::Strict => self.violate(code, key, given, allowed),
            Strictness::Lenient => self.repair(code, key, given, read_as.to_owned()),
        }
        self.strictness == Strictness::Lenient
    }

    /// An integer that must be there.
    pub(super) fn required(&mut self, key: &str) -> Option<i128> {
        if let Some(value) = self.get(key) {
            return self.integer(key, value);
        }
        self.missing(key, "an integer");
        None
    }

    pub(super) fn missing(&mut self, key: &str, allowed: &str) {
        self.violate(Code::C1, key, "missing".to_owned(), allowed);
    }

    /// An integer; a boolean and a whole float are taken for one leniently.
    pub(super) fn integer(&mut self, key: &str, value: &Value) -> Option<i128> {
        let near = match *value {
            Value::Int(n) => return Some(n),
            Value::Bool(b) => i128::from(b),
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            Value::Float(x) if x.fract() == 0.0 && x.abs() <= EXACT => x as i128,
            _ => {
                self.violate(Code::C2, key, shown(value), "an integer");
                return None;
            }
        };
        self.bend(Code::C2, key, value, "an integer", &near.to_string())
            .then_some(near)
    }

    /// A boolean, `default` where it is missing; 0 and 1 are taken for one leniently.
    pub(super) fn boolean(&mut self, key: &str, default: bool) -> Option<bool> {
        let near = match self.get(key) {
            None => return Some(default),
            Some(Value::Bool(b)) => return Some(*b),
            Some(Value::Int(0)) => false,
            Some(Value::Int(1)) => true,
            Some(value) => {
                self.violate(Code::C2, key, shown(value), "True or False");
                return None;
            }
        };
        let read_as = if near { "True" } else { "False" };
        self.bend(
            Code::C2,
            key,
            &Value::Int(near.into()),
            "True or False",
            read_as,
        )
        .then_some(near)
    }

    /// A string; ASCII bytes are taken for one leniently.
    pub(super) fn string(&mut self, key: &str, value: &'a Value) -> Option<&'a str> {
        match value {
            Value::Str(text) => return Some(text),
            Value::Bytes(bytes) if bytes.is_ascii() => {
                if let Ok(text) = str::from_utf8(bytes) {
                    let near = Value::from(text).to_string();
                    return self
                        .bend(Code::C2, key, value, "a string", &near)
                        .then_some(text);
                }
            }
            _ => {}
        }
        self.violate(Code::C2, key, shown(value), "a string");
        None
    }
}

/// A value as it stands in a message: the start of its text, and no more work than that.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::List(items) | Value::Tuple(items) if items.len() > 8 => {
            format!("a {} of {} elements", value.type_name(), items.len())
        }
        Value::Dict(entries) if entries.len() > 8 => format!("a dict of {} keys", entries.len()),
        Value::Str(text) if text.len() > 80 => excerpt(text),
        _ => excerpt(&value.to_string()),
    }
}
