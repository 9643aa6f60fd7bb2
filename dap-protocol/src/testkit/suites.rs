//! Suites: what every exporter, importer and buffer has to keep to.

use super::cases::cases;
use crate::check::{self, Strictness};
use crate::literal::parse;
use crate::{
    DistBuffer, Element, HostArray, HostBuffer, HostBufferMut, LocalBuffer, Order, ProtocolVersion,
};

/// Checks the exports of all ranks, in any order: the rules of each rank and of the whole set, one
/// element type, and that the metadata survives being written and read. Padding over several
/// neighbours passes, see [`check::set_report`].
///
/// # Errors
/// Everything that is wrong, as text.
pub fn check_exporter<B: LocalBuffer>(ranks: &[DistBuffer<B>]) -> Result<(), String> {
    let parts: Vec<_> = ranks
        .iter()
        .map(|part| (part.version(), part.dim_data().clone()))
        .collect();
    let report_of_set = check::set_report(&parts, Strictness::Lenient);
    let mut wrong: Vec<String> = report_of_set
        .violations
        .iter()
        .map(ToString::to_string)
        .collect();
    for (position, part) in ranks.iter().enumerate() {
        let element = part.buffer().element_type();
        if element != ranks[0].buffer().element_type() {
            wrong.push(format!(
                "part {position}: elements are {element}, not those of part 0"
            ));
        }
        let text = part.dim_data().to_value().to_string();
        let read = parse(&text).map_err(|e| e.to_string()).and_then(|value| {
            let shape = part.buffer().shape();
            check::dim_data(&value, Some(shape), part.version(), Strictness::Strict)
                .into_result()
                .map_err(|e| e.to_string())
        });
        match read {
            Ok((data, _)) if data == *part.dim_data() => {}
            Ok(_) => wrong.push(format!(
                "part {position}: {text} reads back as something else"
            )),
            Err(e) => wrong.push(format!("part {position}: {text} does not read back: {e}")),
        }
    }
    report(&wrong)
}

/// Checks what a buffer in host memory says of its bytes: their number, whole elements in each
/// piece, and that the contiguous form and the visited one agree.
///
/// # Errors
/// Everything that is wrong, as text.
pub fn check_host_buffer<B: HostBuffer + ?Sized>(buffer: &B) -> Result<(), String> {
    let mut wrong = Vec::new();
    let size = buffer.element_type().size();
    let count: usize = buffer.shape().iter().product();
    let mut bytes = Vec::new();
    buffer.visit_bytes(&mut |piece| {
        if piece.len() % size != 0 {
            wrong.push(format!(
                "a piece of {} bytes, elements have {size}",
                piece.len()
            ));
        }
        bytes.extend_from_slice(piece);
    });
    if bytes.len() != count * size {
        wrong.push(format!(
            "{} bytes visited, the shape has {}",
            bytes.len(),
            count * size
        ));
    } else if let Some((contiguous, order)) = buffer.contiguous_bytes() {
        let both = buffer.shape().iter().filter(|&&n| n != 1).count() <= 1 || count == 0;
        if both && order != Order::C {
            wrong.push("a buffer of both orders says Fortran".to_owned());
        }
        let expected = match order {
            Order::C => bytes,
            Order::Fortran => fortran(&bytes, buffer.shape(), size),
        };
        if contiguous != expected {
            wrong.push(format!(
                "contiguous bytes in {order:?} order differ from the visited ones"
            ));
        }
    }
    report(&wrong)
}

/// The same elements in Fortran order: position by position, the slow way.
fn fortran(bytes: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let count = bytes.len() / size;
    let mut out = vec![0; bytes.len()];
    for c in 0..count {
        let (mut rest, mut f) = (c, 0);
        for axis in (0..shape.len()).rev() {
            f += rest % shape[axis] * shape[..axis].iter().product::<usize>();
            rest /= shape[axis];
        }
        out[f * size..(f + 1) * size].copy_from_slice(&bytes[c * size..(c + 1) * size]);
    }
    out
}

