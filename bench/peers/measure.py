"""Timing as damo-bench does it: many queued calls ended by one wait, the median over repeats of the time a call."""
import json
import statistics
import time


class Table:
    """Rows of results; each is printed as JSON when it is known, all are written by save()."""

    def __init__(self, seconds, repeats, budget, **context):
        self.seconds, self.repeats = seconds, repeats
        self.context, self.rows = context, []
        self.end = time.monotonic() + budget if budget else None

    def is_over(self):
        return self.end is not None and time.monotonic() > self.end

    def measure(self, name, engine, make, wait, size):
        """make() gives the function to call; what it takes to the first result counts as first_result_s."""
        row = dict(name=name, engine=engine)
        if self.is_over():
            row["error"] = "left out: the time for the peers was over"
        else:
            try:
                row.update(self._timed(make, wait, size))
            except Exception as error:  # that a peer cannot do something is a result
                row["error"] = repr(error)[:200]
        self.rows.append(row)
        print(json.dumps(row), flush=True)

    def _timed(self, make, wait, size):
        start = time.perf_counter()
        call = make()
        call()
        wait()
        first = time.perf_counter() - start
        start = time.perf_counter()
        call()
        wait()
        one = max(time.perf_counter() - start, 1e-7)
        calls = max(3, min(100000, int(self.seconds / one)))
        times, busy = [], []
        for _ in range(self.repeats):
            processor = time.process_time()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            wait()
            times.append((time.perf_counter() - start) / calls)
            busy.append((time.process_time() - processor) / calls)
        middle = statistics.median(times)
        return dict(us=round(middle * 1e6, 3), least_us=round(min(times) * 1e6, 3), greatest_us=round(max(times) * 1e6, 3),
                    processor_us=round(statistics.median(busy) * 1e6, 3), gb_per_s=round(size / middle / 1e9, 2), first_result_s=round(first, 4))

    def save(self, path):
        if path:
            with open(path, "w") as file:
                json.dump(dict(context=self.context, rows=self.rows), file, indent=1)
