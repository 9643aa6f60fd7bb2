//! Axes as `NumPy` counts them: negative ones from the end.

use crate::ArrayError;

/// The dimension that `axis` names.
pub(crate) fn axis_of(axis: i32, ndim: usize) -> Result<usize, ArrayError> {
    let (given, n) = (i64::from(axis), i64::try_from(ndim).unwrap_or(i64::MAX));
    let at = if given < 0 { given + n } else { given };
    usize::try_from(at)
        .ok()
        .filter(|&at| at < ndim)
        .ok_or_else(|| ArrayError::InvalidDimension {
            what: "axis",
            given: isize::try_from(axis).unwrap_or(isize::MIN),
            ndim,
        })
}

/// The dimensions that `axes` name, each once.
pub(crate) fn axes_of(axes: &[i32], ndim: usize) -> Result<Vec<usize>, ArrayError> {
    let mut all = Vec::with_capacity(axes.len());
    for &axis in axes {
        let at = axis_of(axis, ndim)?;
        if all.contains(&at) {
            return Err(ArrayError::Argument {
                what: "axes",
                given: format!("{axes:?}"),
                allowed: "each axis once".to_owned(),
            });
        }
        all.push(at);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_axes_count_from_the_end() {
        assert_eq!(axes_of(&[-1, 0, 1], 3), Ok(vec![2, 0, 1]));
        assert!(axis_of(3, 3).is_err() && axis_of(-4, 3).is_err() && axis_of(0, 0).is_err());
        assert!(axes_of(&[1, -2], 3).is_err());
    }
}
