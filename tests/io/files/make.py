#!/usr/bin/env python3
"""Writes the files beside it, which NumPy 1.24, Python's gzip and safetensors 0.8 made: what others' programs write, for the tests of reading."""
import gzip
import os

import numpy as np
import safetensors.numpy

os.chdir(os.path.dirname(os.path.abspath(__file__)))
x = np.arange(6, dtype="<f4").reshape(2, 3) / 2
np.save("float32.npy", x)
np.save("big_endian.npy", x.astype(">f8"))
np.save("fortran.npy", np.asfortranarray(np.arange(6, dtype="<i2").reshape(2, 3)))
np.save("bool.npy", np.array([True, False, True]))
np.save("rank0.npy", np.array(-7, dtype="int64"))
np.save("empty.npy", np.zeros((0, 4), dtype="uint8"))
np.save("complex.npy", np.zeros(2, dtype="complex64"))
np.save("records.npy", np.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))
np.lib.format.write_array(open("version2.npy", "wb"), x.astype("<f2"), version=(2, 0))
np.savez("two.npz", x=x, labels=np.array([3, 1, 2], dtype="uint64"))
np.savez_compressed("compressed.npz", zeros=np.zeros((50, 40), dtype="int32"), x=x)
safetensors.numpy.save_file(
    {"w": x, "half": x.astype("float16"), "mask": np.array([True, False]), "count": np.array(5, dtype="int64")},
    "numpy.safetensors", metadata={"format": "np"})
# IDX as MNIST has it: int16 (2, 3), big-endian
idx = bytes([0, 0, 0x0B, 2]) + np.array([2, 3], ">u4").tobytes() + np.array([[1, -2, 3], [300, -400, 500]], ">i2").tobytes()
with open("int16.idx", "wb") as file:
    file.write(idx)
with open("int16.idx.gz", "wb") as file:
    file.write(gzip.compress(idx, mtime=0))
