//! Which part of a set stands at each place of the process grid.

use dap_protocol::{DimData, DimDict, Dist, ProcessGrid};

use super::SetError;
use super::part::Part;
use crate::DnpyError;

/// Which part stands at each place of the grid. Parts with elements take their places first, then
/// those without, last those that look like the part of a rank without a place; a part without
/// elements whose place is taken is that of such a rank.
pub(super) fn place(parts: &[Part], grid: &ProcessGrid) -> Result<Vec<usize>, DnpyError> {
    let files = |at: &[usize]| {
        at.iter()
            .map(|&i| parts[i].path.clone())
            .collect::<Vec<_>>()
    };
    let ranks = grid.len();
    if ranks > parts.len() {
        let filled = parts.len();
        return Err(SetError::Places { filled, ranks }.into());
    }
    let mut places: Vec<Option<usize>> = vec![None; ranks];
    let mut surplus = Vec::new();
    for turn in [Turn::Elements, Turn::Empty, Turn::AtTheEnd] {
        for (i, part) in parts.iter().enumerate() {
            let dim_data = part.info.dim_data();
            if Turn::of(dim_data) != turn {
                continue;
            }
            let rank = grid.rank(&dim_data.grid_coords());
            match rank.ok().and_then(|rank| places.get_mut(rank)) {
                Some(place) if place.is_none() => *place = Some(i),
                // a scalar's rank without a place has the same dictionary: none
                _ if turn == Turn::Elements && dim_data.ndim() > 0 => surplus.push(i),
                _ => {}
            }
        }
    }
    if !surplus.is_empty() {
        return Err(SetError::Surplus {
            files: files(&surplus),
            ranks,
        }
        .into());
    }
    let filled = places.iter().flatten().count();
    let places: Option<Vec<usize>> = places.into_iter().collect();
    places.ok_or_else(|| SetError::Places { filled, ranks }.into())
}

/// When a part takes its place in the grid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It has elements.
    Elements,
    /// It has none.
    Empty,
    /// It has none and is an empty block at the end of every axis: what a rank without a place
    /// says, and maybe the last rank of the grid.
    AtTheEnd,
}

impl Turn {
    fn of(dim_data: &DimData) -> Self {
        let at_the_end = |dim: &DimDict| {
            matches!(*dim.dist(), Dist::Block { start, stop, .. } if start == stop && stop == dim.size())
                && dim.grid_rank() + 1 == dim.grid_size()
        };
        if !dim_data.local_shape().contains(&0) {
            Self::Elements
        } else if dim_data.dims().iter().all(at_the_end) {
            Self::AtTheEnd
        } else {
            Self::Empty
        }
    }
}
