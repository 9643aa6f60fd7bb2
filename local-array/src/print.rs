//! Arrays as text, laid out as `NumPy` does: [`distarray2string`](LocalArrayBase::distarray2string).

mod digits;
mod layout;
mod words;

use std::cell::Cell;

use bytemuck::checked;
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use ndarray::{Data, Dimension, IxDyn};

pub use self::words::Printed;

use crate::{ArrayError, LocalArrayBase};

/// How arrays become text; the names and defaults are `NumPy`'s. [`set_printoptions`] sets them and has an example. Local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrintOptions {
    /// Digits after the decimal point, at most: 8.
    pub precision: usize,
    /// Elements above which an array is summarised: 1000.
    pub threshold: usize,
    /// Elements shown at each end of a summarised dimension: 3.
    pub edgeitems: usize,
    /// Characters of a line: 75.
    pub linewidth: usize,
    /// Whether small numbers among large ones are written without an exponent, as 0 if need be: no.
    pub suppress: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self {
            precision: 8,
            threshold: 1000,
            edgeitems: 3,
            linewidth: 75,
            suppress: false,
        }
    }
}

thread_local! {
    static OPTIONS: Cell<PrintOptions> = Cell::new(PrintOptions::default());
}

/// The options in force on this rank: on this thread. Local. Example: see [`set_printoptions`].
#[must_use]
pub fn get_printoptions() -> PrintOptions {
    OPTIONS.get()
}

/// Changes the options of this rank: of this thread. Local; those of rank 0 count when an array is printed.
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, LocalArray, PrintOptions, get_printoptions, set_printoptions};
/// use ndarray::Ix1;
///
/// ThreadComm::run(2, |comm| {
///     let a = LocalArray::<f64, Ix1, _>::linspace(0.0, 1.0, 4, true, "b", comm)?;
///     assert_eq!(a.distarray2string()?, "[0.         0.33333333 0.66666667 1.        ]");
///     set_printoptions(PrintOptions { precision: 3, ..get_printoptions() });
///     assert_eq!(a.distarray2string()?, "[0.    0.333 0.667 1.   ]");
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub fn set_printoptions(options: PrintOptions) {
    OPTIONS.set(options);
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Printed>,
    D: Dimension,
    C: Communicator,
{
    /// The whole array as text, the same on every rank: what `numpy.array2string` writes, with the options of rank 0
    /// ([`set_printoptions`]). Collective; on [`part`](Self::part) local.
    ///
    /// Only what is shown travels: of an array of more than `threshold` elements, the ends of each dimension.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let texts = ThreadComm::run(3, |comm| {
    ///     let a = LocalArray::<i64, Ix2, _>::fromfunction(|g| g[0] * g[1], &[1000, 1000], "bb", comm)?;
    ///     a.distarray2string()
    /// })?;
    /// let text = "\
    /// [[     0      0      0 ...      0      0      0]
    ///  [     0      1      2 ...    997    998    999]
    ///  [     0      2      4 ...   1994   1996   1998]
    ///  ...
    ///  [     0    997   1994 ... 994009 995006 996003]
    ///  [     0    998   1996 ... 995006 996004 997002]
    ///  [     0    999   1998 ... 996003 997002 998001]]";
    /// assert_eq!(texts, [text; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Argument`] when more is to be shown than memory can hold,
    /// [`ArrayError::Agreed`], [`ArrayError::Comm`].
    pub fn distarray2string(&self) -> Result<String, ArrayError> {
        self.distarray2string_with(&get_printoptions())
    }

    /// [`distarray2string`](Self::distarray2string) with rank 0's `options` instead. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray, PrintOptions};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i64, Ix1, _>::arange(0, 100, 1, "c", comm)?;
    ///     let few = PrintOptions { threshold: 10, edgeitems: 2, ..PrintOptions::default() };
    ///     assert_eq!(a.distarray2string_with(&few)?, "[ 0  1 ... 98 99]");
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`distarray2string`](Self::distarray2string).
    pub fn distarray2string_with(&self, options: &PrintOptions) -> Result<String, ArrayError> {
        let options = options_of_rank_0(&self.comm, options)?;
        let is_summarised = self.global_size() > options.threshold as u128;
        let axes = self.global_shape().iter();
        let axes: Vec<Shown> = axes
            .map(|&n| Shown::new(n, is_summarised, &options))
            .collect();
        let elements = self.fetch_shown(&axes)?;
        let words = S::Elem::words(&elements, axes.is_empty(), &options);
        Ok(layout::layout(&words, &axes, options.linewidth))
    }

    /// What is shown, in C order, on every rank. Each element comes from the first rank that owns it.
    fn fetch_shown(&self, axes: &[Shown]) -> Result<Vec<S::Elem>, ArrayError> {
        let count = axes
            .iter()
            .try_fold(1_usize, |product, axis| product.checked_mul(axis.len()?));
        let too_many = || ArrayError::Argument {
            what: "threshold",
            given: "more elements than memory holds".to_owned(),
            allowed: "fewer".to_owned(),
        };
        let count = count.ok_or_else(too_many)?;
        let mut elements = Vec::new();
        let reserved = elements.try_reserve_exact(count).map_err(|_| too_many());
        agree(&self.comm, reserved)?;
        elements.resize(count, S::Elem::default());

        let mut places: Vec<u64> = Vec::new();
        let mut found: Vec<S::Elem> = Vec::new();
        let mine = self.shown_here(axes);
        if let Some(mine) = &mine {
            let stored = self.data.view().into_dyn();
            let mut at = vec![0; mine.len()];
            let total = mine.iter().map(Vec::len).product();
            for number in 0..total {
                let (mut rest, mut place, mut scale) = (number, 0, 1);
                for (axis, list) in mine.iter().enumerate().rev() {
                    let (shown, local) = list[rest % list.len()];
                    rest /= list.len();
                    at[axis] = local;
                    place += shown as u64 * scale;
                    scale *= axes[axis].len().unwrap_or(0) as u64;
                }
                if let Some(&element) = stored.get(IxDyn(&at)) {
                    places.push(place);
                    found.push(element);
                }
            }
        }
        let all_places = self.comm.all_gather_slice(&places)?;
        let all_found = self.comm.all_gather_v(bytemuck::cast_slice(&found))?;
        for (places, bytes) in all_places.iter().zip(&all_found) {
            for (&place, bytes) in places.iter().zip(bytes.chunks_exact(size_of::<S::Elem>())) {
                let slot = usize::try_from(place)
                    .ok()
                    .and_then(|at| elements.get_mut(at));
                if let (Some(slot), Ok(element)) = (slot, checked::try_pod_read_unaligned(bytes)) {
                    *slot = element;
                }
            }
        }
        Ok(elements)
    }

    /// Per axis what this rank is the first to own of what is shown: place among the shown, and local position.
    fn shown_here(&self, axes: &[Shown]) -> Option<Vec<Vec<(usize, usize)>>> {
        let coords = self.cart_coords()?;
        let map = self.part.map()?;
        let of_axis = |(axis, shown): (usize, &Shown)| {
            let owners = &self.distribution().axes()[axis];
            let here = shown.indices().enumerate().filter_map(|(place, global)| {
                if owners.owner(global) != Some(coords[axis]) {
                    return None;
                }
                let global = dist_maps::GlobalIndex::new(global);
                let local = dist_maps::IndexMap::local_from_global(&map.dims()[axis], global)?;
                Some((place, local.get()))
            });
            here.collect()
        };
        Some(axes.iter().enumerate().map(of_axis).collect())
    }
}