/// Checks that a buffer takes bytes in C order, gives them back, and refuses another number of
/// them. Its elements are set to other values.
///
/// # Errors
/// Everything that is wrong, as text.
pub fn check_host_buffer_mut<B: HostBufferMut + ?Sized>(buffer: &mut B) -> Result<(), String> {
    let len = buffer.shape().iter().product::<usize>() * buffer.element_type().size();
    // 0 and 1 in turn: values of every type.
    let bytes: Vec<u8> = (0..len).map(|i| u8::from(i % 3 == 0)).collect();
    let mut wrong = Vec::new();
    if let Err(e) = buffer.copy_from_bytes(&bytes) {
        wrong.push(format!("{len} bytes were refused: {e}"));
    }
    let mut seen = Vec::new();
    buffer.visit_bytes(&mut |piece| seen.extend_from_slice(piece));
    if seen != bytes {
        wrong.push("other bytes came back than were written".to_owned());
    }
    if buffer.copy_from_bytes(&[&bytes[..], &[0]].concat()).is_ok() {
        wrong.push(format!(
            "{} bytes were taken, the buffer has {len}",
            len + 1
        ));
    }
    wrong.extend(check_host_buffer(buffer).err());
    report(&wrong)
}

/// What [`check_importer`] saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Names of the cases that came back whole.
    pub imported: Vec<String>,
    /// Unusual cases that were refused, with the reason given.
    pub refused: Vec<(String, String)>,
}

/// Feeds an importer the parts of every [`cases`] entry in rank order, in C and in Fortran order,
/// and compares what its arrays export.
///
/// `round_trip` imports all parts (on thread ranks, say, where the array needs a communicator) and
/// returns the exports, copied to host arrays, in rank order. It may refuse unusual cases only.
///
/// # Errors
/// Everything that is wrong, as text.
pub fn check_importer<F, E>(mut round_trip: F) -> Result<ImportReport, String>
where
    F: FnMut(Vec<DistBuffer<HostArray<f64>>>) -> Result<Vec<DistBuffer<HostArray<f64>>>, E>,
    E: std::fmt::Display,
{
    let mut seen = ImportReport::default();
    let mut wrong = Vec::new();
    for case in cases() {
        for order in [Order::C, Order::Fortran] {
            let name = format!("{} ({order:?} order)", case.name);
            let parts: Result<Vec<_>, _> = case
                .parts
                .iter()
                .enumerate()
                .map(|(rank, data)| {
                    let shape: Vec<usize> = data
                        .local_shape()
                        .into_iter()
                        .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
                        .collect();
                    let count = u32::try_from(shape.iter().product::<usize>()).unwrap_or(0);
                    let base = 1000.0 * f64::from(u32::try_from(rank).unwrap_or(0));
                    let values = (0..count).map(|i| base + f64::from(i)).collect();
                    HostArray::with_order(shape, values, order).and_then(|array| {
                        DistBuffer::with_version(ProtocolVersion::CURRENT, data.clone(), array)
                    })
                })
                .collect();
            let parts = parts.map_err(|e| e.to_string())?;
            match round_trip(parts.clone()) {
                Ok(back) => match compare(&parts, &back) {
                    Ok(()) => seen.imported.push(name),
                    Err(e) => wrong.push(format!("{name}: {e}")),
                },
                Err(e) if case.unusual => seen.refused.push((name, e.to_string())),
                Err(e) => wrong.push(format!("{name}: refused: {e}")),
            }
        }
    }
    report(&wrong).map(|()| seen)
}

fn compare<T: Element>(
    given: &[DistBuffer<HostArray<T>>],
    back: &[DistBuffer<HostArray<T>>],
) -> Result<(), String> {
    if given.len() != back.len() {
        return Err(format!(
            "{} part(s) came back of {}",
            back.len(),
            given.len()
        ));
    }
    for (rank, (given, back)) in given.iter().zip(back).enumerate() {
        if given.dim_data() != back.dim_data() {
            let (given, back) = (given.dim_data().to_value(), back.dim_data().to_value());
            return Err(format!("rank {rank}: dim_data {given} came back as {back}"));
        }
        let bytes = |part: &DistBuffer<HostArray<T>>| {
            let mut bytes = Vec::new();
            part.buffer()
                .visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
            bytes
        };
        if bytes(given) != bytes(back) {
            return Err(format!("rank {rank}: other elements came back"));
        }
    }
    check_exporter(back)
}

fn report(wrong: &[String]) -> Result<(), String> {
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}
