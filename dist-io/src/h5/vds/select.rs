//! [`selected`]: the indices that a mapping has along each dimension, of the whole and of its source.

use super::along::Along;
use super::block::Block;
use super::ffi::{Blocks, Selected};

/// What is selected along a dimension.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) along: Along,
    /// How much of it; `None` where it has no limit.
    pub(super) asked: Option<u64>,
}

/// What a selection is in an array.
pub(super) enum Chosen {
    Axes(Vec<Axis>),
    Nothing,
    /// It needs an array that reaches as far as this.
    Beyond(String),
    Other,
}

/// The indices that a selection has along each dimension of an array.
pub(super) fn selected(selected: &Selected, shape: &[u64]) -> Chosen {
    let whole = |&size: &u64| {
        Some(Axis {
            along: Along::run(0, size)?,
            asked: Some(size),
        })
    };
    match selected {
        Selected::All => {
            let axes: Option<Vec<Axis>> = shape.iter().map(whole).collect();
            axes.map_or(Chosen::Nothing, Chosen::Axes)
        }
        Selected::Nothing => Chosen::Nothing,
        Selected::Regular(blocks) => regular(blocks, shape),
        Selected::Union(blocks) => union(blocks, shape),
        Selected::Other => Chosen::Other,
    }
}

fn regular(blocks: &[Blocks], shape: &[u64]) -> Chosen {
    if blocks
        .iter()
        .any(|b| b.count == Some(0) || b.block == Some(0))
    {
        return Chosen::Nothing;
    }
    let ends = blocks.iter().map(|b| match (b.count, b.block) {
        (Some(count), Some(block)) => (count - 1)
            .checked_mul(b.stride)
            .and_then(|last| last.checked_add(b.start)?.checked_add(block)),
        _ => Some(b.start),
    });
    let Some(ends) = ends.collect::<Option<Vec<u64>>>() else {
        return Chosen::Other;
    };
    let unlimited = |b: &Blocks| b.count.is_none() || b.block.is_none();
    let inside = blocks.iter().zip(&ends).zip(shape);
    let mut inside = inside.map(|((b, &end), &size)| unlimited(b) || end <= size);
    if blocks.len() != shape.len() || !inside.all(|inside| inside) {
        let bounds = blocks.iter().zip(&ends);
        let (start, shape) = bounds.map(|(b, &end)| (b.start, end - b.start)).unzip();
        return Chosen::Beyond(Block::new(start, shape).text());
    }
    let mut axes = Vec::with_capacity(blocks.len());
    for (b, &size) in blocks.iter().zip(shape) {
        let left = size.saturating_sub(b.start);
        let along = match (b.count, b.block) {
            (Some(count), Some(block)) => Along::regular(b.start, b.stride, count, block),
            (_, None) => Along::run(b.start, left),
            (None, Some(block)) => {
                let count = left.div_ceil(b.stride.max(1));
                let cut = |along: Along| {
                    let last = (count - 1) * b.stride;
                    let len = (count - 1) * block + block.min(left - last);
                    along.truncated(len)
                };
                Along::regular(b.start, b.stride, count, block).map(cut)
            }
        };
        let Some(along) = along else {
            return match left {
                0 => Chosen::Nothing,
                _ => Chosen::Other,
            };
        };
        let asked = (!unlimited(b)).then(|| along.len());
        axes.push(Axis { along, asked });
    }
    Chosen::Axes(axes)
}

/// A union of blocks that are the product of runs along each dimension.
fn union(blocks: &[Block], shape: &[u64]) -> Chosen {
    if blocks.iter().any(|block| block.start.len() != shape.len()) {
        return Chosen::Other;
    }
    let mut axes = Vec::with_capacity(shape.len());
    let (mut product, mut elements) = (1_usize, 1_u64);
    for axis in 0..shape.len() {
        let run = |block: &Block| {
            let start = block.start[axis];
            (start, start.saturating_add(block.shape[axis]))
        };
        let mut runs: Vec<(u64, u64)> = blocks.iter().map(run).collect();
        runs.sort_unstable();
        runs.dedup();
        product = product.saturating_mul(runs.len());
        let Some(along) = Along::runs(runs) else {
            return Chosen::Other;
        };
        elements = elements.saturating_mul(along.len());
        axes.push(Axis {
            asked: Some(along.len()),
            along,
        });
    }
    // blocks do not overlap: as many elements as the product, in as many blocks, are the product
    let sum = blocks
        .iter()
        .map(|block| block.elements().unwrap_or(u64::MAX));
    let sum = sum.fold(0_u64, u64::saturating_add);
    if product != blocks.len() || sum != elements {
        return Chosen::Other;
    }
    let beyond = axes
        .iter()
        .zip(shape)
        .any(|(axis, &size)| axis.along.end() > size);
    if beyond {
        let (start, shape) = axes
            .iter()
            .map(|axis| (axis.along.first(), axis.along.end() - axis.along.first()))
            .unzip();
        return Chosen::Beyond(Block::new(start, shape).text());
    }
    Chosen::Axes(axes)
}

