//! [`Dist`]: a distribution as text, and the other values of the command line.
//!
//! ```text
//! DIST = AXIS { "," AXIS }                          one for each dimension; missing ones at the end are not distributed
//! AXIS = "n" | BLOCK [ PAD ] [ "p" ] | DEALT
//! BLOCK = "b" | "be" | "bf" | "b@" CUT { ":" CUT }   ceil, even, floor; blocks that end where it says
//! PAD = "+" N                                        elements of the neighbours stored on both sides of each block
//! DEALT = "c" | "c:" N | "bc:" N                     single elements or blocks of N, in turn; the colon may be left out
//! ```

use std::str::FromStr;

use dap_protocol::ElementType;
use dist_maps::Distribution;

use super::error::CliError;

/// How each dimension is distributed; the shape and the ranks are said elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dist(Vec<Axis>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Axis {
    kind: Kind,
    padding: Option<u64>,
    periodic: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Ceil,
    Even,
    Floor,
    Cuts(Vec<u64>),
    Dealt(u64),
}

/// A text that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("axis {axis}: {given:?}, allowed: {allowed}")]
pub(super) struct DistSyntax {
    axis: usize,
    given: String,
    allowed: &'static str,
}

const KINDS: &str = "n, b, be, bf, b@CUT:CUT, c, c:N; behind a b also +N and p";

impl FromStr for Dist {
    type Err = DistSyntax;

    fn from_str(text: &str) -> Result<Self, DistSyntax> {
        let axes = text.split(',').enumerate();
        let axes = axes.map(|(axis, text)| {
            let given = text.trim();
            Axis::parse(given).map_err(|allowed| DistSyntax {
                axis,
                given: given.chars().take(40).collect(),
                allowed,
            })
        });
        Ok(Self(axes.collect::<Result<_, _>>()?))
    }
}

impl Axis {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (text, periodic) = match text.strip_suffix('p') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (kind, padding) = match text.split_once('+') {
            Some((kind, padding)) => {
                let width = number(padding).ok_or("padding of +N elements")?;
                (kind, Some(width))
            }
            None => (text, None),
        };
        let kind = Kind::parse(kind)?;
        let block = !matches!(kind, Kind::Whole | Kind::Dealt(_));
        if (periodic || padding.is_some()) && !block {
            return Err("padding and p behind b, be, bf or b@CUT");
        }
        Ok(Self {
            kind,
            padding,
            periodic,
        })
    }
}

impl Kind {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(cuts) = text.strip_prefix("b@") {
            let cuts: Option<Vec<u64>> = cuts.split(':').map(number).collect();
            return cuts
                .map(Self::Cuts)
                .ok_or("b@CUT:CUT with numbers of elements");
        }
        let block_size = |text: &str| {
            let text = text.strip_prefix(':').unwrap_or(text);
            let size = number(text).filter(|&size| size > 0);
            size.map(Self::Dealt)
                .ok_or("a block size of 1 or more, as in c:64")
        };
        match text {
            "n" => Ok(Self::Whole),
            "b" => Ok(Self::Ceil),
            "be" => Ok(Self::Even),
            "bf" => Ok(Self::Floor),
            "c" => Ok(Self::Dealt(1)),
            "u" => Err("no lists of indices: those are read from files only"),
            _ => match text.strip_prefix("bc").or(text.strip_prefix('c')) {
                Some(rest) => block_size(rest),
                None => Err(KINDS),
            },
        }
    }
}

/// Digits alone: what `u64` parses besides, a plus, would be padding here.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

impl Dist {
    /// The distribution of an array of this shape. Without a number of ranks, there are as many as the grid has places; without
    /// a grid, the ranks are split among the distributed dimensions.
    pub(super) fn build(
        &self,
        shape: &[u64],
        grid: Option<&Extents>,
        ranks: Option<usize>,
    ) -> Result<Distribution, CliError> {
        if self.0.len() > shape.len() {
            // a scalar has no dimension to speak of, and a text has one axis at least
            let nothing = shape.is_empty() && self.0.iter().all(|axis| axis.kind == Kind::Whole);
            if !nothing {
                return Err(CliError::Dimensions {
                    given: self.0.len(),
                    allowed: shape.len(),
                });
            }
        }
        let grid = grid.map(Extents::to_usize);
        let product = |extents: &[usize]| extents.iter().copied().fold(1, usize::saturating_mul);
        let cuts = self.0.iter().filter_map(|axis| match &axis.kind {
            Kind::Cuts(cuts) => Some(cuts.len() + 1),
            _ => None,
        });
        let cuts: Vec<usize> = cuts.collect();
        let ranks = ranks.unwrap_or_else(|| product(grid.as_ref().unwrap_or(&cuts)));
        let mut builder = Distribution::over(ranks).shape(shape);
        for (number, (axis, &size)) in self.0.iter().zip(shape).enumerate() {
            builder = match &axis.kind {
                Kind::Whole => builder.whole(number),
                Kind::Ceil => builder.block(number),
                Kind::Even => builder.block_balanced(number),
                Kind::Floor => builder.block_floor(number),
                Kind::Cuts(cuts) => builder.block_bounds(number, bounds(number, cuts, size)?),
                Kind::Dealt(size) => builder.block_cyclic(number, *size),
            };
            if let Some(width) = axis.padding {
                builder = builder.padding_of(number, width, width);
            }
            if axis.periodic {
                builder = builder.periodic(number);
            }
        }
        if let Some(grid) = grid {
            builder = builder.grid(grid);
        }
        Ok(builder.build()?)
    }
}

