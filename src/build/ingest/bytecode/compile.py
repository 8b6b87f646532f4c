# Compiles Python files for the bundler: requests on standard input, answers on standard output, until input ends.
#   request: length of path, length of source (4 bytes each, little-endian), path, source
#   answer:  0 and length, code as marshal writes it; 1 and length, why it does not compile
# A greeting goes before: version, cache tag, magic number. Only built-in modules are used: no file can interfere.
import _frozen_importlib_external as external
import _signal
import gc
import marshal
import posix
import sys

LIMIT_S = 120


def read(length):
    parts = []
    while length:
        part = posix.read(0, min(length, 1 << 20))
        if not part:
            posix._exit(0)
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def write(data):
    view = memoryview(data)
    while view:
        view = view[posix.write(1, view):]


def number(value):
    return value.to_bytes(4, "little")


def answer(status, data):
    write(number(status) + number(len(data)) + data)


def why(error):
    line = getattr(error, "lineno", None)
    text = getattr(error, "msg", None) or str(error)
    return f"{type(error).__name__}: {text}" + (f" (line {line})" if line else "")


version = ".".join(map(str, sys.version_info[:2]))
randomised = "randomised" if sys.flags.hash_randomization else "fixed"
greeting = " ".join([version, sys.implementation.cache_tag, external.MAGIC_NUMBER.hex(), randomised])
answer(0, greeting.encode())
sys.setswitchinterval(1000)
gc.disable()
while True:
    path, source = [int.from_bytes(read(4), "little") for _ in range(2)]
    path, source = read(path).decode(), read(source)
    _signal.alarm(LIMIT_S)
    try:
        code = marshal.dumps(compile(source, path, "exec", dont_inherit=True, optimize=0))
    except Exception as error:
        answer(1, why(error).encode("utf-8", "backslashreplace"))
    else:
        answer(0, code)
    _signal.alarm(0)