/// What is shown of a dimension.
pub(crate) struct Shown {
    n: u64,
    /// Elements shown from the start; all where it is `n`.
    leading: u64,
    trailing: u64,
}

impl Shown {
    fn new(n: u64, is_summarised: bool, options: &PrintOptions) -> Self {
        let edge = options.edgeitems as u64;
        if is_summarised && n > edge.saturating_mul(2) {
            // even without edges the last one is shown
            Self {
                n,
                leading: edge,
                trailing: edge.max(1),
            }
        } else {
            Self {
                n,
                leading: n,
                trailing: 0,
            }
        }
    }

    fn is_summarised(&self) -> bool {
        self.leading < self.n
    }

    fn len(&self) -> Option<usize> {
        usize::try_from(self.leading.checked_add(self.trailing)?).ok()
    }

    /// How many are shown before what is left out.
    fn leading(&self) -> usize {
        usize::try_from(self.leading).unwrap_or(usize::MAX)
    }

    fn indices(&self) -> impl Iterator<Item = i64> {
        (0..self.leading)
            .chain(self.n - self.trailing..self.n)
            .map(u64::cast_signed)
    }
}

fn options_of_rank_0<C: Communicator>(
    comm: &C,
    options: &PrintOptions,
) -> Result<PrintOptions, ArrayError> {
    let word = |n: usize| n as u64;
    let mut words = [
        word(options.precision),
        word(options.threshold),
        word(options.edgeitems),
        word(options.linewidth),
        u64::from(options.suppress),
    ];
    comm.broadcast_slice(0, &mut words)?;
    let [precision, threshold, edgeitems, linewidth, suppress] = words;
    let number = |word: u64| usize::try_from(word).unwrap_or(usize::MAX);
    Ok(PrintOptions {
        precision: number(precision),
        threshold: number(threshold),
        edgeitems: number(edgeitems),
        linewidth: number(linewidth),
        suppress: suppress != 0,
    })
}
