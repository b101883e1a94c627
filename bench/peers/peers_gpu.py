#!/usr/bin/env python3
"""The workloads of damo-bench on other libraries' GPU back ends: torch.compile, jax.jit, CuPy's fuse, torch eager. What is not installed is left out.

    bench/peers/peers_gpu.py --out peers.json [--only double,outer] [--quick] [--budget SECONDS]
"""
import argparse
import datetime
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the libraries share the GPU's memory

import formulas  # noqa: E402
import measure  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--only", help="workloads, separated by commas")
parser.add_argument("--out", help="JSON file")
parser.add_argument("--quick", action="store_true", help="shorter repeats, no compile_chain1000")
parser.add_argument("--budget", type=float, default=0, help="seconds after which nothing new is started")
options = parser.parse_args()

torch = jax = cupy = None
try:
    import torch
except ImportError:
    pass
try:
    import jax
except ImportError:
    pass
try:
    import cupy
except ImportError:
    pass


class OnTorch:
    def __init__(self, shapes):
        generator = torch.Generator(device="cuda").manual_seed(0)
        self.arrays = [torch.rand(shape, device="cuda", generator=generator) for shape in shapes]

    def eager(self, formula):
        return lambda: formula(torch, *self.arrays)

    def compiled(self, formula, mode=None):
        torch._dynamo.reset()
        function = torch.compile(lambda *a: formula(torch, *a), dynamic=False, mode=mode)
        return lambda: function(*self.arrays)


def on_torch(table, work, copy):
    data, wait = OnTorch(work.shapes), torch.cuda.synchronize
    if copy:
        target = torch.empty_like(data.arrays[0])
        table.measure(work.name, "torch_eager", lambda: (lambda: target.copy_(data.arrays[0])), wait, work.bytes)
    else:
        table.measure(work.name, "torch_compile", lambda: data.compiled(work.formula), wait, work.bytes)
        if work.name == "tiny_double":
            table.measure(work.name, "torch_compile_reduce_overhead", lambda: data.compiled(work.formula, "reduce-overhead"), wait, work.bytes)
        table.measure(work.name, "torch_eager", lambda: data.eager(work.formula), wait, work.bytes)
    del data
    torch.cuda.empty_cache()


def on_jax(table, work):
    keys = jax.random.split(jax.random.PRNGKey(0), len(work.shapes))
    arrays = [jax.random.uniform(key, shape, dtype="float32") for key, shape in zip(keys, work.shapes)]
    last = []

    def make():
        compiled = jax.jit(lambda *a: work.formula(jax.numpy, *a))

        def call():
            last[:] = [compiled(*arrays)]
        return call
    table.measure(work.name, "jax_jit", make, lambda: jax.block_until_ready(last), work.bytes)


def on_cupy(table, work):
    arrays = [cupy.random.random(shape, dtype=cupy.float32) for shape in work.shapes]

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
    if cupy and not work.name.startswith("compile_chain"):  # its fuse makes no kernel of chains that long
        on_cupy(table, work)
table.save(options.out)
