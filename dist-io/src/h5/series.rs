//! [`FileSeries`]: one dataset in a file for each time step.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dap_protocol::{DistBuffer, Element, HostArray};
use dist_comm::Communicator;
use serde::{Deserialize, Serialize};

use super::array::{H5Array, open_within};
use super::together::{by_rank_0, same};
use super::{Limits, Refusal, SeriesRefusal};
use crate::IoError;
use crate::publish::directory;

/// What stands for the number of a step.
const STEP: &str = "{step}";

/// Files of one name but for a number, each with the same key: see [`file_series`].
#[derive(Clone)]
pub struct FileSeries<'c> {
    comm: &'c dyn Communicator,
    folder: PathBuf,
    key: String,
    steps: Vec<u64>,
    files: Vec<String>,
    limits: Option<Limits>,
}

impl std::fmt::Debug for FileSeries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileSeries")
            .field("folder", &self.folder)
            .field("key", &self.key)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

/// The time steps of a run that wrote a file for each: `"out/run_{step}.h5"` finds `run_0.h5`, `run_20.h5` and `run_100.h5` in the folder
/// `out`, in the order of their numbers, with or without leading zeros. Collective; equal patterns and keys.
///
/// In the key, `{step}` is the number of the step too: `"data/{step}/E/x"`. Only names are looked up here; files are opened when a step is.
///
/// # Errors
/// The same on every rank: [`IoError::Hdf5`] with [`SeriesRefusal::Pattern`] when the file name of the pattern has not one `{step}`, no file fits, or
/// two have the same number, and with [`Refusal::Os`] when the folder cannot be read; [`IoError::Differ`], [`IoError::Comm`].
///
/// ```
/// # use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// # use dist_comm::SingleComm;
/// use dist_comm::ThreadComm;
/// use dist_io::{IoError, file_series};
///
/// # let dir = tempfile::tempdir()?;
/// # for step in [100_u32, 0, 20] {
/// #     let one = DistBuffer::new(DimData::new(vec![DimDict::whole(2)?]), HostArray::new(vec![2], vec![f64::from(step); 2])?)?;
/// #     let path = dir.path().join(format!("run_{step}.h5"));
/// #     dist_io::SaveHdf5::new(&path).key(format!("data/{step}/heat")).save(&one, &SingleComm::new())?;
/// # }
/// let pattern = dir.path().join("run_{step}.h5"); // of which there are 0, 20 and 100
/// ThreadComm::run(2, |comm| {
///     let run = file_series(&pattern, "data/{step}/heat", comm)?;
///     assert_eq!(run.steps(), [0, 20, 100]);
///     assert_eq!(run.open::<f64>(20)?.gather()?.data(), [20.0, 20.0]);
///     for (step, part) in run.load_steps::<f64>(&[20, 100])? {
///         assert_eq!(part.buffer().data(), [step as f64]);
///     }
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn file_series<'c>(
    pattern: impl AsRef<Path>,
    key: &str,
    comm: &'c dyn Communicator,
) -> Result<FileSeries<'c>, IoError> {
    let pattern = pattern.as_ref();
    same(
        comm,
        &[
            ("pattern", pattern.as_os_str().as_bytes()),
            ("key", key.as_bytes()),
        ],
    )?;
    let found = by_rank_0(comm, pattern, key, || find(pattern))?;
    Ok(FileSeries {
        comm,
        folder: directory(pattern).to_owned(),
        key: key.to_owned(),
        steps: found.steps,
        files: found.files,
        limits: None,
    })
}

/// What rank 0 finds, ascending by step.
#[derive(Serialize, Deserialize)]
struct Found {
    steps: Vec<u64>,
    files: Vec<String>,
}

fn find(pattern: &Path) -> Result<Found, Refusal> {
    let wrong = |message: String| Refusal::from(SeriesRefusal::Pattern { message });
    let name = pattern.file_name().and_then(|name| name.to_str());
    let parts: Vec<&str> = name.unwrap_or_default().split(STEP).collect();
    let [before, after] = parts[..] else {
        return Err(wrong(format!("the file name has not one {STEP}")));
    };
    let mut found: Vec<(u64, String)> = Vec::new();
    let entries = fs::read_dir(directory(pattern)).map_err(Refusal::os("read the folder"))?;
    for entry in entries {
        let entry = entry.map_err(Refusal::os("read the folder"))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let number = name
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .filter(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|number| number.parse().ok());
        if let Some(step) = number {
            found.push((step, name.to_owned()));
        }
    }
    found.sort_unstable();
    if found.is_empty() {
        return Err(wrong("no file has such a name".to_owned()));
    }
    let twice = found.windows(2).find_map(|pair| match pair {
        [(step, one), (same, other)] if step == same => Some((step, one, other)),
        _ => None,
    });
    if let Some((step, one, other)) = twice {
        return Err(wrong(format!("{one} and {other} are both step {step}")));
    }
    let (steps, files) = found.into_iter().unzip();
    Ok(Found { steps, files })
}

impl<'c> FileSeries<'c> {
    /// The same files, of unknown origin: they are read within these limits and without the library.
    #[must_use]
    pub(super) fn within(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// The numbers of the steps, ascending.
    #[must_use]
    pub fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// The file of a step; `None` where there is no such step.
    #[must_use]
    pub fn path(&self, step: u64) -> Option<PathBuf> {
        let at = self.steps.binary_search(&step).ok()?;
        Some(self.folder.join(&self.files[at]))
    }

    /// Opens the dataset of a step as a lazy array, with its attributes. Collective; equal steps.
    ///
    /// # Errors
    /// As [`open_dset`](crate::open_dset); [`IoError::Hdf5`] with [`SeriesRefusal::Pattern`] when there is no such step.
    pub fn open<T: Element>(&self, step: u64) -> Result<H5Array<'c, T>, IoError> {
        same(self.comm, &[("step", step.to_string().as_bytes())])?;
        let key = self.key.replace(STEP, &step.to_string());
        let Some(path) = self.path(step) else {
            return Err(IoError::Hdf5 {
                path: self.folder.clone(),
                key,
                refusal: Box::new(Refusal::from(SeriesRefusal::Pattern {
                    message: format!("there is no step {step}"),
                })),
            });
        };
        open_within(&path, &key, self.limits, self.comm)
    }

    /// Loads the parts of these steps, in the order given. Collective; equal steps.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`H5Array::load`].
    #[expect(clippy::type_complexity, reason = "pairs of a step and its part")]
    pub fn load_steps<T: Element>(
        &self,
        steps: &[u64],
    ) -> Result<Vec<(u64, DistBuffer<HostArray<T>>)>, IoError> {
        same(self.comm, &[("steps", format!("{steps:?}").as_bytes())])?;
        let load = |&step: &u64| Ok((step, self.open(step)?.load()?));
        steps.iter().map(load).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_and_no_other_names_taken() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "a_100.h5",
            "a_020.h5",
            "a_3.h5",
            "a_.h5",
            "a_x.h5",
            "b_1.h5",
            "a_1.h5.tmp",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = find(&folder.path().join("a_{step}.h5")).unwrap();
        assert_eq!(found.steps, [3, 20, 100]);
        assert_eq!(found.files, ["a_3.h5", "a_020.h5", "a_100.h5"]);
        fs::write(folder.path().join("a_20.h5"), "").unwrap();
        for wrong in ["a_{step}.h5", "c_{step}.h5", "a.h5", "{step}_{step}"] {
            let refused = find(&folder.path().join(wrong));
            assert!(
                matches!(refused, Err(Refusal::Series(SeriesRefusal::Pattern { .. }))),
                "{wrong}"
            );
        }
    }
}
