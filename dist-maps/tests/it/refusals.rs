//! What is refused, and how: never by a panic, and naming what was given and what is allowed.

use dap_protocol::{DimData, DimDict};
use dist_maps::{AxisDist, Distribution, GlobalDim, Index, MapError, Padding, Slice};
use proptest::prelude::*;

use crate::cases;

fn parts(dims: Vec<DimDict>) -> Vec<DimData> {
    dims.into_iter()
        .map(|dim| DimData::new(vec![dim]))
        .collect()
}

fn refusal(dims: Vec<DimDict>) -> String {
    Distribution::from_dim_data_per_rank(&parts(dims))
        .unwrap_err()
        .to_string()
}

#[test]
fn parts_that_are_no_distribution() {
    let block = |rank, from, to| DimDict::block(10, 2, rank, from..to).unwrap();
    assert!(
        Distribution::from_dim_data_per_rank(&parts(vec![block(1, 4, 10), block(0, 0, 4)])).is_ok()
    );
    assert!(
        refusal(vec![block(0, 0, 4), block(1, 5, 10)])
            .contains("rank 1 axis 0: its block does not begin")
    );
    assert!(refusal(vec![block(0, 0, 4), block(1, 3, 10)]).contains("does not begin"));
    assert!(refusal(vec![block(0, 0, 4), block(1, 4, 9)]).contains("end before the size"));
    assert!(refusal(vec![block(0, 0, 4), block(0, 0, 4)]).contains("another rank"));
    assert!(refusal(vec![block(0, 0, 4)]).contains("2 ranks"));
    assert!(
        refusal(vec![block(0, 0, 4), DimDict::cyclic(10, 2, 1, 1).unwrap()]).contains("dist_type")
    );
    assert!(
        refusal(vec![
            block(0, 0, 4),
            DimDict::block(11, 2, 1, 4..11).unwrap()
        ])
        .contains("size is not")
    );
    let cyclic = |rank, b| DimDict::cyclic(10, 2, rank, b).unwrap();
    assert!(refusal(vec![cyclic(0, 1), cyclic(1, 2)]).contains("block_size"));
    let two = |a, b| DimData::new(vec![a, b]);
    let rows = DimDict::whole(3).unwrap();
    let mixed = [
        two(rows.clone(), block(0, 0, 4)),
        DimData::new(vec![block(1, 4, 10)]),
    ];
    assert!(Distribution::from_dim_data_per_rank(&mixed).is_err());
    // ranks of one coordinate that disagree
    let grid = |r, c, to: u64| {
        two(
            DimDict::cyclic(4, 2, r, 1).unwrap(),
            DimDict::block(10, 2, c, if c == 0 { 0..to } else { to..10 }).unwrap(),
        )
    };
    let good = [grid(0, 0, 4), grid(0, 1, 4), grid(1, 0, 4), grid(1, 1, 4)];
    assert!(Distribution::from_dim_data_per_rank(&good).is_ok());
    let bad = [grid(0, 0, 4), grid(0, 1, 4), grid(1, 0, 5), grid(1, 1, 4)];
    let error = Distribution::from_dim_data_per_rank(&bad).unwrap_err();
    assert!(
        matches!(
            error,
            MapError::Parts {
                rank: 2,
                axis: Some(1),
                ..
            }
        ),
        "{error}"
    );
    assert!(Distribution::from_dim_data_per_rank(&[]).is_err());
}

#[test]
fn padding_comes_back_from_the_parts() {
    for d in [
        Distribution::over(3)
            .shape([20])
            .block(0)
            .padding_of(0, 2, 1)
            .boundary(0, 1, 3),
        Distribution::over(3)
            .shape([20])
            .block(0)
            .padding(2)
            .periodic(0),
        Distribution::over(1)
            .shape([8])
            .block(0)
            .padding(2)
            .periodic(0),
        Distribution::over(4).shape([5]).block(0).padding(1),
        Distribution::over(4)
            .shape([9, 7])
            .block(0)
            .block(1)
            .padding(9),
    ] {
        let d = d.build().unwrap();
        let parts: Vec<DimData> = (0..d.ranks())
            .map(|rank| d.dim_data(rank).unwrap())
            .collect();
        assert_eq!(Distribution::from_dim_data_per_rank(&parts).unwrap(), d);
        for (rank, part) in parts.iter().enumerate() {
            let stored: Vec<usize> = part
                .local_shape()
                .iter()
                .map(|&n| usize::try_from(n).unwrap())
                .collect();
            assert_eq!(stored, d.local_shape(rank));
            let owned: Vec<usize> = part
                .dims()
                .iter()
                .map(|dim| usize::try_from(dim.owned_len()).unwrap())
                .collect();
            assert_eq!(owned, d.owned_shape(rank));
        }
    }
}

#[test]
fn a_rank_that_owns_nothing_may_store_padding() {
    let part = |rank, range, lower, upper| {
        DimDict::block(6, 3, rank, range)
            .unwrap()
            .with_padding(lower, upper)
            .unwrap()
    };
    let dims = vec![
        part(0, 0..3, 0, 0),
        part(1, 2..4, 1, 1),
        part(2, 3..6, 0, 0),
    ];
    let d = Distribution::from_dim_data_per_rank(&parts(dims.clone())).unwrap();
    assert_eq!((d.local_shape(1), d.owned_shape(1)), (vec![2], vec![0]));
    assert_eq!(d.dim_data(1).unwrap(), DimData::new(vec![dims[1].clone()]));
}

