#!/usr/bin/env python3
"""The table of Damo's times beside the peers', from one run of damo-bench and one of bench/peers/*.

    bench/compare_peers.py damo.json peers.json [--device cpu|cuda] [--processor] [--fail-below RATIO]

--processor compares the processor time of all threads instead of wall time: on a machine that other programs load, it
is what stays comparable. A ratio is the peer's time over Damo's: above 1 Damo is faster. --fail-below: exit code 1 if any ratio is less.
"""
import argparse
import json
import sys


def damo_times(path, device, processor):
    """name -> (microseconds, GB/s) of the fused runs."""
    times = {}
    for row in json.load(open(path))["benchmarks"]:
        parts = [part for part in row["name"].split("/") if not part.startswith(("iterations:", "manual_time"))]
        if len(parts) == 2 and parts[1] == device and not row.get("error_occurred"):
            scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[row["time_unit"]]
            time = row["processor_us"] if processor and "processor_us" in row else row["real_time"] * scale
            times[parts[0]] = (time, row.get("bytes_per_second", 0) / 1e9, row.get("first_result_s"))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("damo")
    parser.add_argument("peers")
    parser.add_argument("--device")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--fail-below", type=float)
    options = parser.parse_args()
    peers = json.load(open(options.peers))
    device = options.device or ("cpu" if "threads" in peers["context"] else "cuda")
    damo = damo_times(options.damo, device, options.processor)
    time = "processor_us" if options.processor else "us"
    engines = list(dict.fromkeys(row["engine"] for row in peers["rows"]))
    cells = {(row["name"], row["engine"]): row for row in peers["rows"]}
    names = [name for name in dict.fromkeys(row["name"] for row in peers["rows"]) if name in damo]
    print(f"{'workload':20}{'damo us':>12}{'GB/s':>9}{'first s':>9}" + "".join(f"{engine:>24}" for engine in engines))
    worst = None
    for name in names:
        us, rate, first = damo[name]
        line = f"{name:20}{us:12.2f}{rate:9.1f}" + (f"{first:9.3f}" if first else " " * 9)
        for engine in engines:
            row = cells.get((name, engine))
            if row is None or time not in row:
                line += f"{'-':>24}"
                continue
            ratio = row[time] / us
            worst = ratio if worst is None else min(worst, ratio)
            line += f"{row[time]:13.2f} us {ratio:6.2f} x"
        print(line)
    print(f"\na ratio above 1: Damo is faster; the least is {worst:.2f}" if worst else "\nnothing to compare")
    return 1 if options.fail_below and worst is not None and worst < options.fail_below else 0


if __name__ == "__main__":
    sys.exit(main())
