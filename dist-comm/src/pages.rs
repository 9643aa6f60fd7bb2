//! Large pages for large arrays.
#![expect(unsafe_code, reason = "advice to the system about memory is a C call")]

/// What is smaller is left alone.
const LARGE: usize = 4 << 20;
/// Advice is given for whole pages; 64 KiB is a multiple of the page size everywhere.
const PAGE: usize = 64 << 10;

/// Asks for large pages for this memory, best before it is first written. Local.
///
/// Walking down the columns of an array touches a page an element; with 4 KiB pages the processor then spends its time looking
/// up addresses (a halo of 2048 × 2048 `f64` takes twice as long). It is advice: where the system does not give large pages (Linux
/// does when `/sys/kernel/mm/transparent_hugepage/enabled` says `madvise` or `always`) nothing changes, and memory below 4 MiB is
/// left as it is.
///
/// ```
/// let mut elements = vec![0_f64; 1 << 20];
/// dist_comm::prefer_large_pages(&mut elements);
/// assert!(elements.iter().all(|&x| x == 0.0));
/// ```
pub fn prefer_large_pages<T>(memory: &mut [T]) {
    let bytes = size_of_val(memory);
    if bytes < LARGE {
        return;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(PAGE);
    let Some(len) = bytes.checked_sub(skip) else {
        return;
    };
    #[cfg(target_os = "linux")]
    // SAFETY: madvise(2): the range starts at a page and lies in memory that is borrowed here; `MADV_HUGEPAGE` changes neither
    // its contents nor whether it may be used.
    let _refused = unsafe {
        libc::madvise(
            start.wrapping_add(skip).cast(),
            len / PAGE * PAGE,
            libc::MADV_HUGEPAGE,
        )
    };
    #[cfg(not(target_os = "linux"))]
    let _ = len;
}
