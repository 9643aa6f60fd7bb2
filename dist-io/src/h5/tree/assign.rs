//! Assignment to all members of a [`Tree`].

use std::collections::BTreeMap;

use dap_protocol::{DistBuffer, ElementType, HostBuffer};
use half::{bf16, f16};

use super::Tree;
use crate::IoError;
use crate::h5::together::same;

impl Tree<'_> {
    /// Assigns to every member the parts of its name, as [`load`](Self::load) gives them, in place: as
    /// [`H5Array::assign`](crate::H5Array::assign), once all of them are known to fit. Collective; equal trees and names.
    ///
    /// # Errors
    /// [`IoError::Members`] when the names are not those of the members, [`IoError::Member`] with what is wrong with the parts of one: nothing
    /// is written then. When writing fails, the members before the one that is named have been written.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_io::{IoError, create, open};
    /// use dist_maps::Distribution;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("run.h5");
    /// let rows = Distribution::over(2).shape([4]).block(0).build()?;
    /// ThreadComm::run(2, |comm| {
    ///     create::<f64>(&path, "E/x", &rows, comm)?;
    ///     create::<i32>(&path, "E/n", &rows, comm)?;
    ///     let e = open(&path, "E", comm)?.tree().expect("a group");
    ///     e.slice(&[(2..).into()])?.fill(7.0)?; // in each member as its type has it
    ///     let halves = [e.slice(&[(..2).into()])?, e.slice(&[(2..).into()])?];
    ///     halves[0].assign(&halves[1].load()?)?;
    ///     let n = e.get("n").and_then(|node| node.array()).expect("a dataset");
    ///     assert_eq!(n.typed::<i32>()?.gather()?.data(), [7, 7, 7, 7]);
    ///     Ok::<_, IoError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn assign<B: HostBuffer>(
        &self,
        parts: &BTreeMap<String, DistBuffer<B>>,
    ) -> Result<(), IoError> {
        let lacks = |names: &mut dyn Iterator<Item = &String>, has: &dyn Fn(&String) -> bool| {
            names.filter(|name| !has(name)).cloned().collect::<Vec<_>>()
        };
        let missing = lacks(&mut self.leaves.keys(), &|name| parts.contains_key(name));
        let unknown = lacks(&mut parts.keys(), &|name| self.leaves.contains_key(name));
        if let Some(first) = self.leaves.values().next() {
            let names = format!("{:?}", parts.keys().collect::<Vec<_>>());
            same(first.handle.comm, &[("names of members", names.as_bytes())])?;
        }
        if !missing.is_empty() || !unknown.is_empty() {
            return Err(IoError::Members { missing, unknown });
        }
        let pairs = || self.leaves.iter().zip(parts.values()); // both are sorted by name
        let checked = pairs().map(|((name, leaf), part)| {
            let checked = leaf.check(part).map_err(|error| member(name, error))?;
            Ok((name, leaf, checked))
        });
        for (name, leaf, checked) in checked.collect::<Result<Vec<_>, IoError>>()? {
            leaf.put(&checked).map_err(|error| member(name, error))?;
        }
        Ok(())
    }

    /// Assigns one value to all elements of every member, each as its type has it: floating-point numbers are rounded, a complex number has
    /// no imaginary part. Collective; equal trees and values.
    ///
    /// # Errors
    /// [`IoError::Member`] with [`IoError::Value`] when the type of one has no such value, 0.5 as an integer for example: nothing is written
    /// then. Those of [`H5Array::fill`](crate::H5Array::fill), of the member that is named.
    pub fn fill(&self, value: f64) -> Result<(), IoError> {
        if let Some(first) = self.leaves.values().next() {
            let text = format!("{value:?}");
            same(first.handle.comm, &[("value", text.as_bytes())])?;
        }
        let bytes = self.leaves.iter().map(|(name, leaf)| {
            let element = leaf.dtype();
            let bytes = bytes_of(value, element).ok_or_else(|| IoError::Value {
                given: format!("{value:?}"),
                element,
            });
            bytes.map_err(|error| member(name, error))
        });
        let bytes = bytes.collect::<Result<Vec<_>, _>>()?;
        for ((name, leaf), bytes) in self.leaves.iter().zip(bytes) {
            let filled = leaf.fill_bytes(&bytes);
            filled.map_err(|error| member(name, error))?;
        }
        Ok(())
    }
}

/// What is wrong with one member.
fn member(name: &str, error: IoError) -> IoError {
    IoError::Member {
        name: name.to_owned(),
        error: Box::new(error),
    }
}

/// A value as an element of a type, as its bytes; `None` where the type has no such value.
fn bytes_of(value: f64, element: ElementType) -> Option<Vec<u8>> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number, which is the nearest where it is too large for any type"
    )]
    let whole = (value.fract() == 0.0).then_some(value as i128);
    // rounded, but not to infinity
    #[expect(clippy::cast_possible_truncation, reason = "rounded")]
    let single = value as f32;
    let rounded = |is_finite: bool| is_finite || !value.is_finite();
    let single = rounded(single.is_finite()).then_some(single);
    macro_rules! integer {
        ($t:ty) => {
            <$t>::try_from(whole?).ok()?.to_ne_bytes().to_vec()
        };
    }
    Some(match element {
        ElementType::Bool => match whole? {
            0 => vec![0],
            1 => vec![1],
            _ => return None,
        },
        ElementType::I8 => integer!(i8),
        ElementType::I16 => integer!(i16),
        ElementType::I32 => integer!(i32),
        ElementType::I64 => integer!(i64),
        ElementType::U8 => integer!(u8),
        ElementType::U16 => integer!(u16),
        ElementType::U32 => integer!(u32),
        ElementType::U64 => integer!(u64),
        ElementType::F16 => {
            let half = f16::from_f64(value);
            rounded(half.is_finite()).then(|| half.to_ne_bytes().to_vec())?
        }
        ElementType::Bf16 => {
            let half = bf16::from_f64(value);
            rounded(half.is_finite()).then(|| half.to_ne_bytes().to_vec())?
        }
        ElementType::F32 => single?.to_ne_bytes().to_vec(),
        ElementType::F64 => value.to_ne_bytes().to_vec(),
        ElementType::Complex32 => [single?.to_ne_bytes(), [0; 4]].concat(),
        ElementType::Complex64 => [value.to_ne_bytes(), [0; 8]].concat(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_every_type() {
        for element in ElementType::ALL {
            let one = bytes_of(1.0, element).unwrap();
            assert_eq!(one.len(), element.size(), "{element}");
        }
        assert_eq!(
            bytes_of(-2.0, ElementType::I16),
            Some((-2_i16).to_ne_bytes().to_vec())
        );
        assert_eq!(
            bytes_of(0.1, ElementType::F32),
            Some(0.1_f32.to_ne_bytes().to_vec())
        );
        let wrong = [
            (0.5, ElementType::I32),
            (-1.0, ElementType::U8),
            (256.0, ElementType::U8),
            (2_f64.powi(63), ElementType::I64),
            (f64::NAN, ElementType::I64),
            (f64::INFINITY, ElementType::U64),
            (2.0, ElementType::Bool),
            (1e300, ElementType::F32),
            (1e6, ElementType::F16),
        ];
        for (value, element) in wrong {
            assert_eq!(bytes_of(value, element), None, "{value} {element}");
        }
        let infinite = bytes_of(f64::NEG_INFINITY, ElementType::F16);
        assert_eq!(infinite, Some(f16::NEG_INFINITY.to_ne_bytes().to_vec()));
    }
}
