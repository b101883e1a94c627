#!/usr/bin/env python3
"""The workloads of damo-bench on other libraries' CPU back ends: NumPy, jax.jit, torch.compile, torch eager. What is not installed is left out.

    bench/peers/peers_cpu.py --threads 2 --out peers.json [--only double,outer] [--quick] [--budget SECONDS]
"""
import argparse
import dataclasses
import datetime
import os
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--only", help="workloads, separated by commas")
parser.add_argument("--engines", default="numpy,jax_jit,torch_compile,torch_eager")
parser.add_argument("--out", help="JSON file")
parser.add_argument("--quick", action="store_true", help="shorter repeats")
parser.add_argument("--budget", type=float, default=0, help="seconds after which nothing new is started")
parser.add_argument("--keep-memory", action="store_true",
                    help="have malloc keep freed memory, so that results cost no page faults, which is not how these libraries come")
options = parser.parse_args()

TUNABLES = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1"
if options.keep_memory and os.environ.get("GLIBC_TUNABLES") != TUNABLES:
    os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, GLIBC_TUNABLES=TUNABLES))

# Before the libraries are loaded: they read these once.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)
os.environ["JAX_PLATFORMS"], os.environ["CUDA_VISIBLE_DEVICES"] = "cpu", ""
if options.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])

import numpy  # noqa: E402

import formulas  # noqa: E402
import measure  # noqa: E402
import on_jax_arrays  # noqa: E402
import on_torch_arrays  # noqa: E402

engines = options.engines.split(",")
jax = torch = None
if "jax_jit" in engines:
    try:
        import jax
    except ImportError:
        pass
if "torch_compile" in engines or "torch_eager" in engines:
    try:
        import torch
        torch.set_num_threads(options.threads)
    except ImportError:
        pass


def nothing():
    pass


def aligned(values):
    """The same values where a cache line begins, as Damo's and JAX's arrays lie; NumPy's own lie 16 bytes behind it."""
    room = numpy.empty(values.nbytes + 64, dtype=numpy.uint8)
    begin = -room.ctypes.data % 64
    array = room[begin:begin + values.nbytes].view(values.dtype).reshape(values.shape)
    array[...] = values
    return array


def run(table, work, copy=False):
    generator = numpy.random.default_rng(0)
    arrays = [aligned(generator.random(shape, dtype=numpy.float32) * numpy.float32(work.scale)) for shape in work.shapes]
    if work.classes:
        arrays[-1] = generator.integers(0, work.classes, work.shapes[-1])
    name, size, formula = work.name, work.bytes, work.formula
    if "numpy" in engines and work.is_of_all:
        table.measure(name, "numpy", lambda: (lambda: arrays[0].copy()) if copy else (lambda: formula(numpy, *arrays)), nothing, size)
    if jax and "jax_jit" in engines:
        on_jax = [jax.numpy.asarray(a, dtype=work.dtype if a.dtype == numpy.float32 else "int32") for a in arrays]
        compiled = jax.jit(lambda x: x + 0) if copy else on_jax_arrays.compiled(jax, work)
        table.measure(name, "jax_jit", lambda: (lambda: jax.block_until_ready(compiled(*on_jax))), nothing, size)
    if not torch:
        return
    on_torch = [torch.from_numpy(a) for a in arrays]
    on_torch = [a.to(getattr(torch, work.dtype)) if a.is_floating_point() else a for a in on_torch]
    torch_work = dataclasses.replace(work, formula=lambda m, x: x.clone()) if copy else work
    if "torch_compile" in engines and not work.is_a_loop:
        table.measure(name, "torch_compile", lambda: on_torch_arrays.compiled(torch, torch_work, on_torch), nothing, size)
    if "torch_eager" in engines:
        table.measure(name, "torch_eager", lambda: on_torch_arrays.eager(torch, torch_work, on_torch), nothing, size)


context = dict(threads=options.threads, keep_memory=options.keep_memory, date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"), numpy=numpy.__version__,
               jax=jax and jax.__version__, torch=torch and torch.__version__)
table = measure.Table(0.05 if options.quick else 0.3, 5 if options.quick else 7, options.budget, **context)
only = options.only and options.only.split(",")
elements = formulas.CPU["elements"]
if not only or "copy" in only:
    run(table, formulas.Workload("copy", [(elements,)], None, 8 * elements), copy=True)
for work in formulas.workloads(formulas.CPU):
    if not only or work.name in only:
        run(table, work)
table.save(options.out)
