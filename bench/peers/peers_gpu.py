#!/usr/bin/env python3
"""The workloads of damo-bench on other libraries' GPU back ends: torch.compile, jax.jit, CuPy's fuse, torch eager. What is not installed is left out.

    bench/peers/peers_gpu.py --engines jax_jit --out peers.json [--only double,outer] [--quick] [--budget SECONDS]

Each library takes the GPU's memory in its own way, JAX three quarters of it at its first use: give each a process of its own.
"""
import argparse
import datetime
import importlib

import formulas
import measure
import on_jax_arrays
import on_torch_arrays

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--only", help="workloads, separated by commas")
parser.add_argument("--engines", default="torch_compile,torch_eager,jax_jit,cupy_fuse")
parser.add_argument("--out", help="JSON file")
parser.add_argument("--quick", action="store_true", help="shorter repeats, no compile_chain1000")
parser.add_argument("--budget", type=float, default=0, help="seconds after which nothing new is started")
options = parser.parse_args()
engines = options.engines.split(",")


def library(name, *used_by):
    """The module, or None where it is not installed or no engine that uses it was asked for."""
    if not set(used_by) & set(engines):
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch = library("torch", "torch_compile", "torch_eager")
jax = library("jax", "jax_jit")
cupy = library("cupy", "cupy_fuse")


class OnTorch:
    def __init__(self, work):
        generator = torch.Generator(device="cuda").manual_seed(0)
        self.work = work
        self.arrays = [(torch.rand(shape, device="cuda", generator=generator) * work.scale).to(getattr(torch, work.dtype)) for shape in work.shapes]
        if work.classes:
            self.arrays[-1] = torch.randint(0, work.classes, work.shapes[-1], device="cuda", generator=generator)

    def eager(self):
        return on_torch_arrays.eager(torch, self.work, self.arrays)

    def compiled(self, mode=None):
        return on_torch_arrays.compiled(torch, self.work, self.arrays, mode)


def on_torch(table, work, copy):
    data, wait = OnTorch(work), torch.cuda.synchronize
    if copy and "torch_eager" in engines:
        target = torch.empty_like(data.arrays[0])
        table.measure(work.name, "torch_eager", lambda: (lambda: target.copy_(data.arrays[0])), wait, work.bytes)
    if not copy and "torch_compile" in engines and not work.is_a_loop:
        table.measure(work.name, "torch_compile", lambda: data.compiled(), wait, work.bytes)
        if work.name == "tiny_double":
            table.measure(work.name, "torch_compile_reduce_overhead", lambda: data.compiled("reduce-overhead"), wait, work.bytes)
    if not copy and "torch_eager" in engines:
        table.measure(work.name, "torch_eager", lambda: data.eager(), wait, work.bytes)
    del data
    torch.cuda.empty_cache()


def on_jax(table, work):
    keys = jax.random.split(jax.random.PRNGKey(0), len(work.shapes))
    arrays = [(jax.random.uniform(key, shape, dtype="float32") * work.scale).astype(work.dtype) for key, shape in zip(keys, work.shapes)]
    if work.classes:
        arrays[-1] = jax.random.randint(keys[-1], work.shapes[-1], 0, work.classes)
    last = []

    def make():
        compiled = on_jax_arrays.compiled(jax, work)

        def call():
            last[:] = [compiled(*arrays)]
        return call
    table.measure(work.name, "jax_jit", make, lambda: jax.block_until_ready(last), work.bytes)


def on_cupy(table, work):
    arrays = [cupy.random.random(shape, dtype=cupy.float32) for shape in work.shapes]
    if work.classes:
        arrays[-1] = cupy.random.randint(0, work.classes, work.shapes[-1])

    def make():
        def formula(*a):  # fuse names its kernel after the function: a lambda has no name that C takes
            return work.formula(cupy, *a)
        fused = cupy.fuse()(formula)
        return lambda: fused(*arrays)
    table.measure(work.name, "cupy_fuse", make, cupy.cuda.runtime.deviceSynchronize, work.bytes)
    del arrays
    cupy.get_default_memory_pool().free_all_blocks()


context = dict(date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"), torch=torch and torch.__version__,
               jax=jax and jax.__version__, cupy=cupy and cupy.__version__)
table = measure.Table(0.05, 5 if options.quick else 7, options.budget, **context)
only = options.only and options.only.split(",")
elements = formulas.GPU["elements"]
works = [formulas.Workload("copy", [(elements,)], None, 8 * elements)] + formulas.workloads(formulas.GPU)
for work in works:
    if (only and work.name not in only) or (options.quick and work.name == "compile_chain1000"):
        continue
    if torch:
        on_torch(table, work, work.name == "copy")
    if work.name == "copy":
        continue
    if jax:
        on_jax(table, work)
    if cupy and work.is_of_all and not work.name.startswith("compile_chain"):  # its fuse makes no kernel of chains that long
        on_cupy(table, work)
table.save(options.out)
