#!/usr/bin/env python3
"""damo-bench and the peers in turn, workload for workload the same: a table of ratios, and all times as JSON.

    bench/interleaved.py build/release/bin/damo-bench --device cpu --threads 2 --rounds 5 --out results.json
        [--only double,outer] [--engines numpy,jax_jit] [--keep-memory] [--budget SECONDS] [--quick] [--fail-below RATIO]

A round runs damo-bench and then each engine in a process of its own, so that none holds another's memory or threads and a
machine's slow minutes fall on all. A ratio is the peer's time over Damo's within one round; the median over rounds counts.
Above 1 Damo is faster. --processor compares processor time of all threads: on a machine that other programs load, it is what
stays comparable. --budget: seconds after which no new round is begun.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINES = {"cpu": ["numpy", "jax_jit", "torch_compile", "torch_eager"], "cuda": ["torch_compile", "torch_eager", "jax_jit", "cupy_fuse"]}
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def damo_rows(options, path):
    """One run of damo-bench -> its context and name -> {us, processor_us, gb_per_s, first_result_s} of the fused workloads."""
    names = options.only.split(",") if options.only else options.names
    command = [options.damo, f"--benchmark_filter=^({'|'.join(names)})/{options.device}/iterations", f"--benchmark_out={path}",
               "--benchmark_out_format=json"] + (["--quick"] if options.quick else [])
    environment = dict(os.environ)
    if options.device == "cpu":
        environment["DAMO_NUM_THREADS"] = str(options.threads)
        command = ["taskset", "-c", ",".join(map(str, options.cores))] + command
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    with open(path) as file:
        report = json.load(file)
    rows = {}
    for row in report["benchmarks"]:
        if row.get("error_occurred"):
            continue
        rows[row["name"].split("/")[0]] = dict(us=row["real_time"] * MICROSECONDS[row["time_unit"]], processor_us=row["processor_us"],
                                               gb_per_s=row.get("bytes_per_second", 0) / 1e9, first_result_s=row.get("first_result_s"))
    return report["context"], rows


def peer_rows(options, engine, path):
    """One run of an engine -> its context and name -> row; nothing if the library is not installed."""
    command = [sys.executable, os.path.join(HERE, "peers", "peers_cpu.py" if options.device == "cpu" else "peers_gpu.py"), "--engines", engine,
               "--out", path]
    command += ["--threads", str(options.threads)] if options.device == "cpu" else []
    command += ["--keep-memory"] if options.keep_memory else []
    command += ["--only", options.only] if options.only else []
    command += ["--quick"] if options.quick else []
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with open(path) as file:
        report = json.load(file)
    return report["context"], {row["name"]: row for row in report["rows"]}


def run_rounds(options):
    """Lists of one {engine: {name: row}} a round, and what the programs say of themselves."""
    rounds, context, end = [], {}, time.monotonic() + options.budget if options.budget else None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.json")
        while len(rounds) < options.rounds and not (rounds and end and time.monotonic() > end):
            context["damo-bench"], damo = damo_rows(options, path)
            rows = {"damo": damo}
            for engine in options.engines:
                context[engine], rows[engine] = peer_rows(options, engine, path)
            rounds.append(rows)
            print(f"round {len(rounds)} of {options.rounds}", file=sys.stderr, flush=True)
    return rounds, context


def combine(rounds, engines, key):
    """One row a workload and engine: the median time, all times, the median ratio to Damo's time of the same round."""
    combined = []
    for name in rounds[0]["damo"]:
        for engine in ["damo"] + engines:
            times, ratios, firsts, error = [], [], [], None
            for rows in rounds:
                row, own = rows[engine].get(name, {}), rows["damo"].get(name, {})
                error = row.get("error", error)
                if key in row and key in own:
                    times.append(row[key])
                    ratios.append(row[key] / own[key])
                    firsts += [row["first_result_s"]] if row.get("first_result_s") else []
            row = dict(name=name, engine=engine)
            if times:
                row.update({key: round(statistics.median(times), 3), "rounds_" + key: [round(t, 3) for t in times], "ratio": round(statistics.median(ratios), 3)})
            if firsts:
                row["first_result_s"] = round(firsts[0], 4)  # the first round's: peers keep compiled code on disk
            if error:
                row["error"] = error
            combined.append(row)
    return combined


def print_table(rows, engines, key):
    cells = {(row["name"], row["engine"]): row for row in rows}
    least = None
    print(f"{'workload':20}{'damo us':>12}" + "".join(f"{engine:>26}" for engine in engines))
    for name in dict.fromkeys(row["name"] for row in rows):
        line = f"{name:20}{cells[name, 'damo'].get(key, float('nan')):12.2f}"
        for engine in engines:
            row = cells[name, engine]
            line += f"{row[key]:14.2f} us {row['ratio']:7.2f} x" if key in row else f"{'-':>26}"
            least = min(least or row["ratio"], row["ratio"]) if key in row else least
        print(line)
    print(f"\na ratio above 1: Damo is faster; the least is {least:.2f}" if least else "\nnothing to compare")
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("damo", help="the damo-bench program")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="workloads, separated by commas")
    parser.add_argument("--engines", help="separated by commas")
    parser.add_argument("--keep-memory", action="store_true", help="see peers/peers_cpu.py")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--quick", action="store_true", help="shorter repeats")
    parser.add_argument("--budget", type=float, default=0)
    parser.add_argument("--commit", default="", help="goes into the file")
    parser.add_argument("--out", help="JSON file")
    parser.add_argument("--fail-below", type=float, help="exit code 1 if a ratio is less")
    options = parser.parse_args()
    options.cores = sorted(os.sched_getaffinity(0))[: options.threads]
    options.engines = options.engines.split(",") if options.engines else ENGINES[options.device]
    sys.path.insert(0, os.path.join(HERE, "peers"))
    import formulas
    options.names = ["copy"] + [work.name for work in formulas.workloads(formulas.CPU if options.device == "cpu" else formulas.GPU) if work.name != "compile_chain1000"]
    options.only = options.only or ",".join(options.names)
    rounds, context = run_rounds(options)
    key = "processor_us" if options.processor else "us"
    rows = combine(rounds, options.engines, key)
    least = print_table(rows, options.engines, key)
    if options.out:
        said = dict(date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"), commit=options.commit, device=options.device, rounds=len(rounds),
                    threads=options.threads if options.device == "cpu" else None, keep_memory=options.keep_memory, programs=context)
        with open(options.out, "w") as file:
            json.dump(dict(context=said, rows=rows), file, indent=1)
    return 1 if options.fail_below and least is not None and least < options.fail_below else 0


if __name__ == "__main__":
    sys.exit(main())
