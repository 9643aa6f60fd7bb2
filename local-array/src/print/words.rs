//! [`Printed`]: the elements that are shown, each as a word of the width that all need.

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::PrintOptions;
use super::digits::{Digits, positional, scientific, scientific_to};

/// Elements that have a text, for [`distarray2string`](crate::LocalArrayBase::distarray2string), which has an example: every
/// type.
pub trait Printed: Element {
    /// The words of all elements that are shown; `is_alone` for the one of a 0-d array.
    #[doc(hidden)]
    fn words(shown: &[Self], is_alone: bool, options: &PrintOptions) -> Vec<String>;
}

impl Printed for bool {
    fn words(shown: &[Self], is_alone: bool, _: &PrintOptions) -> Vec<String> {
        let width = if is_alone { 0 } else { 5 };
        shown
            .iter()
            .map(|x| format!("{:>width$}", if *x { "True" } else { "False" }))
            .collect()
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Printed for $t {
            fn words(shown: &[Self], _: bool, _: &PrintOptions) -> Vec<String> {
                let ends = [shown.iter().min(), shown.iter().max()];
                let width = ends.into_iter().flatten().map(|x| x.to_string().len()).max();
                let width = width.unwrap_or(0);
                shown.iter().map(|x| format!("{x:width$}")).collect()
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Printed for $t {
            fn words(shown: &[Self], _: bool, options: &PrintOptions) -> Vec<String> {
                Format::new(shown, options, false).words(shown)
            }
        }
    )*};
}

floats!(f16, bf16, f32, f64);

macro_rules! complexes {
    ($($t:ty, $real:ty);* $(;)?) => {$(
        impl Printed for $t {
            fn words(shown: &[Self], _: bool, options: &PrintOptions) -> Vec<String> {
                let real: Vec<$real> = shown.iter().map(|x| x.re).collect();
                let imaginary: Vec<$real> = shown.iter().map(|x| x.im).collect();
                let real = Format::new(&real, options, false).words(&real);
                let imaginary = Format::new(&imaginary, options, true).words(&imaginary);
                real.into_iter().zip(imaginary).map(|(mut word, part)| {
                    // the letter stands before the blanks that fill up to the width
                    let (digits, blanks) = part.split_at(part.trim_end().len());
                    word.push_str(digits);
                    word.push('j');
                    word.push_str(blanks);
                    word
                }).collect()
            }
        }
    )*};
}

complexes! {
    Complex32, f32;
    Complex64, f64;
}

/// How numbers that stand together are written.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// Digits of the exponent, where there is one.
    exponent: Option<usize>,
    /// Digits after the point, at most.
    precision: usize,
    /// Characters before the point.
    left: usize,
    /// Characters after the point, the exponent included.
    right: usize,
    /// Whether positive numbers have a sign.
    is_signed: bool,
}

impl Format {
    fn new<T: Digits>(shown: &[T], options: &PrintOptions, is_signed: bool) -> Self {
        let finite: Vec<T> = shown.iter().copied().filter(|x| x.is_finite()).collect();
        let mut format = Self {
            exponent: None,
            precision: options.precision,
            left: 0,
            right: 0,
            is_signed,
        };
        let with_sign = |text: &str| text.len() + usize::from(is_signed && !text.starts_with('-'));
        if needs_exponent(&finite, options.suppress) {
            let parts: Vec<_> = finite
                .iter()
                .map(|&x| scientific(x, options.precision))
                .collect();
            let longest = |part: usize| {
                parts
                    .iter()
                    .map(|parts| parts[part].len())
                    .max()
                    .unwrap_or(0)
            };
            let exponent = longest(2) - 1;
            format.exponent = Some(exponent);
            format.precision = longest(1);
            format.right = exponent + 2 + format.precision;
            format.left = parts
                .iter()
                .map(|parts| with_sign(&parts[0]))
                .max()
                .unwrap_or(0);
        } else {
            let parts: Vec<_> = finite
                .iter()
                .map(|&x| positional(x, options.precision))
                .collect();
            format.left = parts
                .iter()
                .map(|parts| with_sign(&parts[0]))
                .max()
                .unwrap_or(0);
            format.right = parts.iter().map(|parts| parts[1].len()).max().unwrap_or(0);
        }
        if finite.len() < shown.len() {
            let has_sign = is_signed
                || shown
                    .iter()
                    .any(|x| !x.is_finite() && !x.is_nan() && x.is_negative());
            let longest = 3 + usize::from(has_sign);
            format.left = format.left.max(longest.saturating_sub(format.right + 1));
        }
        format
    }

    fn words<T: Digits>(&self, shown: &[T]) -> Vec<String> {
        shown.iter().map(|&x| self.word(x)).collect()
    }

    fn word<T: Digits>(&self, x: T) -> String {
        let (left, right) = (self.left, self.right);
        let plus = if self.is_signed { "+" } else { "" };
        if !x.is_finite() {
            let text = match (x.is_nan(), x.is_negative()) {
                (true, _) => format!("{plus}nan"),
                (false, false) => format!("{plus}inf"),
                (false, true) => "-inf".to_owned(),
            };
            let width = left + right + 1;
            return format!("{text:>width$}");
        }
        let signed = |whole: &str| {
            if whole.starts_with('-') {
                whole.to_owned()
            } else {
                format!("{plus}{whole}")
            }
        };
        if let Some(digits) = self.exponent {
            let precision = self.precision;
            let [whole, fraction, exponent] = scientific_to(x, precision);
            let (sign, exponent) = exponent.split_at(1);
            let whole = signed(&whole);
            return format!("{whole:>left$}.{fraction}e{sign}{exponent:0>digits$}");
        }
        let [whole, fraction] = positional(x, self.precision);
        let whole = signed(&whole);
        format!("{whole:>left$}.{fraction:<right$}")
    }
}

/// Whether numbers that stand together are written with exponents.
fn needs_exponent<T: Digits>(finite: &[T], suppress: bool) -> bool {
    let nonzero = finite.iter().copied().filter(|x| x.to_f64() != 0.0);
    let by_size = |x: &T, y: &T| x.to_f64().abs().total_cmp(&y.to_f64().abs());
    let (Some(least), Some(greatest)) = (nonzero.clone().min_by(by_size), nonzero.max_by(by_size))
    else {
        return false;
    };
    T::needs_exponent(least.size(), greatest.size(), suppress)
}