/// The dimension of the source that each dimension of the target is, `None` for one of extent 1; `None` altogether where they
/// differ by more than dimensions of extent 1.
pub(super) fn paired(source: &[Axis], target: &[Axis]) -> Option<Vec<Option<usize>>> {
    let mut of_source = source
        .iter()
        .enumerate()
        .filter(|(_, axis)| axis.asked != Some(1));
    let mut pairs = Vec::with_capacity(target.len());
    for axis in target {
        if axis.asked == Some(1) {
            pairs.push(None);
            continue;
        }
        let (at, other) = of_source.next()?;
        if other.asked != axis.asked {
            return None;
        }
        pairs.push(Some(at));
    }
    of_source.next().is_none().then_some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(shape: &[u64]) -> Vec<Axis> {
        match selected(&Selected::All, shape) {
            Chosen::Axes(axes) => axes,
            _ => panic!("nothing is selected"),
        }
    }

    #[test]
    fn blocks_of_other_dimensions() {
        let over = |source: &[u64], target: &[u64]| paired(&axes(source), &axes(target));
        // a row of 100 as the row of a table
        assert_eq!(over(&[100], &[1, 100]), Some(vec![None, Some(0)]));
        // a column of a table as a list
        assert_eq!(over(&[9, 1], &[9]), Some(vec![Some(0)]));
        assert_eq!(over(&[2, 3], &[2, 3]), Some(vec![Some(0), Some(1)]));
        assert_eq!(over(&[6], &[2, 3]), None);
        assert_eq!(over(&[2, 3], &[6]), None);
    }

    #[test]
    fn what_has_no_limit_ends_with_the_array() {
        let blocks = |count, block| Blocks {
            start: 1,
            stride: 4,
            count,
            block,
        };
        let indices = |blocks: Blocks, size: u64| match regular(&[blocks], &[size]) {
            Chosen::Axes(axes) => {
                let mut all = Vec::new();
                let along = &axes[0].along;
                along.from(0, u64::MAX, &mut |first, len| {
                    all.extend(first..first + len);
                });
                assert!(along.end() <= size);
                all
            }
            Chosen::Nothing => Vec::new(),
            _ => panic!("not regular"),
        };
        let endless = blocks(None, Some(2));
        assert_eq!(indices(endless, 6), [1, 2, 5]);
        assert_eq!(indices(endless, 7), [1, 2, 5, 6]);
        assert_eq!(indices(endless, 5), [1, 2]);
        assert_eq!(indices(endless, 2), [1]);
        assert!(indices(endless, 1).is_empty());
        assert_eq!(indices(blocks(Some(1), None), 4), [1, 2, 3]);
        assert!(matches!(
            regular(&[blocks(Some(2), Some(2))], &[6]),
            Chosen::Beyond(_)
        ));
        assert!(matches!(
            regular(&[blocks(Some(u64::MAX - 1), Some(2))], &[6]),
            Chosen::Other
        ));
    }

    #[test]
    fn unions_are_products_or_refused() {
        let block = |start: [u64; 2], shape: [u64; 2]| Block::new(start.into(), shape.into());
        let rows = [block([0, 1], [1, 2]), block([2, 1], [3, 2])];
        let Chosen::Axes(axes) = union(&rows, &[5, 3]) else {
            panic!("not a product");
        };
        assert_eq!((axes[0].along.len(), axes[1].along.len()), (4, 2));
        let stairs = [block([0, 0], [1, 2]), block([1, 1], [1, 2])];
        assert!(matches!(union(&stairs, &[5, 5]), Chosen::Other));
        let corner = [block([0, 0], [1, 3]), block([1, 0], [1, 2])];
        assert!(matches!(union(&corner, &[5, 5]), Chosen::Other));
        assert!(matches!(union(&rows, &[4, 3]), Chosen::Beyond(_)));
    }
}
