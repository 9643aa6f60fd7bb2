//! A dictionary as a [`Value`], with the keys as the protocol spells them.

use super::{DimDict, Dist, Padding, Spelling};
use crate::literal::Value;

impl DimDict {
    /// The dictionary as a value, in its one canonical form: equal dictionaries give equal values.
    ///
    /// All required keys are there, also where `{}` was read. Optional ones are where they say
    /// something: `padding` when there is some, `periodic` and `one_to_one` when true, `block_size`
    /// when not 1. `indices` is a tuple.
    ///
    /// ```
    /// use dap_protocol::DimData;
    /// use dap_protocol::literal::parse;
    /// let read = DimData::from_value(&parse("({},)")?, Some(&[7]))?;
    /// let text = read[0].to_value().to_string();
    /// assert_eq!(text, "{'dist_type': 'b', 'proc_grid_rank': 0, 'proc_grid_size': 1, 'size': 7, 'start': 0, 'stop': 7}");
    /// assert_eq!(read[0].to_value_as_read().to_string(), "{}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.spelled_by(Spelling::default())
    }

    /// The dictionary as a value, spelled as it was read: with the optional keys that it had then,
    /// `indices` as a list where that was one, `{}` where that was all. What was not read is in the
    /// canonical form of [`DimDict::to_value`].
    #[must_use]
    pub fn to_value_as_read(&self) -> Value {
        self.spelled_by(self.spelling)
    }

    fn spelled_by(&self, spelling: Spelling) -> Value {
        let (bare, spelled) = (self.is_bare_whole(), |choice| spelling.has(choice));
        let mut entries: Vec<(String, Value)> = Vec::new();
        if bare && spelled(Spelling::EMPTY) {
            return Value::Dict(entries);
        }
        let mut add = |key: &str, value: Value| entries.push((key.to_owned(), value));
        add("dist_type", self.dist_type().into());
        add("size", self.size.into());
        add("proc_grid_size", count(self.grid_size));
        add("proc_grid_rank", count(self.grid_rank));
        match &self.dist {
            Dist::Block {
                start,
                stop,
                padding,
                periodic,
            } => {
                add("start", (*start).into());
                add("stop", (*stop).into());
                if !padding.is_none() || spelled(Spelling::PADDING) {
                    let Padding { lower, upper } = *padding;
                    add("padding", Value::Tuple(vec![lower.into(), upper.into()]));
                }
                if *periodic || spelled(Spelling::PERIODIC) {
                    add("periodic", (*periodic).into());
                }
            }
            Dist::Cyclic { start, block_size } => {
                add("start", (*start).into());
                if *block_size != 1 || spelled(Spelling::BLOCK_SIZE) {
                    add("block_size", (*block_size).into());
                }
            }
            Dist::Unstructured {
                indices,
                one_to_one,
            } => {
                let items = indices.iter().map(|&i| i.into()).collect();
                let list = spelled(Spelling::INDEX_LIST);
                add(
                    "indices",
                    if list {
                        Value::List(items)
                    } else {
                        Value::Tuple(items)
                    },
                );
                if *one_to_one || spelled(Spelling::ONE_TO_ONE) {
                    add("one_to_one", (*one_to_one).into());
                }
            }
        }
        let extra = self.extra.iter().map(|(k, v)| (k.clone(), v.clone()));
        entries.extend(extra);
        Value::Dict(entries)
    }

    /// Whether `{}` says all of it.
    fn is_bare_whole(&self) -> bool {
        let whole = Dist::Block {
            start: 0,
            stop: self.size,
            padding: Padding::default(),
            periodic: false,
        };
        self.grid_size == 1 && self.dist == whole && self.extra.is_empty()
    }
}

/// Whether a key says something in a dictionary of this `dist_type`. `padding` and `periodic` do
/// everywhere: that a dimension is a block.
pub(crate) fn is_reserved(dist_type: &str, key: &str) -> bool {
    let own: &[&str] = match dist_type {
        "b" => &["start", "stop"],
        "c" => &["start", "block_size"],
        _ => &["indices", "one_to_one"],
    };
    let common = [
        "dist_type",
        "size",
        "proc_grid_size",
        "proc_grid_rank",
        "padding",
        "periodic",
    ];
    common.contains(&key) || own.contains(&key)
}

fn count(n: usize) -> Value {
    Value::Int(i128::try_from(n).unwrap_or(i128::MAX))
}
