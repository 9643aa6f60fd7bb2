//! What is refused, and how: never by a panic, and naming what was given and what is allowed.

use dap_protocol::literal::Value;
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
        // edge coordinates that own less than the boundary, or nothing
        Distribution::over(4)
            .shape([9])
            .block(0)
            .padding(1)
            .periodic(0),
        Distribution::over(6)
            .shape([26, 3])
            .block(0)
            .padding(3)
            .periodic(0),
        Distribution::over(5).shape([12]).block(0).boundary(0, 7, 4),
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
fn a_boundary_over_several_coordinates_is_exported() {
    // 0..3, 3..6, 6..9 and nothing: index 8 is boundary, the last coordinate has none of it
    let axis = AxisDist::block(9, 4)
        .and_then(|axis| axis.with_boundary(1, 1))
        .unwrap();
    let dims: Vec<DimDict> = (0..4).map(|c| axis.dim_dict(c).unwrap()).collect();
    let padding: Vec<_> = dims.iter().map(DimDict::padding).collect();
    let none = Padding::default();
    assert_eq!(padding, [Padding::new(1, 0), none, none, none]);
    for dim in &dims {
        let both = dim.to_value().get("boundary_padding").unwrap().to_string();
        assert_eq!(both, "(1, 1)");
    }
    let with = |coord: usize, value: Value| {
        let mut changed = dims.clone();
        let dim = changed.remove(coord).with_extra("boundary_padding", value);
        changed.insert(coord, dim.unwrap());
        parts(changed)
    };
    let pair = |lower: i64, upper: i64| Value::List(vec![lower.into(), upper.into()]);
    let read = |parts: &[DimData]| Distribution::from_dim_data_per_rank(parts);
    let same = read(&with(1, pair(1, 1))).unwrap();
    assert_eq!(same.axes()[0], axis);
    let error = read(&with(2, pair(1, 2))).unwrap_err().to_string();
    assert_eq!(
        error,
        "rank 2 axis 0: boundary_padding is not that of the other ranks"
    );
    // somebody else's key of that name says nothing
    for value in ["reflect".into(), pair(-1, 0), pair(5, 5), 3_i64.into()] {
        assert_eq!(read(&with(0, value)).unwrap().axes()[0], axis);
    }
    // where the edges hold it, the protocol's padding says all
    let wide = AxisDist::block(9, 3)
        .and_then(|axis| axis.with_boundary(3, 3))
        .unwrap();
    assert!((0..3).all(|c| wide.dim_dict(c).unwrap().extra().is_empty()));
}

#[test]
fn an_inactive_rank_does_not_break_a_periodic_axis() {
    // rank 3 is inactive, rank 4 has the last coordinate and owns nothing
    let d = Distribution::over(5)
        .shape([9])
        .block(0)
        .padding(1)
        .periodic(0)
        .grid([4])
        .targets([0, 1, 2, 4])
        .build()
        .unwrap();
    let parts: Vec<DimData> = (0..5).map(|rank| d.dim_data(rank).unwrap()).collect();
    let read = Distribution::from_dim_data_per_rank(&parts).unwrap();
    assert_eq!(read.axes(), d.axes());
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
    let no_shape = [
        Distribution::over(2).block(1).periodic(0),
        Distribution::over(2).padding_of(1, 1, 1),
        Distribution::over(2).periodic(1),
    ];
    for builder in no_shape {
        let error = error(builder);
        assert_eq!(error, MapError::NoShape { axis: 1 });
        assert!(error.to_string().contains("`.shape("), "{error}");
    }
    assert_eq!(
        error(Distribution::over(2).shape([]).block(0)),
        MapError::Axis { given: 0, ndim: 0 }
    );
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

#[test]
fn errors_name_the_axis() {
    let over = |shape: [u64; 2]| Distribution::over(4).shape(shape);
    let error = |b: dist_maps::DistributionBuilder| b.build().unwrap_err().to_string();
    let large = over([10, 1 << 63]).grid([1, 1]).block(1);
    assert!(error(large).starts_with("axis 1: size 9223372036854775808 is too large"));
    assert_eq!(
        error(over([10, 4]).block_bounds(1, [0, 5])),
        "axis 1: bounds[1] is 5, allowed: 4 to 4"
    );
    assert_eq!(
        error(over([10, 4]).block_cyclic(1, 0)),
        "axis 1: block size 0, allowed: at least 1"
    );
    assert_eq!(
        error(over([10, 4]).cyclic(1).periodic(1)),
        "axis 1: periodic on an axis of kind \"c\", allowed: blocks only"
    );
    assert_eq!(
        error(over([10, 4]).unstructured(1, [vec![0, 4]])),
        "axis 1: index 4 of an axis of size 4"
    );
    assert_eq!(
        error(over([10, 4]).unstructured(1, [vec![2], vec![3, 3]])),
        "axis 1: coordinate 1: index 3 is listed twice"
    );
    assert_eq!(
        error(over([10, 4]).block(0).boundary(0, 6, 5)),
        "axis 0: boundary padding of 11 elements, allowed: 0 to 10"
    );
    assert_eq!(
        error(
            over([10, 4])
                .block(0)
                .block(1)
                .grid([2, 2])
                .padding(3)
                .periodic(1)
        ),
        "axis 1: boundary padding of 6 elements, allowed: 0 to 4"
    );
    let d = over([10, 4]).block(0).build().unwrap();
    assert_eq!(
        d.slice(&[Index::At(0), Index::At(-5)])
            .unwrap_err()
            .to_string(),
        "axis 1: index -5 of an axis of size 4"
    );
    assert_eq!(
        dist_maps::pack_index(&[10, 4], &[9, 4])
            .unwrap_err()
            .to_string(),
        "axis 1: index 4 of an axis of size 4"
    );
    let whole = GlobalDim::Whole { size: 3 };
    let dealt = GlobalDim::Cyclic {
        size: 3,
        grid_size: 1,
        block_size: 0,
    };
    let refused = Distribution::from_global_dim_data(&[whole, dealt], 1);
    assert_eq!(refused, Err(MapError::BlockSize { axis: Some(1) }));
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
