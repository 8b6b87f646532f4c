"""Stands in for CPython's `_lzma`, which this interpreter was built without: `import lzma` works, using it does not."""

FORMAT_AUTO, FORMAT_XZ, FORMAT_ALONE, FORMAT_RAW = range(4)
CHECK_NONE, CHECK_CRC32, CHECK_CRC64, CHECK_SHA256 = 0, 1, 4, 10
CHECK_ID_MAX, CHECK_UNKNOWN = 15, 16
FILTER_DELTA, FILTER_X86, FILTER_POWERPC, FILTER_IA64 = 3, 4, 5, 6
FILTER_ARM, FILTER_ARMTHUMB, FILTER_SPARC = 7, 8, 9
FILTER_LZMA1, FILTER_LZMA2 = 0x4000000000000001, 33
MF_HC3, MF_HC4, MF_BT2, MF_BT3, MF_BT4 = 3, 4, 18, 19, 20
MODE_FAST, MODE_NORMAL = 1, 2
PRESET_DEFAULT, PRESET_EXTREME = 6, 1 << 31


class LZMAError(Exception):
    """Call to liblzma failed."""


def _missing(*_args, **_kwargs):
    raise LZMAError("this interpreter was built without lzma: .xz and .lzma data cannot be read or written")


class LZMACompressor:
    """Raises on use."""

    __init__ = _missing


class LZMADecompressor:
    """Raises on use."""

    __init__ = _missing


def is_check_supported(_check):
    """No check is supported."""
    return False


_encode_filter_properties = _missing
_decode_filter_properties = _missing