/// The bounds of blocks that end at each cut.
fn bounds(axis: usize, cuts: &[u64], size: u64) -> Result<Vec<u64>, CliError> {
    let mut bounds = vec![0];
    for &cut in cuts {
        if cut > size || Some(&cut) < bounds.last() {
            return Err(CliError::Cut {
                axis,
                given: cut,
                allowed: size,
            });
        }
        bounds.push(cut);
    }
    bounds.push(size);
    Ok(bounds)
}

/// Numbers, one for each dimension: `8x8` or `8,8`; of a shape also `scalar`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extents(Vec<u64>);

impl Extents {
    pub(super) fn values(&self) -> &[u64] {
        &self.0
    }

    pub(super) fn to_usize(&self) -> Vec<usize> {
        let fit = |&n: &u64| usize::try_from(n).unwrap_or(usize::MAX);
        self.0.iter().map(fit).collect()
    }
}

impl FromStr for Extents {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text == "scalar" {
            return Ok(Self(Vec::new()));
        }
        let extents: Option<Vec<u64>> = text.split(['x', ',']).map(|n| number(n.trim())).collect();
        extents
            .map(Self)
            .ok_or("allowed: numbers with x or a comma between, as in 8x8")
    }
}

/// A number of bytes: `65536`, `64MiB` or `64M` (of 1024), `64MB` (of 1000).
pub(super) fn bytes(text: &str) -> Result<u64, &'static str> {
    const ALLOWED: &str = "allowed: 64 KiB or more, as in 65536, 64MiB or 1GiB";
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit = unit.trim();
    let (letter, base) = match unit.strip_suffix('B') {
        None => (unit, 1024_u64),
        Some(rest) => match rest.strip_suffix('i') {
            Some(letter) => (letter, 1024),
            None => (rest, 1000),
        },
    };
    let power = match letter {
        "" if !unit.ends_with("iB") => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err(ALLOWED),
    };
    let bytes = number(digits).and_then(|n| n.checked_mul(base.pow(power)));
    bytes.filter(|&bytes| bytes >= 1 << 16).ok_or(ALLOWED)
}

/// An element type by `NumPy`'s name or by the one that `dap show` prints. (`NumPy`'s codes would be ambiguous: its `i8` has 64 bits.)
pub(super) fn element(text: &str) -> Result<ElementType, &'static str> {
    let named = |element: &ElementType| element.to_string() == text || numpys(*element) == text;
    let found = ElementType::ALL.into_iter().find(named);
    found.ok_or("allowed: bool, i8 to i64, u8 to u64, f16, f32, f64, or a name of NumPy, as in float64 or complex128")
}

