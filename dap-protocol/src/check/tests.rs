use super::*;
use crate::literal::{Value, parse};
use crate::{DimData, DimDict, ProtocolVersion};

const NOW: ProtocolVersion = ProtocolVersion::CURRENT;

fn one(text: &str, extent: Option<u64>, strictness: Strictness) -> Checked<DimDict> {
    dim_dict(0, &parse(text).unwrap(), extent, NOW, strictness)
}

fn codes(text: &str) -> String {
    let found = one(text, None, Strictness::Strict);
    assert_eq!(found.value.is_some(), found.violations.is_empty());
    found
        .codes()
        .iter()
        .map(|c| c.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

const BLOCK: &str = "'dist_type': 'b', 'size': 10, 'proc_grid_size': 2, 'proc_grid_rank': 1";

#[test]
fn every_violation_is_listed() {
    assert_eq!(codes("{'dist_type': 'b'}"), "C1 C1 C1 C1 C1");
    assert_eq!(codes("{'dist_type': 'u', 'size': -1}"), "C1 C1 C3 C1");
    let text = "{'dist_type': 'b', 'size': 10, 'proc_grid_size': 0, 'proc_grid_rank': -1, \
                'start': -1, 'stop': 11, 'padding': (1,), 'periodic': 3}";
    assert_eq!(codes(text), "C4 C5 B1 B4 B3 C2");
    // without a kind, the keys that every kind has
    assert_eq!(codes("{'size': -1, 'proc_grid_size': 0}"), "C1 C1 C3 C4");
    assert_eq!(
        codes("{'dist_type': 'x', 'size': 4, 'proc_grid_size': 2, 'proc_grid_rank': 2}"),
        "C6 C5"
    );
}

#[test]
fn every_bad_index_is_listed() {
    let read = |indices: &str| {
        let text = format!(
            "{{'dist_type': 'u', 'size': 10, 'proc_grid_size': 1, 'proc_grid_rank': 0, \
             'indices': ({indices},)}}"
        );
        let found = one(&text, None, Strictness::Strict);
        let shown: Vec<_> = found.violations.iter().map(|v| v.given.clone()).collect();
        (codes(&text), shown)
    };
    let (found, given) = read("3, 0.5, 3, 'x', 1, 1");
    assert_eq!(found, "U1 U1 U2 U2");
    assert_eq!(
        given,
        [
            "0.5 at position 1",
            "'x' at position 3",
            "1 twice",
            "3 twice"
        ]
    );
    // beyond eight they are counted
    let (_, given) = read(&["None"; 11].join(", "));
    assert_eq!(given.len(), 9);
    assert_eq!(given[8], "something else at 3 more positions");
    let pairs: Vec<String> = (0..20).map(|i| (i / 2).to_string()).collect();
    let (_, given) = read(&pairs.join(", "));
    assert_eq!((given.len(), &*given[8]), (9, "2 more indices twice"));
}

#[test]
fn a_numpy_array_is_written_as_a_tuple() {
    let text = "{'dist_type': 'u', 'size': 9, 'proc_grid_size': 1, 'proc_grid_rank': 0, \
                'indices': array([4, 8, 1], dtype=int64)}";
    let dim = one(text, Some(3), Strictness::Strict).value.unwrap();
    assert_eq!(
        dim.to_value().to_string(),
        "{'dist_type': 'u', 'indices': (4, 8, 1), 'proc_grid_rank': 0, 'proc_grid_size': 1, 'size': 9}"
    );
}

#[test]
fn a_cyclic_rank_may_say_that_it_holds_nothing() {
    let text = |rank: u8, start: u64| {
        format!(
            "{{'dist_type': 'c', 'size': 10, 'proc_grid_size': 2, 'proc_grid_rank': {rank}, \
             'start': {start}}}"
        )
    };
    assert_eq!(codes(&text(1, 10)), "K2");
    let found = one(&text(1, 12), Some(0), Strictness::Lenient);
    assert_eq!(
        found.repairs[0].to_string(),
        "K2 axis 0: start is 12, read as 10, nothing held"
    );
    let empty = found.value.unwrap();
    assert_eq!(empty.stored_len(), 0);
    assert_eq!(empty.to_value().get("start"), Some(&Value::Int(10)));
    // below the size it is no end at all
    let found = one(&text(1, 9), None, Strictness::Lenient);
    assert_eq!((found.codes(), found.repairs), (vec![Code::K2], vec![]));
    // the whole set misses what the rank does not hold
    let first = one(&text(0, 0), Some(5), Strictness::Strict).value.unwrap();
    assert_eq!(
        check_set(vec![first, empty]),
        "S7 axis 0: sum of the owned counts is 5, allowed: 10 (size)"
    );
}

#[test]
fn lenient_reading_reports_each_repair() {
    let text = "{'dist_type': b'b', 'size': 10.0, 'proc_grid_size': 2, 'proc_grid_rank': True, \
                'start': 5, 'stop': 10, 'padding': [1, 0], 'periodic': 1, 'x': 3}";
    let found = one(text, Some(5), Strictness::Lenient);
    let repairs: Vec<String> = found.repairs.iter().map(ToString::to_string).collect();
    assert_eq!(
        repairs,
        [
            "C2 axis 0: dist_type is b'b', read as 'b'",
            "C2 axis 0: size is 10.0, read as 10",
            "C2 axis 0: proc_grid_rank is True, read as 1",
            "B3 axis 0: padding is [1, 0], read as (1, 0)",
            "C2 axis 0: periodic is 1, read as True",
        ]
    );
    assert_eq!(
        found.value.unwrap().to_value().to_string(),
        "{'dist_type': 'b', 'padding': (1, 0), 'periodic': True, 'proc_grid_rank': 1, \
         'proc_grid_size': 2, 'size': 10, 'start': 5, 'stop': 10, 'x': 3}"
    );
    assert_eq!(codes(text), "C2 C2 C2");
}

#[test]
fn what_was_read_can_be_written_alike_or_canonically() {
    const BARE: &str = "{'dist_type': 'b', 'proc_grid_rank': 0, 'proc_grid_size': 1, 'size': 7, 'start': 0, 'stop': 7}";
    for (text, canonical) in [
        ("{}", BARE),
        (
            "{'dist_type': 'b', 'padding': (0, 0), 'periodic': False, 'proc_grid_rank': 0, \
             'proc_grid_size': 1, 'size': 7, 'start': 0, 'stop': 7}",
            BARE,
        ),
        (BARE, BARE),
        (
            "{'block_size': 1, 'dist_type': 'c', 'proc_grid_rank': 0, 'proc_grid_size': 1, 'size': 7, 'start': 0}",
            "{'dist_type': 'c', 'proc_grid_rank': 0, 'proc_grid_size': 1, 'size': 7, 'start': 0}",
        ),
        (
            "{'dist_type': 'u', 'indices': [0, 1, 2, 3, 4, 5, 9], 'one_to_one': False, \
             'proc_grid_rank': 0, 'proc_grid_size': 1, 'size': 7, 'stop': 3}",
            "{'dist_type': 'u', 'indices': (0, 1, 2, 3, 4, 5, 9), 'proc_grid_rank': 0, \
             'proc_grid_size': 1, 'size': 7, 'stop': 3}",
        ),
    ] {
        let dim = one(text, Some(7), Strictness::Strict).value.unwrap();
        assert_eq!(dim.to_value_as_read().to_string(), text);
        assert_eq!(dim.to_value().to_string(), canonical);
    }
}

#[test]
fn extra_keys_never_stand_for_the_protocols() {
    let dim = DimDict::cyclic(7, 2, 1, 1).unwrap();
    let stop = dim.with_extra("stop", Value::None).unwrap().to_value();
    let found = dim_dict(0, &stop, None, NOW, Strictness::Strict);
    assert_eq!(found.value.unwrap().to_value(), stop);
}

#[test]
fn the_extent_is_compared() {
    let text = format!("{{{BLOCK}, 'start': 5, 'stop': 10}}");
    assert_eq!(one(&text, Some(5), Strictness::Strict).codes(), []);
    let found = one(&text, Some(4), Strictness::Lenient);
    assert_eq!(
        found.violations[0].to_string(),
        "C8 axis 0: buffer extent is 4, allowed: 5 (by the dictionary)"
    );
    assert_eq!(one("{}", None, Strictness::Lenient).codes(), [Code::C1]);
}

#[test]
fn cyclic_starts() {
    let read = |start: &str, rank: u8| {
        let text = format!(
            "{{'dist_type': 'c', 'size': 4, 'proc_grid_size': 4, 'proc_grid_rank': {rank}, \
             'start': {start}, 'block_size': 2}}"
        );
        let found = one(&text, None, Strictness::Strict);
        (
            found.value.as_ref().map(DimDict::stored_len),
            found.codes(),
            found.repairs.len(),
        )
    };
    assert_eq!(read("2", 1), (Some(2), vec![], 0));
    assert_eq!(read("6", 3), (Some(0), vec![], 0));
    assert_eq!(read("4", 3), (Some(0), vec![], 1));
    assert_eq!(read("99999999999999999999", 3), (Some(0), vec![], 1));
    assert_eq!(read("4", 1), (None, vec![Code::K2], 0));
    assert_eq!(read("-1", 3), (None, vec![Code::K2], 0));
}

#[test]
fn numbers_of_any_size_are_compared_without_overflow() {
    let max = u64::MAX;
    let cyclic = |start: &str| {
        codes(&format!(
            "{{'dist_type': 'c', 'size': 4, 'proc_grid_size': {max}, 'proc_grid_rank': {}, \
             'start': {start}, 'block_size': {max}}}",
            max - 1
        ))
    };
    assert_eq!((cyclic("4"), cyclic("3")), (String::new(), "K2".to_owned()));
    let dim = DimDict::cyclic(4, usize::MAX, usize::MAX - 1, max).unwrap();
    assert_eq!(dim.stored_len(), 0);
    let huge = "170141183460469231731687303715884105727";
    let block = format!("{{{BLOCK}, 'start': -{huge}, 'stop': {huge}, 'padding': ({huge}, 1)}}");
    assert_eq!(codes(&block), "B1 B4 B3");
}

#[test]
fn versions() {
    let read = |text: &str, strictness| version(&text.into(), strictness).value;
    assert_eq!(
        read("0.9.1", Strictness::Strict),
        Some(ProtocolVersion::new(0, 9, 1))
    );
    for text in ["0.10", "0.10.0a1", "0.10.0.dev3", "0.10rc1"] {
        assert_eq!(read(text, Strictness::Strict), None, "{text}");
        assert_eq!(read(text, Strictness::Lenient), Some(NOW), "{text}");
    }
    for text in [
        "", "1.0.0", "0.10.0.0", " 0.10.0", "0.11a1", "0.10.0x1", "a1",
    ] {
        assert_eq!(read(text, Strictness::Lenient), None, "{text}");
    }
}

fn check_set(dims: Vec<DimDict>) -> String {
    let parts: Vec<_> = dims
        .into_iter()
        .map(|d| (NOW, DimData::new(vec![d])))
        .collect();
    set(&parts)
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

fn block(size: u64, ranks: usize, rank: usize, range: (u64, u64), pad: (u64, u64)) -> DimDict {
    let dim = DimDict::block(size, ranks, rank, range.0..range.1).unwrap();
    dim.with_padding(pad.0, pad.1).unwrap()
}

#[test]
fn blocks_tile_with_their_padding() {
    // 18 elements on two ranks, one element of padding each
    let good = |pad| {
        vec![
            block(18, 2, 0, (0, 10), (1, 1)),
            block(18, 2, 1, (8, 18), pad),
        ]
    };
    assert_eq!(check_set(good((1, 1))), "");
    assert_eq!(
        check_set(good((2, 1))),
        "S5 axis 0 rank 1: padding is 2, allowed: 1 (upper padding of rank 0)"
    );
    let gap = vec![
        block(18, 2, 0, (0, 10), (1, 1)),
        block(18, 2, 1, (9, 18), (1, 1)),
    ];
    assert_eq!(
        check_set(gap),
        "S4 axis 0 rank 1: start is 9, allowed: 8 (stop of rank 0 less the padding of 2)"
    );
    // the middle rank owns one element, its neighbours want two
    let thin = vec![
        block(10, 3, 0, (0, 6), (0, 2)),
        block(10, 3, 1, (2, 7), (2, 2)),
        block(10, 3, 2, (3, 10), (2, 0)),
    ];
    assert_eq!(
        check_set(thin),
        "S6 axis 0 rank 0: padding is 2, allowed: at most 1 (owned by rank 1); \
         S6 axis 0 rank 2: padding is 2, allowed: at most 1 (owned by rank 1)"
    );
}

#[test]
fn empty_ranks_are_stepped_over() {
    let dims = vec![
        block(4, 4, 0, (0, 3), (0, 1)),
        block(4, 4, 1, (4, 4), (0, 0)),
        block(4, 4, 2, (1, 4), (1, 0)),
        block(4, 4, 3, (4, 4), (0, 0)),
    ];
    assert_eq!(check_set(dims), "");
    let none = (0..2).map(|r| block(0, 2, r, (0, 0), (0, 0))).collect();
    assert_eq!(check_set(none), "");
    let nobody = (0..2).map(|r| block(3, 2, r, (0, 0), (0, 0))).collect();
    assert_eq!(
        check_set(nobody),
        "S4 axis 0 rank 1: stop is 0, allowed: 3 (size, last block)"
    );
}

#[test]
fn the_set_is_one_grid() {
    let part = |rank| block(4, 2, rank, (2 * rank as u64, 2 * rank as u64 + 2), (0, 0));
    assert_eq!(check_set(vec![part(1), part(0)]), "");
    assert_eq!(
        check_set(vec![part(0)]),
        "S1: proc_grid_size is 2 (product), allowed: 1 (ranks given)"
    );
    assert_eq!(
        check_set(vec![part(0), part(0)]),
        "S1 rank 0: proc_grid_rank is [0] twice, allowed: each rank once"
    );
    assert!(check_set(vec![]).starts_with("S1"));
    assert_eq!(set(&[(NOW, DimData::default())]), []);
}

#[test]
fn indices_of_one_to_one_lie_on_one_rank() {
    let u = |rank, list: &[i64]| DimDict::unstructured(4, 2, rank, list, true).unwrap();
    assert_eq!(check_set(vec![u(0, &[3, 0]), u(1, &[1, 2])]), "");
    assert!(check_set(vec![u(0, &[3, 0]), u(1, &[3, 2])]).starts_with("S8 axis 0 rank 1"));
    assert!(check_set(vec![u(0, &[3, 0]), u(1, &[1])]).starts_with("S7 axis 0"));
}

#[test]
fn periodic_edges_are_owned_in_valid_sets_of_either_version() {
    let dims = |r| {
        let (start, stop) = if r == 0 { (0, 10) } else { (8, 18) };
        block(18, 2, r, (start, stop), (1, 1))
            .with_periodic(true)
            .unwrap()
    };
    for version in [ProtocolVersion::V0_9_0, ProtocolVersion::V0_10_0] {
        let parts: Vec<_> = (0..2)
            .map(|r| (version, DimData::new(vec![dims(r)])))
            .collect();
        let report = set_report(&parts, Strictness::Strict);
        assert_eq!(report.violations, []);
        assert_eq!(report.periodic_edges, [true]);
    }
    // not counted, as 0.9 has it: an index beyond the size
    let data = "({'dist_type': 'b', 'size': 16, 'proc_grid_size': 2, 'proc_grid_rank': 1, 'start': 8, 'stop': 18, \
        'padding': (1, 1), 'periodic': True},)";
    let value = crate::literal::parse(data).unwrap();
    let found = dim_data(&value, None, ProtocolVersion::V0_9_0, Strictness::Lenient);
    let shown: Vec<String> = found.violations.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["B4 axis 0: stop is 18, allowed: at most 16 (size)"]);
    let plain = |r| block(18, 2, r, (9 * r as u64, 9 * r as u64 + 9), (0, 0));
    assert_eq!(
        report(NOW, &[plain(0), plain(1)], Strictness::Strict).periodic_edges,
        [false]
    );
}

fn report(version: ProtocolVersion, dims: &[DimDict], strictness: Strictness) -> SetReport {
    let part = |dim: &DimDict| (version, DimData::new(vec![dim.clone()]));
    let parts: Vec<_> = dims.iter().map(part).collect();
    set_report(&parts, strictness)
}

#[test]
fn halos_over_several_neighbours_are_no_error_leniently() {
    // one element each on four ranks, two on each side, as far as there are any
    let dims = [
        block(4, 4, 0, (0, 3), (0, 2)),
        block(4, 4, 1, (0, 4), (1, 2)),
        block(4, 4, 2, (0, 4), (2, 1)),
        block(4, 4, 3, (1, 4), (2, 0)),
    ];
    let strict = report(NOW, &dims, Strictness::Strict);
    assert!(!strict.is_conformant() && strict.repairs.is_empty());
    let lenient = report(NOW, &dims, Strictness::Lenient);
    assert_eq!(lenient.violations, []);
    assert!(!lenient.is_conformant());
    let shown: Vec<String> = lenient.repairs.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "S5 axis 0 rank 1: padding is 1, read as 1, over several neighbours",
            "S6 axis 0 rank 0: padding is 2, read as 2, over several neighbours",
            "S6 axis 0 rank 1: padding is 2, read as 2, over several neighbours",
            "S6 axis 0 rank 2: padding is 2, read as 2, over several neighbours",
            "S5 axis 0 rank 3: padding is 2, read as 2, over several neighbours",
            "S6 axis 0 rank 3: padding is 2, read as 2, over several neighbours",
        ]
    );
    // three on each side, of a block of three and one of two: only the end cuts it short
    let last_is_narrow = [
        block(5, 2, 0, (0, 5), (0, 2)),
        block(5, 2, 1, (0, 5), (3, 0)),
    ];
    let first_is_narrow = [
        block(5, 2, 0, (0, 5), (0, 3)),
        block(5, 2, 1, (0, 5), (2, 0)),
    ];
    for (dims, given) in [(last_is_narrow, "3"), (first_is_narrow, "2")] {
        assert!(!report(NOW, &dims, Strictness::Strict).is_conformant());
        let lenient = report(NOW, &dims, Strictness::Lenient);
        assert_eq!(lenient.violations, []);
        assert_eq!(lenient.repairs[0].given, given);
    }
    // padding that nothing cuts short has its counterpart all the same
    let lopsided = [
        block(18, 2, 0, (0, 10), (0, 1)),
        block(18, 2, 1, (7, 18), (2, 0)),
    ];
    let found = report(NOW, &lopsided, Strictness::Lenient);
    assert_eq!(found.violations.len(), 1);
    assert_eq!(found.violations[0].code, Code::S5);
    let good = [
        block(18, 2, 0, (0, 10), (0, 1)),
        block(18, 2, 1, (8, 18), (1, 0)),
    ];
    assert!(report(NOW, &good, Strictness::Strict).is_conformant());
}