#[test]
fn builders_check_everything() {
    let over = |ranks| Distribution::over(ranks).shape([10, 4]);
    let error = |b: dist_maps::DistributionBuilder| b.build().unwrap_err();
    assert_eq!(
        error(over(4).block(2)),
        MapError::Axis { given: 2, ndim: 2 }
    );
    assert_eq!(
        error(over(4).block(0).cyclic(0)),
        MapError::RepeatedAxis { axis: 0 }
    );
    assert!(matches!(error(over(0)), MapError::Ranks { given: 0, .. }));
    assert!(matches!(
        error(over(usize::MAX).block(0)),
        MapError::Ranks { .. }
    ));
    assert_eq!(
        error(over(4).block(0).grid([5, 1])),
        MapError::GridTooLarge {
            given: 5,
            allowed: 4
        }
    );
    assert!(matches!(
        error(over(4).block(0).grid([2, 2])),
        MapError::GridExtent { axis: 1, .. }
    ));
    assert!(matches!(
        error(over(4).block(0).grid([2])),
        MapError::Count { .. }
    ));
    assert!(matches!(
        error(over(4).block(0).grid([0, 1])),
        MapError::GridExtent { axis: 0, .. }
    ));
    assert!(matches!(
        error(over(4).block_bounds(0, [0, 3, 2, 10])),
        MapError::Bounds { position: 2, .. }
    ));
    assert!(matches!(
        error(over(4).block_bounds(0, [0, 9])),
        MapError::Bounds { position: 1, .. }
    ));
    assert!(matches!(
        error(over(4).block_bounds(0, [1, 10])),
        MapError::Bounds { position: 0, .. }
    ));
    assert!(matches!(
        error(over(4).block_bounds(0, [])),
        MapError::Ranks { given: 0, .. }
    ));
    assert!(matches!(
        error(over(4).cyclic(0).padding_of(0, 1, 1)),
        MapError::NotABlock { kind: "c", .. }
    ));
    assert!(matches!(
        error(over(4).cyclic(0).periodic(0)),
        MapError::NotABlock { .. }
    ));
    assert!(matches!(
        error(over(4).block(0).boundary(0, 6, 5)),
        MapError::Size { given: 11, .. }
    ));
    assert!(matches!(
        error(over(4).block(0).targets([0, 1, 1, 2])),
        MapError::Target { given: 1, .. }
    ));
    assert!(matches!(
        error(over(4).block(0).targets([0, 1, 4, 2])),
        MapError::Target { given: 4, .. }
    ));
    assert!(matches!(
        Distribution::from_shape(&[3], "x", None, 1),
        Err(MapError::Kind { given: 'x', .. })
    ));
    assert!(matches!(
        Distribution::from_shape(&[3], "u", None, 1),
        Err(MapError::NeedsIndices { axis: 0 })
    ));
    assert!(matches!(
        Distribution::from_shape(&[3], "bb", None, 1),
        Err(MapError::Axis { given: 1, .. })
    ));
    let wide = GlobalDim::Block {
        bounds: vec![0, 4],
        comm_padding: Padding::default(),
        boundary_padding: Padding::new(u64::MAX, 1),
        periodic: true,
    };
    assert!(Distribution::from_global_dim_data(&[wide], 1).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn nothing_overflows_at_the_largest_sizes(
        kind in 0..6, ranks in 1_usize..9, block in prop_oneof![1_u64..99, any::<u64>()],
        start in prop::option::of(any::<i64>()), stop in prop::option::of(any::<i64>()),
        step in prop_oneof![-9_i64..9, any::<i64>(), Just(i64::MIN)],
        less in 0_u64..50, at in any::<i64>(), pad in any::<u64>(),
    ) {
        let size = i64::MAX.unsigned_abs() - less;
        let axis = match kind {
            0 => AxisDist::block(size, ranks),
            1 => AxisDist::block_balanced(size, ranks),
            2 => AxisDist::block_floor(size, ranks),
            3 => AxisDist::cyclic(size, ranks, block.max(1)),
            4 => AxisDist::block(size, ranks).and_then(|a| a.with_padding(pad, block)),
            _ => AxisDist::unstructured(size, vec![vec![at.checked_abs().unwrap_or(0) % 100, 700]; ranks]),
        };
        let d = Distribution::from_axes(vec![axis.unwrap()], ranks, (0..ranks).collect::<Vec<_>>()).unwrap();
        let _ = d.owner(&[at]);
        let _ = d.compatibility_hash();
        let _ = d.drop_empty();
        let _ = d.slice(&[Index::At(at)]);
        let _ = d.concatenate(&[&d], 0);
        let _ = d.reshape(&[size]);
        let _ = d.reshape(&[1, size, 1]);
        let _ = d.reshape(&[3, size / 3]);
        for rank in 0..ranks {
            let part = d.dim_data(rank).unwrap();
            prop_assert_eq!(part.local_shape().len(), 1);
            let _ = dist_maps::compact_indices(&part);
        }
        let _ = dist_maps::draw_text(&d);
        let slice = Slice::new(start, stop, step);
        match (slice.resolve(size), d.slice(&[slice.into()])) {
            (Err(a), Err(b)) => prop_assert_eq!(a, b),
            (Ok((first, step, count)), Ok(sliced)) => {
                let new = sliced.distribution();
                prop_assert_eq!(new.global_shape(), &[count]);
                if kind == 5 {
                    return Ok(()); // lists own little of it
                }
                for k in [0, count / 2, count.saturating_sub(1)] {
                    if k >= count {
                        continue;
                    }
                    let g = i128::from(first) + i128::from(k) * i128::from(step);
                    let g = i64::try_from(g).unwrap();
                    prop_assert_eq!(new.owner(&[k.cast_signed()]), d.owner(&[g]));
                }
            }
            (Ok(_), Err(error)) => {
                let listed = matches!(error, MapError::TooManyToList { .. });
                prop_assert!(listed, "{}", error);
            }
            (Err(error), Ok(_)) => prop_assert!(false, "{}", error),
        }
    }
}