/// `NumPy`'s name.
fn numpys(element: ElementType) -> &'static str {
    match element {
        ElementType::Bool => "bool",
        ElementType::I8 => "int8",
        ElementType::I16 => "int16",
        ElementType::I32 => "int32",
        ElementType::I64 => "int64",
        ElementType::U8 => "uint8",
        ElementType::U16 => "uint16",
        ElementType::U32 => "uint32",
        ElementType::U64 => "uint64",
        ElementType::F16 => "float16",
        ElementType::Bf16 => "bfloat16",
        ElementType::F32 => "float32",
        ElementType::F64 => "float64",
        ElementType::Complex32 => "complex64",
        ElementType::Complex64 => "complex128",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dist_maps::AxisDist;

    fn axes(text: &str, shape: &[u64], grid: &str) -> Vec<AxisDist> {
        let dist: Dist = text.parse().unwrap();
        let grid: Extents = grid.parse().unwrap();
        let d = dist.build(shape, Some(&grid), None).unwrap();
        d.axes().to_vec()
    }

    #[test]
    fn every_kind_has_a_letter() {
        let found = axes("b,be,bf,n", &[10, 10, 10, 10], "4x4x4x1");
        let expected = [
            AxisDist::block(10, 4),
            AxisDist::block_balanced(10, 4),
            AxisDist::block_floor(10, 4),
            AxisDist::whole(10),
        ];
        assert_eq!(found, expected.map(Result::unwrap));
        assert_eq!(
            axes("b@3:7", &[10], "3"),
            [AxisDist::block_bounds([0, 3, 7, 10].as_slice()).unwrap()]
        );
        assert_eq!(axes("c", &[9], "2"), [AxisDist::cyclic(9, 2, 1).unwrap()]);
        for text in ["c64", "c:64", "bc64", "bc:64"] {
            let expected = [AxisDist::cyclic(900, 2, 64).unwrap()];
            assert_eq!(axes(text, &[900], "2"), expected, "{text}");
        }
    }

    #[test]
    fn blocks_have_padding_and_may_wrap() {
        let plain = AxisDist::block(12, 3).unwrap();
        let padded = plain.clone().with_padding(1, 1).unwrap();
        assert_eq!(axes("b+1", &[12], "3"), std::slice::from_ref(&padded));
        let ring = padded.with_boundary(1, 1).unwrap().with_periodic(true);
        assert_eq!(axes("b+1p", &[12], "3"), [ring.unwrap()]);
        assert_eq!(axes("bp", &[12], "3"), [plain.with_periodic(true).unwrap()]);
    }

    #[test]
    fn missing_axes_are_whole_and_ranks_are_split() {
        let dist: Dist = "b".parse().unwrap();
        let d = dist.build(&[8, 8], None, Some(4)).unwrap();
        assert_eq!(d.grid().shape(), [4, 1]);
        let dist: Dist = "b,b".parse().unwrap();
        let d = dist.build(&[8, 8], None, Some(4)).unwrap();
        assert_eq!(d.grid().shape(), [2, 2]);
        assert_eq!(dist.build(&[8, 8], None, None).unwrap().ranks(), 1);
        let cut: Dist = "b@2:4,n".parse().unwrap();
        assert_eq!(cut.build(&[8, 8], None, None).unwrap().ranks(), 3);
        let whole: Dist = "n".parse().unwrap();
        assert_eq!(whole.build(&[], None, None).unwrap().ndim(), 0);
    }

    #[test]
    fn what_is_none_is_named_with_its_axis() {
        for (text, axis, allowed) in [
            ("x", 0, KINDS),
            ("", 0, KINDS),
            ("b,,b", 1, KINDS),
            ("b,c:0", 1, "a block size of 1 or more, as in c:64"),
            ("bc", 0, "a block size of 1 or more, as in c:64"),
            ("c:+5", 0, "a block size of 1 or more, as in c:64"),
            ("c:3+5", 0, "padding and p behind b, be, bf or b@CUT"),
            ("n,c+1", 1, "padding and p behind b, be, bf or b@CUT"),
            ("np", 0, "padding and p behind b, be, bf or b@CUT"),
            ("b+", 0, "padding of +N elements"),
            ("b+1:2", 0, "padding of +N elements"),
            ("b@", 0, "b@CUT:CUT with numbers of elements"),
            (
                "u",
                0,
                "no lists of indices: those are read from files only",
            ),
        ] {
            let e = text.parse::<Dist>().unwrap_err();
            assert_eq!((e.axis, e.allowed), (axis, allowed), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_the_array_is_an_error() {
        let build = |text: &str, grid: &str| {
            let dist: Dist = text.parse().unwrap();
            let grid: Extents = grid.parse().unwrap();
            dist.build(&[8, 8], Some(&grid), None)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            build("b,b,b", "1x1x1"),
            "--dist describes 3 dimensions, the array has 2"
        );
        assert_eq!(
            build("b@9", "2x1"),
            "axis 0: the blocks end at 9, allowed: at most 8, rising"
        );
        assert_eq!(
            build("n,b@5:3", "1x3"),
            "axis 1: the blocks end at 3, allowed: at most 8, rising"
        );
        assert!(build("n,b", "2x1").contains("axis 0"));
    }

    #[test]
    fn numbers_of_bytes() {
        assert_eq!(bytes("65536"), Ok(65536));
        assert_eq!(bytes("64MiB"), Ok(64 << 20));
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("64MB"), Ok(64_000_000));
        assert_eq!(bytes("1 GiB"), Ok(1 << 30));
        assert_eq!(bytes("70000B"), Ok(70_000));
        for wrong in ["", "MiB", "1", "64X", "-1M", "99999999999999T", "70000iB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn element_types_by_two_names() {
        for name in ["f64", "float64"] {
            assert_eq!(element(name), Ok(ElementType::F64));
        }
        assert_eq!(element("i8"), Ok(ElementType::I8));
        assert_eq!(element("complex64"), Ok(ElementType::Complex32));
        assert!(element("object").is_err());
    }
}