#[test]
fn a_neighbour_owns_its_periodic_edge_by_either_version() {
    // rank 0 owns 5 with its periodic edge, so that 3 of it fit the padding; rank 1 starts one too late
    let dims = [
        block(12, 2, 0, (0, 8), (3, 3)),
        block(12, 2, 1, (3, 12), (3, 0)),
    ]
    .map(|dim| dim.with_periodic(true).unwrap());
    let codes = |version| -> Vec<Code> {
        let found = report(version, &dims, Strictness::Strict).violations;
        found.iter().map(|v| v.code).collect()
    };
    assert_eq!(codes(ProtocolVersion::V0_10_0), [Code::S4]);
    assert_eq!(codes(ProtocolVersion::V0_9_0), [Code::S4]);
}

/// `T1`, the rule of the top level that no mutation of a dimension reaches: exactly three keys.
#[test]
fn the_top_level_has_exactly_its_keys() {
    const WHOLE: &str = "'__version__': '0.10.0', 'buffer': 0, 'dim_data': ()";
    let check = |text: &str, shape: Option<&[usize]>| {
        let value = parse(text).unwrap();
        dist_buffer(&value, shape, Strictness::Strict).codes()
    };
    let scalar = Some(&[][..]);
    assert_eq!(check(&format!("{{{WHOLE}}}"), scalar), []);
    for text in [
        "{'buffer': 0, 'dim_data': ()}".to_owned(),
        "{'__version__': '0.10.0', 'dim_data': ()}".to_owned(),
        "{'__version__': '0.10.0', 'buffer': 0}".to_owned(),
        format!("{{{WHOLE}, 'owner': 1}}"),
        "()".to_owned(),
        "3".to_owned(),
    ] {
        assert_eq!(check(&text, scalar), [Code::T1], "{text}");
    }
    assert_eq!(check("{}", scalar), [Code::T1; 3]); // each of the three keys
    // an object that is no buffer
    assert_eq!(check(&format!("{{{WHOLE}}}"), None), [Code::T1]);
    // a header has no buffer
    let header = |text: &str| header(&parse(text).unwrap(), scalar, Strictness::Strict).codes();
    assert_eq!(header("{'__version__': '0.10.0', 'dim_data': ()}"), []);
    assert_eq!(header(&format!("{{{WHOLE}}}")), [Code::T1]);
}
