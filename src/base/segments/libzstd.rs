//! The few calls into libzstd's block-level interface that the `zstd` crate does not offer. All unsafe code of
//! compression lives here.
//!
//! A segment is what `ZSTD_compressContinue` gives after a fresh begin with fixed parameters, without the frame
//! header and never ended. `ZSTD_invalidateRepCodes` makes its first block independent of the three repeat offsets
//! a frame starts with: the decoder will have other ones by then.
#![expect(
    unsafe_code,
    reason = "libzstd's block-level interface has no safe wrapper"
)]

use std::ffi::CStr;
use std::ptr::NonNull;

use zstd_sys::{
    ZSTD_CCtx, ZSTD_compressBegin_advanced, ZSTD_compressBound, ZSTD_compressContinue,
    ZSTD_compressionParameters, ZSTD_createCCtx, ZSTD_frameParameters, ZSTD_freeCCtx,
    ZSTD_getCParams, ZSTD_getErrorName, ZSTD_isError, ZSTD_parameters, ZSTD_strategy,
    ZSTD_versionString,
};

unsafe extern "C" {
    /// Exported by the static library for zstd's own multi-threaded mode, which calls it between jobs; it stands in
    /// no public header.
    fn ZSTD_invalidateRepCodes(context: *mut ZSTD_CCtx);
}

/// `ZSTD_CONTENTSIZE_UNKNOWN`: parameters must not depend on how long a segment is.
const UNKNOWN: u64 = u64::MAX;

/// The longest frame header libzstd writes (`ZSTD_FRAMEHEADERSIZE_MAX`).
const MAX_HEADER: usize = 18;

/// The version of the library, such as `1.5.7`.
pub(super) fn version() -> &'static str {
    // SAFETY: returns a pointer to a constant, NUL-terminated text.
    let text = unsafe { CStr::from_ptr(ZSTD_versionString()) };
    text.to_str().unwrap_or("unknown")
}

/// Whether a segment may lean on the repeat offsets of a fresh frame. Only the tests' control does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatOffsets {
    /// As every segment is made.
    Invalid,
    /// As a frame's first block is made: wrong anywhere else.
    #[cfg(test)]
    OfFreshFrame,
}

/// libzstd takes no smaller table (ZSTD_HASHLOG_MIN, ZSTD_CHAINLOG_MIN).
const SMALLEST_TABLE: u32 = 6;

/// A compression context, used by one thread at a time.
pub(super) struct Context {
    raw: NonNull<ZSTD_CCtx>,
    params: ZSTD_compressionParameters,
}

// SAFETY: a context may move between threads; `&mut self` keeps it with one at a time.
unsafe impl Send for Context {}

impl Context {
    /// A context with the parameters of `level` but this window. `None` when memory is short.
    ///
    /// The double-fast levels get tables of half the usual size, which stay in a core's own cache: on 1.33 GB out of
    /// torch, cuDNN, cuBLAS, transformers, scipy and pandas, level 3 with a window of 2^23 takes 6.8 s of CPU instead of
    /// 12.4 and gives 709.4 MB instead of 703.1 (`pzstd -3`: 710.2 MB, 12.3 s; level 2: 714.2 MB, 6.7 s).
    pub(super) fn new(level: i32, window_log: u32) -> Option<Self> {
        // SAFETY: pure functions of their arguments; a null context is turned into `None`.
        let (raw, mut params) = unsafe { (ZSTD_createCCtx(), ZSTD_getCParams(level, 0, 0)) };
        params.windowLog = window_log;
        if matches!(params.strategy, ZSTD_strategy::ZSTD_dfast) {
            params.hashLog = params.hashLog.saturating_sub(1).max(SMALLEST_TABLE);
            params.chainLog = params.chainLog.saturating_sub(1).max(SMALLEST_TABLE);
        }
        Some(Self {
            raw: NonNull::new(raw)?,
            params,
        })
    }

    /// Appends the blocks of `data` to `out`. The error is libzstd's name for what went wrong.
    pub(super) fn blocks(
        &mut self,
        data: &[u8],
        offsets: RepeatOffsets,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let params = ZSTD_parameters {
            cParams: self.params,
            fParams: ZSTD_frameParameters {
                contentSizeFlag: 0,
                checksumFlag: 0,
                noDictIDFlag: 1,
            },
        };
        let mut header = [0u8; MAX_HEADER];
        let context = self.raw.as_ptr();
        // SAFETY: the context is live; no dictionary is passed (null, 0); the header buffer is as long as said.
        unsafe {
            let begun = ZSTD_compressBegin_advanced(context, std::ptr::null(), 0, params, UNKNOWN);
            checked(begun)?;
            let written = ZSTD_compressContinue(
                context,
                header.as_mut_ptr().cast(),
                header.len(),
                data.as_ptr().cast(),
                0,
            );
            checked(written)?;
            if offsets == RepeatOffsets::Invalid {
                ZSTD_invalidateRepCodes(context);
            }
            out.reserve(ZSTD_compressBound(data.len()));
        }
        let room = out.spare_capacity_mut();
        // SAFETY: `room` is writable for its length; libzstd writes at most that and returns how much it wrote, and
        // exactly those bytes are initialised afterwards.
        unsafe {
            let written = checked(ZSTD_compressContinue(
                context,
                room.as_mut_ptr().cast(),
                room.len(),
                data.as_ptr().cast(),
                data.len(),
            ))?;
            out.set_len(out.len() + written);
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by `ZSTD_createCCtx`, freed once.
        unsafe { ZSTD_freeCCtx(self.raw.as_ptr()) };
    }
}

/// Splits libzstd's return value into a size or the name of an error.
unsafe fn checked(code: usize) -> Result<usize, &'static str> {
    // SAFETY: pure functions of the code; the name is a constant text.
    unsafe {
        if ZSTD_isError(code) == 0 {
            return Ok(code);
        }
        let name = CStr::from_ptr(ZSTD_getErrorName(code));
        Err(name.to_str().unwrap_or("unknown error"))
    }
}
