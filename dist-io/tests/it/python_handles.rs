//! Handles read slices of what h5py wrote, h5py reads what was assigned through them and made; and arithmetic gives `NumPy`'s answers.

use std::path::Path;

use dap_protocol::{Element, HostArray};
use dist_comm::{Communicator, ThreadComm};
use dist_io::{Bits, Divisible, Expr, H5Array, IoError, Number, Root, SaveHdf5, Shift, open_dset};
use dist_maps::{Distribution, Slice};
use half::f16;
use num_complex::{Complex, Complex32, Complex64};

use crate::python::run_h5py;
use crate::support::temporary;

/// What the script writes and assigns, given a number of the type.
fn assign<T: Element>(
    path: &Path,
    key: &str,
    before: fn(u64) -> f64,
    number: fn(f64) -> T,
    comm: &dyn Communicator,
) -> Result<(), IoError> {
    let a = open_dset::<T>(path, key, comm)?;
    let part = a.slice(&[Slice::new(Some(10), Some(2), -3).into(), (1..7).into()])?;
    let rows = [10, 7, 4_u64].into_iter();
    let expected: Vec<T> = rows
        .flat_map(|row| (1..7).map(move |column| number(before(9 * row + column))))
        .collect();
    assert_eq!(part.gather()?.data(), expected, "{key}");
    let values = (0..18).map(|n| number(f64::from(n))).collect();
    part.assign_from(&HostArray::new(vec![3, 6], values)?)?;
    let ends = a.take(0, &[11, 0])?.slice(&[(..).into(), (-1).into()])?;
    ends.fill(number(99.0))?;
    assert_eq!(a.at(&[0, 8])?, number(99.0), "{key}");
    assert_eq!(a.at(&[1, 8])?, number(before(17)), "{key}");
    Ok(())
}

#[test]
fn h5py_reads_what_was_assigned() {
    let folder = temporary();
    if run_h5py("h5py_handles.py", "make", folder.path()).is_none() {
        return;
    }
    let path = folder.path().join("theirs.h5");
    ThreadComm::run(3, |comm| {
        let comm: &dyn Communicator = comm;
        let before = |flat: u64| (flat * 7 % 120) as f64;
        for stored in ["contiguous", "raw", "gzip", "lzf", "grows"] {
            let key = |dtype: &str| format!("{stored}/{dtype}");
            assign(&path, &key("<i2"), before, |x| x as i16, comm)?;
            assign(&path, &key(">i4"), before, |x| x as i32, comm)?;
            assign(&path, &key("<f8"), before, |x| x, comm)?;
            assign(&path, &key(">f4"), before, |x| x as f32, comm)?;
            assign(&path, &key(">c16"), before, |x| Complex::new(x, 0.0), comm)?;
        }
        assign(&path, "late", |_| 3.5, |x| x, comm)
    })
    .unwrap();
    let checked = run_h5py("h5py_handles.py", "check", folder.path());
    assert_eq!(checked.as_deref().map(str::trim), Some("26"));
}

/// An element that may differ in its last bits.
trait Near: Element {
    fn is(self, expected: Self) -> bool;

    /// Where rounding on the way is the processor's.
    fn is_near(self, expected: Self) -> bool {
        self.is(expected)
    }
}

macro_rules! exact {
    ($($t:ty),*) => {$(
        impl Near for $t {
            fn is(self, expected: Self) -> bool {
                self == expected
            }
        }
    )*};
}

exact!(bool, i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty, $tolerance:expr);*) => {$(
        impl Near for $t {
            /// The same bits, but for those of NaN.
            fn is(self, expected: Self) -> bool {
                self.to_bits() == expected.to_bits() || self.is_nan() && expected.is_nan()
            }

            fn is_near(self, expected: Self) -> bool {
                let (ours, theirs) = (f64::from(self), f64::from(expected));
                self.is(expected) || (ours - theirs).abs() <= $tolerance * theirs.abs()
            }
        }
    )*};
}

floats!(f16, 0.0; f32, 1e-6; f64, 1e-14);

