"""Asks the driver's library for its version and devices, as JSON. No context, no GPU memory."""

import ctypes
import json


def main() -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    number = ctypes.c_int()
    answer = {"driver": None, "error": None, "devices": []}
    if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0:
        answer["driver"] = number.value
    answer["error"] = cuda.cuInit(0)
    count = ctypes.c_int()
    if answer["error"] == 0:
        answer["error"] = cuda.cuDeviceGetCount(ctypes.byref(count))
    for ordinal in range(count.value):
        device = ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        major, minor = ctypes.c_int(), ctypes.c_int()
        if cuda.cuDeviceGet(ctypes.byref(device), ordinal) != 0:
            continue
        cuda.cuDeviceGetName(name, 255, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        answer["devices"].append(
            {"name": name.value.decode("utf-8", "replace"), "major": major.value, "minor": minor.value}
        )
    print(json.dumps(answer))


main()
