//! Large pages for large arrays: [`prefer_large_pages`].
#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "advice to the system about memory is a C call")
)]

/// What is smaller is left alone.
const LARGE: usize = 2 << 20;
/// Advice is given for whole pages; 64 KiB is a multiple of the page size everywhere.
const PAGE: usize = 64 << 10;

/// Asks for large pages for this memory, best before it is first written. Local.
///
/// Walking down the columns of an array touches a page an element; with 4 KiB pages the processor then spends its time looking
/// up addresses (the strips of a halo of 2048 × 2048 `f64` take twice as long to copy). It is advice, and the contents never
/// change: where the system does not give large pages (Linux does when `/sys/kernel/mm/transparent_hugepage/enabled` says
/// `madvise` or `always`) nothing happens, nor for memory below 2 MiB.
///
/// ```
/// let mut elements = vec![0_f64; 1 << 20];
/// large_pages::prefer_large_pages(&mut elements);
/// assert!(elements.iter().all(|&x| x == 0.0));
/// ```
pub fn prefer_large_pages<T>(memory: &mut [T]) {
    let bytes = size_of_val(memory);
    if bytes < LARGE {
        return;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(PAGE);
    let len = bytes.saturating_sub(skip) / PAGE * PAGE;
    advise(start.wrapping_add(skip), len);
}

#[cfg(target_os = "linux")]
fn advise(start: *mut u8, len: usize) {
    // SAFETY: madvise(2): `MADV_HUGEPAGE` changes neither the contents of memory nor whether it may be used; a range that is
    // none is refused.
    let _refused = unsafe { libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contents_stay() {
        for len in [0, 1, LARGE - 1, LARGE, LARGE + 12345, 3 * LARGE] {
            let mut bytes = vec![7_u8; len];
            // At any alignment.
            let from = len.min(13);
            prefer_large_pages(&mut bytes[from..]);
            assert!(bytes.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_is_asked() {
        let mut bytes = vec![0_u8; 4 * LARGE];
        prefer_large_pages(&mut bytes);
        let inside = bytes.as_ptr() as usize + 2 * LARGE;
        let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else {
            println!("skipped: no /proc/self/smaps");
            return;
        };
        let mut here = false;
        let flags = maps.lines().find(|line| {
            if let Some((from, to)) = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'))
                && let (Ok(from), Ok(to)) = (
                    usize::from_str_radix(from, 16),
                    usize::from_str_radix(to, 16),
                )
            {
                here = (from..to).contains(&inside);
            }
            here && line.starts_with("VmFlags:")
        });
        let flags = flags.expect("the flags of the mapping");
        // A kernel without transparent huge pages knows no such flag, and refuses the advice.
        if std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            assert!(flags.split(' ').any(|flag| flag == "hg"), "{flags}");
        } else {
            println!("skipped: no transparent huge pages");
        }
    }
}