macro_rules! complex {
    ($($t:ty, $tolerance:expr);*) => {$(
        impl Near for $t {
            fn is(self, expected: Self) -> bool {
                let is = |a, b| a == b || Near::is(a, b); // the sign of 0 is nobody's
                is(self.re, expected.re) && is(self.im, expected.im)
            }

            fn is_near(self, expected: Self) -> bool {
                let is_finite = expected.re.is_finite() && expected.im.is_finite();
                if is_finite { (self - expected).norm() <= $tolerance * expected.norm() } else { self.is(expected) }
            }
        }
    )*};
}

complex!(Complex32, 1e-6; Complex64, 1e-14);

/// The numbers of one dtype, and what `NumPy` makes of them.
struct Theirs<'c> {
    path: &'c Path,
    dtype: &'static str,
    comm: &'c dyn Communicator,
}

impl<'c> Theirs<'c> {
    fn open<T: Element>(&self, name: &str) -> Result<H5Array<'c, T>, IoError> {
        open_dset(self.path, &format!("{}/{name}", self.dtype), self.comm)
    }

    fn same<T: Near>(&self, name: &str, ours: impl Into<Expr<'c, T>>) -> Result<(), IoError> {
        self.compare(name, ours, T::is)
    }

    fn compare<T: Near>(
        &self,
        name: &str,
        ours: impl Into<Expr<'c, T>>,
        is: fn(T, T) -> bool,
    ) -> Result<(), IoError> {
        let ours: Expr<'c, T> = ours.into();
        let (a, b) = (self.open::<T>("a").ok(), self.open::<T>("b").ok());
        let place = |at: i64| {
            (
                a.as_ref().map(|a| a.at(&[at])),
                b.as_ref().map(|b| b.at(&[at])),
            )
        };
        let theirs = self.open::<T>(name)?;
        let theirs = theirs.distribute(ours.distribution())?.load()?;
        let ours = ours.load()?;
        let mut pairs = ours.buffer().data().iter().zip(theirs.buffer().data());
        let wrong = pairs.position(|(&ours, &theirs)| !is(ours, theirs));
        if let (Some(wrong), 1) = (wrong, self.comm.size()) {
            let (ours, theirs) = (ours.buffer().data()[wrong], theirs.buffer().data()[wrong]);
            panic!(
                "{} {name}: {ours}, not {theirs}, of {:?}",
                self.dtype,
                place(wrong as i64)
            );
        }
        assert_eq!(wrong, None, "{} {name}", self.dtype);
        Ok(())
    }

    fn basic<T>(&self) -> Result<(), IoError>
    where
        T: Near + Number<Distance: Near, Quotient: Near>,
    {
        let (a, b) = (self.open::<T>("a")?, self.open::<T>("b")?);
        self.same("add", &a + &b)?;
        self.same("subtract", &a - &b)?;
        self.same("multiply", &a * &b)?;
        self.compare("true_divide", a.expr().true_divide(&b), Near::is_near)?;
        self.same("negative", -&a)?;
        self.compare("absolute", a.expr().abs(), Near::is_near)?;
        self.same("equal", a.expr().eq(&b))?;
        self.same("not_equal", a.expr().ne(&b))
    }

    fn real<T>(&self) -> Result<(), IoError>
    where
        T: Near + Divisible<Distance: Near, Quotient: Near>,
    {
        self.basic::<T>()?;
        let (a, b) = (self.open::<T>("a")?, self.open::<T>("b")?);
        self.same("true_divide", a.expr().true_divide(&b))?;
        self.same("absolute", a.expr().abs())?;
        self.same("floor_divide", a.expr().floor_divide(&b))?;
        self.same("remainder", a.expr().remainder(&b))?;
        self.same("fmod", &a % &b)?;
        self.same("less", a.expr().lt(&b))?;
        self.same("less_equal", a.expr().le(&b))?;
        self.same("greater", a.expr().gt(&b))?;
        self.same("greater_equal", a.expr().ge(&b))
    }

    fn bits<T: Near + Bits>(&self) -> Result<(), IoError> {
        let (a, b) = (self.open::<T>("a")?, self.open::<T>("b")?);
        self.same("bitwise_and", &a & &b)?;
        self.same("bitwise_or", &a | &b)?;
        self.same("bitwise_xor", &a ^ &b)?;
        self.same("invert", !&a)
    }

    fn integers<T>(&self) -> Result<(), IoError>
    where
        T: Near + Shift + Divisible<Distance: Near, Quotient: Near, Sum: Near>,
    {
        self.real::<T>()?;
        self.bits::<T>()?;
        let (a, b) = (self.open::<T>("a")?, self.open::<T>("b")?);
        self.same("left_shift", &a << &b)?;
        self.same("right_shift", &a >> &b)?;
        self.sum::<T>("a")
    }

    fn sum<T: Number<Sum: Near>>(&self, of: &str) -> Result<(), IoError> {
        let ours = self.open::<T>(of)?.expr().sum(64)?;
        let theirs = self.open::<T::Sum>("sum")?.at(&[])?;
        assert!(ours.is(theirs), "{} sum: {ours}, not {theirs}", self.dtype);
        Ok(())
    }

    fn root<T: Near + Root>(&self) -> Result<(), IoError> {
        let a = self.open::<T>("a")?;
        self.compare("sqrt", a.expr().sqrt(), Near::is_near)
    }
}

#[test]
fn arithmetic_is_numpys() {
    let folder = temporary();
    if run_h5py("h5py_handles.py", "numbers", folder.path()).is_none() {
        return;
    }
    let path = folder.path().join("numbers.h5");
    for ranks in [1, 3] {
        ThreadComm::run(ranks, |comm| {
            let of = |dtype| Theirs {
                path: &path,
                dtype,
                comm,
            };
            of("i1").integers::<i8>()?;
            of("i2").integers::<i16>()?;
            of("i4").integers::<i32>()?;
            of("i8").integers::<i64>()?;
            of("u1").integers::<u8>()?;
            of("u2").integers::<u16>()?;
            of("u4").integers::<u32>()?;
            of("u8").integers::<u64>()?;
            of("f2").real::<f16>()?;
            of("f4").real::<f32>()?;
            of("f8").real::<f64>()?;
            of("f2").root::<f16>()?;
            of("f4").root::<f32>()?;
            of("f8").root::<f64>()?;
            of("f2").sum::<f16>("whole")?;
            of("f4").sum::<f32>("whole")?;
            of("f8").sum::<f64>("whole")?;
            of("c8").basic::<Complex32>()?;
            of("c16").basic::<Complex64>()?;
            of("c8").root::<Complex32>()?;
            of("c16").root::<Complex64>()?;
            of("c8").sum::<Complex32>("a")?;
            of("c16").sum::<Complex64>("a")?;
            of("b1").bits::<bool>()?;
            let (a, b) = (of("b1").open::<bool>("a")?, of("b1").open::<bool>("b")?);
            of("b1").same("less", a.expr().lt(&b))?;
            of("b1").same("equal", a.expr().eq(&b))
        })
        .unwrap();
    }
}

#[test]
fn h5py_reads_what_was_made() {
    let folder = temporary();
    let path = folder.path().join("made.h5");
    let rows = Distribution::over(2).shape([10, 6]).block(0);
    let rows = rows.build().unwrap();
    ThreadComm::run(2, |comm| {
        let save = |key: &str| SaveHdf5::new(&path).key(key);
        save("plain").make(&rows, -1.5_f64, comm)?;
        save("half").make(&rows, f16::NAN, comm)?;
        let coded = save("g/coded")
            .chunk([4, 3])
            .shuffle(true)
            .deflate(4)
            .fletcher32(true);
        let coded = coded.make(&rows, 9_u16, comm)?;
        coded.slice(&[3.into()])?.fill(7)?;
        Ok::<_, IoError>(())
    })
    .unwrap();
    let Some(checked) = run_h5py("h5py_handles.py", "made", folder.path()) else {
        return;
    };
    assert_eq!(checked.trim(), "3");
}
