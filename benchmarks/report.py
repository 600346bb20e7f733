#!/usr/bin/env python3
"""Turns the result files into the tables and pictures of README.md and docs/.

  benchmarks/report.py               rewrites the tables and pictures
  benchmarks/report.py --check       changes nothing; exit status 1 when they do not agree with the result files
  benchmarks/report.py --add FILE... first takes the records out of files (- is standard input; lines that are no record are passed over)
                                     into benchmarks/results/GPU/BENCHMARK.jsonl; a record replaces the one of the same case and metric
  --set KEY=VALUE                    with --add: fills a key that the records lack (commit=1a2b3c4, say)

A result file is benchmarks/results/GPU/BENCHMARK.jsonl, one JSON object a line with the keys of KEYS below; docs/measuring.md explains them.
What stands between <!-- results:NAME begin --> and <!-- results:NAME end --> in README.md and docs/*.md is generated and nothing else is touched;
NAME is a benchmark, "all" for every benchmark with every metric, "summary" for one line an operation, or "picture" for the picture of whole solves.
"""

import argparse
import collections
import datetime
import html
import json
import math
import re
import sys
from pathlib import Path

# The benchmarks in the order of the page: name -> caption.
BENCHMARKS = {
    "spmv": "Sparse matrix-vector product (kernels)",
    "spmvt": "Transpose product (kernels)",
    "spmv-shapes": "Launch rules of both products on matrices that they were not made from (kernels)",
    "hisparse": "Products with HiSparse, and its conversions (kernels)",
    "hisparse-shapes": "HiSparse on 200 matrices in the shapes of real ones (kernels)",
    "spmm": "Product with a dense matrix (kernels)",
    "matmult": "Matrix operations through the PETSc API",
    "solve": "Whole solves: PETSc's own programs with PCGAMG",
    "hisparse-solve": "Whole solves with hisparsecuda, against dcsrcuda",
    "auto-solve": "Whole solves with autocuda, against the better of dcsrcuda and hisparsecuda",
    "hard": "Hard systems: whole solves with one setting for all",
    "hard-held": "Hard systems that were held out",
    "setup": "Parts of PCSetUp with PCGAMG",
    "scaling": "Solves on several GPUs",
    "exchange": "Exchange of ghost values between GPUs",
    "insert": "Insertion and assembly",
    "spgemm": "Sparse matrix-matrix product",
    "ptap": "MatPtAP in slices, without a stored intermediate product",
    "spadd": "Sparse matrix addition",
    "transpose": "Explicit transpose",
}

KEYS = ("benchmark", "case", "metric", "unit", "ours", "best", "competitor", "floor", "gpu", "driver", "cuda", "petsc", "commit", "date")
# Keys that a record may have: best_measured is "earlier" when the competitor's figure is not of the same run but was measured earlier on the same GPU model; floor_version says how the floor was made;
# gpus is how many GPUs were used together, in records of PARALLEL and in no others; failed is why there is no figure of ours, in records of HARD alone.
OPTIONAL_KEYS = ("best_measured", "floor_version", "gpus", "failed")
TEXT_KEYS = ("benchmark", "case", "metric", "unit", "gpu", "driver", "cuda", "petsc", "commit", "date")

# Units in which more is better; in all others less is.
RATE_UNITS = ("B/s", "GB/s", "TB/s", "flop/s", "GFlop/s", "Gflop/s", "1/s", "entries/s")

# Names of competitors that are ourselves in another state, such as compact against fragmented storage: compared, but neither won nor lost.
OURSELVES = ("compact", "forward", "same matrix, compact", "without slices")

# A ratio below this is a loss and is named as one.
LOSS = 0.97

# Floors of version 1, which records without the key have, were bytes over the bandwidth of a copy and could be beaten. From version 2 on a floor is one: nothing may be below it by more than rounding shows.
FLOOR_VERSION = 2
FLOOR_TOLERANCE = 0.005

# Benchmarks of products whose plan has a metric, and the metrics of one product beside which tables show the plan as so many products.
PLAN_METRIC = "plan"
PLANNED = {"spmv": ("time-cold",), "spmvt": ("time-cold",)}

# The benchmarks of whole solves; their metrics, in the order of the columns, and those whose sum is the time to solution.
SOLVES = ("solve", "hisparse-solve", "auto-solve")
SOLVE_METRICS = ("iterations", "assembly", "setup", "solve", "peak_memory")
SOLVE_TIMES = ("assembly", "setup", "solve")

# The benchmarks of hard systems, whose cases are FAMILY-...@CONFIGURATION. Metrics in the order of the columns, and those whose ratio is shown.
HARD = ("hard", "hard-held")
HARD_METRICS = ("whole", "step", "iterations", "complexity", "memory", "search", "total")
HARD_RATIOS = ("whole", "step", "iterations", "total")

# The benchmark of several GPUs. Cases with this ending grow with the number of GPUs, and those with LEVEL in their names are levels of the case before it.
SCALING = "scaling"
# The benchmarks whose records say how many GPUs there were.
PARALLEL = (SCALING, "exchange")
WEAK = "-per-gpu"
LEVEL = "-level"
# Metrics of whole cases, in the order of the rows.
SCALING_METRICS = ("assembly", "setup-first", "setup", "solve", "iterations", "cycle", "mult", "multtranspose", "ptap", "ptap-numeric", "peak_memory")
# Metrics of the table of levels, with the titles of their columns.
LEVEL_METRICS = (
    ("rows", "rows"),
    ("nonzeros", "nonzeros"),
    ("gpus-with-rows", "GPUs"),
    ("mult", "A x"),
    ("diagonal-block", "its own block"),
    ("off-diagonal-block", "its other block"),
    ("exchange", "exchange"),
    ("residual", "residual"),
    ("restriction", "restriction"),
    ("prolongation", "prolongation"),
    ("smoother", "smoother"),
    ("coarse-solve", "coarse solve"),
    ("in-cycle", "in a cycle"),
)

EARLIER = "(earlier): measured earlier on the same GPU model, not in this run."
README_BLOCKS = ("picture", "summary")
BLOCKS = ("all",) + README_BLOCKS  # beside the benchmarks

# The lines of the summary: what it is called, benchmark, metric; None is the time to solution.
SUMMARY = (
    ("whole solves with PCGAMG: assembly, setup, solve", "solve", None),
    ("setup of PCGAMG alone", "solve", "setup"),
    ("solve alone", "solve", "solve"),
    ("device memory of whole solves", "solve", "peak_memory"),
    ("y = A x, kernel", "spmv", "time-cold"),
    ("y = A^T x, kernel", "spmvt", "time-cold"),
    ("y = A x with HiSparse, kernel", "hisparse", "time-n-cold"),
    ("y = A^T x with HiSparse, kernel", "hisparse", "time-t-cold"),
    ("MatMult()", "matmult", "mult-time"),
    ("MatMultTranspose()", "matmult", "multtranspose-time"),
    ("Y = A X with 16 columns, kernel", "spmm", "time-16"),
    ("C = A B", "spgemm", "time"),
    ("C = A + B", "spadd", "time"),
    ("explicit transpose", "transpose", "whole"),
    ("MatSetPreallocationCOO() and MatSetValuesCOO()", "insert", "assembly-time"),
    ("new entries in batches, entries per second", "insert", "rate"),
)
PICTURES = Path("docs/pictures")
RESULTS = Path("benchmarks/results")
NO_RESULTS = "No results yet: `make bench` on a machine with a GPU makes them."


class ReportError(Exception):
    """Something about the files that the user has to mend; the message says what and where."""


# ---- records


def gpu_folder(gpu):
    """The folder of a GPU's results, the rule of conf/machine.py: 'NVIDIA H200' -> 'h200', 'NVIDIA A100-SXM4-80GB' -> 'a100'."""
    words = [word for word in re.split(r"[^a-z0-9]+", gpu.lower()) if word and word not in ("nvidia", "geforce", "tesla", "graphics")]
    return re.split(r"_(?:sxm|pcie|hbm|\d+gb)", "_".join(words))[0] or "unknown"


def result_folder(record):
    """The folder of a record: that of its GPU, with the number of GPUs where it has one: h200x2."""
    folder = gpu_folder(record["gpu"])
    return f"{folder}x{record['gpus']}" if "gpus" in record else folder


def machine_title(record):
    """The GPU of a record, and how many of them where it says so."""
    return f"{record['gpus']} x {record['gpu']}" if record.get("gpus", 1) > 1 else record["gpu"]


def record_key(record):
    return record["benchmark"], record["case"], record["metric"]


def check_number(record, key, where, optional):
    value = record[key]
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ReportError(f"{where}: '{key}' is {value!r}, not a number")
    if not math.isfinite(value):
        raise ReportError(f"{where}: '{key}' is {value!r}, not a finite number")
    if value < 0:
        raise ReportError(f"{where}: '{key}' is {value!r}, a negative number")


def check_record(record, where):
    """Raises ReportError when a record is not one; where names its file and line."""
    if not isinstance(record, dict):
        raise ReportError(f"{where}: not a JSON object")
    missing = [key for key in KEYS if key not in record]
    if missing:
        raise ReportError(f"{where}: missing key{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
    for key in TEXT_KEYS:
        if not isinstance(record[key], str) or not record[key].strip():
            raise ReportError(f"{where}: '{key}' is {record[key]!r}, not a text")
    if record["benchmark"] not in BENCHMARKS:
        raise ReportError(f"{where}: unknown benchmark '{record['benchmark']}'; known are {', '.join(BENCHMARKS)}")
    if record["benchmark"] in SOLVES and record["metric"] not in SOLVE_METRICS:
        raise ReportError(f"{where}: unknown metric '{record['metric']}' of {record['benchmark']}; known are {', '.join(SOLVE_METRICS)}")
    if record["benchmark"] in HARD and (record["metric"] not in HARD_METRICS or "@" not in record["case"]):
        raise ReportError(f"{where}: a record of {record['benchmark']} has a case SYSTEM@CONFIGURATION and one of the metrics {', '.join(HARD_METRICS)}")
    if "failed" in record and (record["benchmark"] not in HARD or record["ours"] is not None or not isinstance(record["failed"], str) or not record["failed"].strip()):
        raise ReportError(f"{where}: 'failed' says why 'ours' is null, in records of {' and '.join(HARD)} alone")
    check_number(record, "ours", where, optional="failed" in record)
    check_number(record, "best", where, optional=True)
    check_number(record, "floor", where, optional=True)
    if record["best"] is not None and record["competitor"] is None:
        raise ReportError(f"{where}: 'best' without a 'competitor'; name it, or make both null when nobody else was measured")
    if record.get("best_measured", "earlier") != "earlier":
        raise ReportError(f"{where}: 'best_measured' is {record['best_measured']!r}; it is 'earlier', or not there for the same run")
    version = record.get("floor_version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= FLOOR_VERSION:
        raise ReportError(f"{where}: 'floor_version' is {version!r}, not 1 to {FLOOR_VERSION}")
    gpus = record.get("gpus")
    if (record["benchmark"] in PARALLEL) != ("gpus" in record):
        raise ReportError(f"{where}: 'gpus' belongs to records of {' and '.join(PARALLEL)}, each of them, and to no others")
    if gpus is not None and (isinstance(gpus, bool) or not isinstance(gpus, int) or gpus < 1):
        raise ReportError(f"{where}: 'gpus' is {gpus!r}, not a number of GPUs")
    if record["benchmark"] == SCALING and record["metric"] not in SCALING_METRICS + tuple(metric for metric, _ in LEVEL_METRICS):
        raise ReportError(f"{where}: unknown metric '{record['metric']}' of {SCALING}")
    if record["competitor"] is not None and (not isinstance(record["competitor"], str) or not record["competitor"].strip()):
        raise ReportError(f"{where}: 'competitor' is {record['competitor']!r}, not a name")
    try:
        datetime.date.fromisoformat(record["date"][:10])
    except ValueError:
        raise ReportError(f"{where}: 'date' is {record['date']!r}, not YYYY-MM-DD") from None


def parse_line(line, where):
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ReportError(f"{where}: not JSON ({error})") from None


def read_file(path, name):
    """The checked records of one result file."""
    records, seen = [], {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        record = parse_line(line, where)
        check_record(record, where)
        if record["benchmark"] != path.stem:
            raise ReportError(f"{where}: benchmark '{record['benchmark']}' belongs into {record['benchmark']}.jsonl")
        if result_folder(record) != path.parent.name:
            raise ReportError(f"{where}: results of '{record['gpu']}' belong into the folder {result_folder(record)}")
        key = record_key(record)
        if key in seen:
            raise ReportError(f"{where}: case '{key[1]}', metric '{key[2]}' is already in line {seen[key]}")
        seen[key] = number
        records.append(record)
    return records


def read_results(root):
    """All records: {gpu folder: {benchmark: [record, ...]}}, benchmarks in the order of BENCHMARKS."""
    results = {}
    folder = root / RESULTS
    for path in sorted(folder.glob("*/*.jsonl")) if folder.is_dir() else []:
        name = path.relative_to(root).as_posix()
        if path.stem not in BENCHMARKS:
            raise ReportError(f"{name}: unknown benchmark '{path.stem}'; known are {', '.join(BENCHMARKS)}")
        records = read_file(path, name)
        if records:
            results.setdefault(path.parent.name, {})[path.stem] = records
    return {gpu: {name: files[name] for name in BENCHMARKS if name in files} for gpu, files in results.items()}


def add_records(root, lines, source, settings):
    """Merges the records among lines into the result files; returns how many there were."""
    new, count = {}, 0
    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith("{"):
            continue
        where = f"{source}:{number}"
        record = parse_line(line, where)
        if not isinstance(record, dict) or "benchmark" not in record:
            continue
        for key, value in settings.items():
            if not record.get(key) or record[key] == "unknown":
                record[key] = value
        check_record(record, where)
        path = root / RESULTS / result_folder(record) / (record["benchmark"] + ".jsonl")
        new.setdefault(path, {})[record_key(record)] = record
        count += 1
    for path, records in new.items():
        merged = {record_key(old): old for old in read_file(path, path.relative_to(root).as_posix())} if path.exists() else {}
        merged.update(records)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in merged.values()), encoding="utf-8")
    return count


# ---- what the numbers say


def ratio(record):
    """How many times better ours is than the best competitor; None when there is nothing to compare."""
    ours, best = record["ours"], record["best"]
    if record["unit"] in RATE_UNITS:
        ours, best = best, ours
    return best / ours if best is not None and ours else None


def of_floor(record, key):
    """The fraction of the floor (the bound that nothing can beat) that ours or best reaches; None without a floor."""
    value, floor = record[key], record["floor"]
    if record["unit"] in RATE_UNITS:
        value, floor = floor, value
    return floor / value if floor is not None and value else None


def beats_floor(record):
    """Whether ours, or the best competitor of the same run, is below the floor by more than rounding shows."""
    fractions = [of_floor(record, "ours"), None if "best_measured" in record else of_floor(record, "best")]
    return any(fraction is not None and fraction > 1 + FLOOR_TOLERANCE for fraction in fractions)


def floor_version(record):
    return record.get("floor_version", 1)


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def is_loss(record):
    """Whether we lose; one iteration more is none, as rounding alone moves the count by one."""
    if record["competitor"] in OURSELVES:
        return False
    if record["metric"] == "iterations" and record["best"] is not None:
        return record["ours"] > record["best"] + 1
    value = ratio(record)
    return value is not None and value < LOSS


def metrics_of(records):
    return list(dict.fromkeys(record["metric"] for record in records))


# ---- markdown


def number(value):
    """Three significant digits, no exponent."""
    if value is None:
        return "-"
    if value == 0 or float(value).is_integer() and abs(value) < 1000:
        return str(int(value))
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(digits, 0)}f}" if digits >= 0 else f"{round(value, digits):,.0f}"


def size(value, unit):
    """A number with its unit, bytes in the multiple that reads best."""
    if value is not None and unit in ("B", "bytes"):
        for name, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
            if value >= scale:
                return f"{number(value / scale)} {name}"
    return f"{number(value)} {unit}" if value is not None else "-"


def times(value):
    return "-" if value is None else f"{value:.2f}x"


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def table(header, rows):
    """A markdown table; the first column to the left, the others to the right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---"] + ["---:"] * (len(header) - 1)) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def in_products(value):
    return "-" if value is None else f"{value:.1f}"


def listed(values):
    return ", ".join(dict.fromkeys(values))


def provenance(records):
    """Where and when: one line for all records of a block."""
    def of(key):
        return listed(record[key] for record in records)

    return f"{of('gpu')}, driver {of('driver')}, CUDA {of('cuda')}, PETSc {of('petsc')}, commit {of('commit')}, {of('date')}."


def losses_line(records, with_metric):
    lost = [record for record in records if is_loss(record)]
    if not lost:
        return f"Where we lose (ratio below {LOSS}): nowhere."
    items = []
    for record in lost:
        name = f"{record['case']} {record['metric']}" if with_metric else record["case"]
        items.append(f"`{name}` {times(ratio(record))}")
    return f"Where we lose (ratio below {LOSS}): {', '.join(items)}."


def competitor_name(record):
    """As tables show it."""
    return "-" if record["competitor"] is None else record["competitor"] + (" (earlier)" if "best_measured" in record else "")


def plans_of(benchmark, records):
    """{case: time of its plan in products} for the metric that such a benchmark's table shows; empty for others."""
    metrics = PLANNED.get(benchmark, ())
    plans = {record["case"]: record["ours"] for record in records if record["metric"] == PLAN_METRIC}
    return {record["case"]: plans[record["case"]] / record["ours"] for record in records if record["metric"] in metrics and record["case"] in plans and record["ours"]}


def remarks(records):
    """Lines under a table about what is not of this run, and about floors that are none."""
    lines = []
    if any("best_measured" in record for record in records):
        lines += ["", EARLIER]
    beaten = [f"`{record['case']}`" for record in records if floor_version(record) < FLOOR_VERSION and beats_floor(record)]
    if beaten:
        lines += ["", f"An older kind of floor, which is no bound ([Floors](measuring.md#floors)): {', '.join(beaten)}."]
    return lines


def metric_table(records, plans=None):
    """The table of one metric, its geometric mean and its losses; plans: {case: time of the plan in products}, for a column of its own."""
    floors = any(record["floor"] is not None for record in records)
    unit = listed(record["unit"] for record in records)
    header = ["case", f"ours ({unit})", f"best other ({unit})", "its name", "ratio"]
    header += [f"floor ({unit})", "ours of floor", "best other of floor"] if floors else []
    header += ["plan, in products"] if plans else []
    rows = []
    for record in records:
        row = [f"`{record['case']}`", number(record["ours"]), number(record["best"]), competitor_name(record), times(ratio(record))]
        if floors:
            row += [number(record["floor"]), percent(of_floor(record, "ours")), percent(of_floor(record, "best"))]
        if plans:
            row.append(in_products(plans.get(record["case"])))
        rows.append(row)
    lines = table(header, rows) + remarks(records)
    ratios = [ratio(record) for record in records if ratio(record)]
    if ratios:
        against_others = any(record["competitor"] not in OURSELVES for record in records)
        lines += ["", f"Geometric mean of the ratio: {times(geometric_mean(ratios))} ({len(ratios)} case{'s' if len(ratios) > 1 else ''}). {losses_line(records, False) if against_others else ''}".rstrip()]
    return lines


def solve_table(records):
    """One row a case: ours / best other for every metric, and the ratio of the times to solution."""
    cases = {}
    for record in records:
        cases.setdefault(record["case"], {})[record["metric"]] = record
    columns = [metric for metric in SOLVE_METRICS if any(metric in case for case in cases.values())]
    rows, totals, solutions = [], [], times_to_solution(records)
    for name, case in cases.items():
        row = [f"`{name}`", listed(record["competitor"] or "-" for record in case.values())]
        for metric in columns:
            record = case.get(metric)
            unit = "" if metric == "iterations" else record["unit"] if record else ""
            row.append("-" if record is None else f"{size(record['ours'], unit).strip()} / {size(record['best'], unit).strip()}")
        ours, best = solutions.get(name, (None, None))
        total = best / ours if ours else None
        totals += [total] if total else []
        rows.append(row + [times(total)])
    lines = table(["case", "best other"] + [f"{metric.replace('_', ' ')}, ours / other" for metric in columns] + ["ratio of time to solution"], rows)
    if totals:
        lines += ["", f"Geometric mean of the ratio: {times(geometric_mean(totals))} ({len(totals)} case{'s' if len(totals) > 1 else ''}). {losses_line(records, True)}"]
    return lines


def hard_ratios(cases, metric):
    """The ratios of one metric of those {system: {metric: record}} that have one."""
    return [ratio(case[metric]) for case in cases if metric in case and ratio(case[metric])]


def hard_mean(cases, metric):
    ratios = hard_ratios(cases, metric)
    return times(geometric_mean(ratios)) if ratios else "-"


def hard_row(system, case, metrics):
    """One system: ours / best other for every metric, and how many times better ours is."""
    whole = case.get("whole")
    row = [f"`{system}`", competitor_name(whole) if whole else "-"]
    for metric in metrics:
        record = case.get(metric)
        row.append("-" if record is None else f"{'failed' if record['ours'] is None else number(record['ours'])} / {number(record['best'])}")
        row += [times(ratio(record)) if record else "-"] if metric in HARD_RATIOS else []
    return row


def hard_families(systems):
    """One row a family and one for all: how many systems, how many of them failed, geometric means of the ratios, and the largest complexity of ours."""
    families = {}
    for system, case in systems.items():
        families.setdefault(system.split("-")[0], []).append(case)
    ratios = [metric for metric in HARD_RATIOS if any(metric in case for case in systems.values())]
    rows = []
    for family, cases in list(families.items()) + [("all", list(systems.values()))]:
        complexities = [case["complexity"]["ours"] for case in cases if "complexity" in case and case["complexity"]["ours"]]
        failed = sum(any(record["ours"] is None for record in case.values()) for case in cases)
        rows.append([family, str(len(cases)), str(failed)] + [hard_mean(cases, metric) for metric in ratios] + [number(max(complexities, default=None))])
    return table(["family", "systems", "failed"] + [f"{metric}, mean ratio" for metric in ratios] + ["largest complexity"], rows)


def hard_lines(records):
    """A table of the systems and one of the families for each configuration."""
    configurations, lines = {}, []
    for record in records:
        system, configuration = record["case"].split("@", 1)
        configurations.setdefault(configuration, {}).setdefault(system, {})[record["metric"]] = record
    units = {record["metric"]: "" if record["unit"] == "1" else f" ({record['unit']})" for record in records}
    for configuration, systems in configurations.items():
        metrics = [metric for metric in HARD_METRICS if any(metric in case for case in systems.values())]
        header = ["system", "best other"]
        for metric in metrics:
            header += [f"{metric}{units.get(metric, '')}, ours / other"] + (["ratio"] if metric in HARD_RATIOS else [])
        lines += ["", f"`{configuration}`:", ""] + table(header, [hard_row(system, case, metrics) for system, case in systems.items()]) + [""] + hard_families(systems)
        reasons = [f"`{system}` {case['whole']['failed']}" for system, case in systems.items() if "failed" in case.get("whole", {})]
        lost = [f"`{system}` {metric} {times(ratio(case[metric]))}" for system, case in systems.items() for metric in ("whole", "step") if metric in case and is_loss(case[metric])]
        lost += [f"`{system}` failed" for system, case in systems.items() if "whole" in case and case["whole"]["ours"] is None and case["whole"]["best"] is not None]
        lines += ["", f"Failed: {'; '.join(reasons)}."] if reasons else []
        lines += ["", f"Where we lose (ratio below {LOSS}): {', '.join(lost) if lost else 'nowhere'}."]
    return lines


def scaling_table(records):
    """One row a case and metric, with the times on each number of GPUs, how many times faster that is than on one GPU, and the best other."""
    counts = sorted({record["gpus"] for record in records})
    found = {(record["case"], record["metric"], record["gpus"]): record for record in records}
    header = ["case", "metric"] + [f"{n} GPU{'s' if n > 1 else ''}" for n in counts] + [f"speed on {n}" for n in counts if n > 1] + [f"best other on {n}" for n in counts]
    rows = []
    for case, metric in ((case, metric) for case in dict.fromkeys(record["case"] for record in records) for metric in SCALING_METRICS):
        if not any((case, metric, n) in found for n in counts):
            continue
        here = [found.get((case, metric, n)) for n in counts]
        one = found.get((case, metric, 1))
        row = [f"`{case}`", f"`{metric}`"] + [scaling_value(record, "ours") for record in here]
        row += ["-" if record is None or one is None or one["unit"] in ("1", "GB") or not record["ours"] else times(one["ours"] / record["ours"]) for record, n in zip(here, counts) if n > 1]
        rows.append(row + [scaling_value(record, "best") for record in here])
    return table(header, rows)


def scaling_value(record, key):
    if record is None or record[key] is None:
        return "-"
    return number(record[key]) if record["unit"] == "1" else size(record[key], record["unit"])


def level_table(records):
    """One row a level: microseconds of an operation of it."""
    found = {(record["case"], record["metric"]): record["ours"] for record in records}
    cases = list(dict.fromkeys(record["case"] for record in records))
    columns = [(metric, title) for metric, title in LEVEL_METRICS if any((case, metric) in found for case in cases)]
    return table(["level"] + [title for _, title in columns], [[case.rsplit(LEVEL, 1)[1]] + [number(found.get((case, metric))) for metric, _ in columns] for case in cases])


def scaling_lines(records):
    """Everything about several GPUs of one model."""
    whole = [record for record in records if LEVEL not in record["case"]]
    lines = scaling_table(whole)
    lines += ["", f"Speed is the time on one GPU over this one; cases with `{WEAK}` have as many unknowns on each GPU, so that 1.00x is the best there.", losses_line(whole, True)]
    parts = {}
    for record in records:
        if LEVEL in record["case"]:
            parts.setdefault((record["case"].rsplit(LEVEL, 1)[0], record["gpus"]), []).append(record)
    for (case, gpus), levels in parts.items():
        cycle = [record["ours"] for record in whole if (record["case"], record["metric"], record["gpus"]) == (case, "cycle", gpus)]
        lines += ["", f"Levels of `{case}` on {gpus} GPU{'s' if gpus > 1 else ''}, microseconds of one call" + (f"; a cycle takes {number(cycle[0])}" if cycle else "") + ":", ""]
        lines += level_table(levels)
    return lines + ["", provenance(records)]


def scaling_block(found, to_root):
    """The lines of all GPU models; found: {folder: records}."""
    parts = []
    models = scaling_models(found)
    for gpu, records in models.items():
        links = [f"![{SCALING} {metric} on {gpu} against {GPUS.against}]({to_root}{curve_path(gpu_folder(gpu), SCALING, metric, GPUS).as_posix()})" for metric in GPUS_METRICS if has_curve(speed_records(records, metric), GPUS)]
        parts += ([""] if parts else []) + ([f"### {gpu}", ""] if len(models) > 1 else []) + [line for link in links for line in (link, "")] + scaling_lines(records)
    return parts


def benchmark_lines(gpu, benchmark, records, to_root):
    """Everything about one benchmark on one GPU; to_root leads from the page's folder to the root, for the links to the pictures."""
    lines = []
    if benchmark in SOLVES:
        lines += solve_table(records)
    elif benchmark in HARD:
        lines += hard_lines(records)
    else:
        for metric in metrics_of(records):
            chosen = [record for record in records if record["metric"] == metric]
            if len(metrics_of(records)) > 1:
                lines += ["", f"`{metric}`:", ""]
            if has_picture(chosen):
                lines += [f"![{benchmark} {metric} on {gpu}, fraction of the floor]({to_root}{picture_path(gpu, benchmark, metric).as_posix()})", ""]
            for curve in CURVES:
                if has_curve(chosen, curve):
                    lines += [f"![{benchmark} {metric} on {gpu} against {curve.against}]({to_root}{curve_path(gpu, benchmark, metric, curve).as_posix()})", ""]
            lines += metric_table(chosen, plans_of(benchmark, records) if metric in PLANNED.get(benchmark, ()) else None)
    return lines + ["", provenance(records)]


def times_to_solution(records):
    """{case: (ours, best)}: the sums of a solve's times, of cases where the competitor has all of them."""
    sums = {}
    for record in records:
        if record["metric"] in SOLVE_TIMES:
            ours, best = sums.get(record["case"], (0.0, 0.0))
            sums[record["case"]] = (ours + record["ours"], None if best is None or record["best"] is None else best + record["best"])
    return {case: (ours, best) for case, (ours, best) in sums.items() if ours and best is not None}


def summary_ratios(records, metric):
    """([(case, ratio), ...], names of the competitors) of one line of the summary."""
    if metric is None:
        return [(case, best / ours) for case, (ours, best) in times_to_solution(records).items()], listed(record["competitor"] for record in records if record["competitor"])
    chosen = [record for record in records if record["metric"] == metric and ratio(record) and record["competitor"] not in OURSELVES]
    return [(record["case"], ratio(record)) for record in chosen], listed(competitor_name(record).split(" ALG")[0].split(" DEFAULT")[0] for record in chosen)


def summary_plans(benchmark, records, metric):
    """The plans of one line of the summary: their geometric mean and the longest, in products."""
    plans = plans_of(benchmark, records) if metric in PLANNED.get(benchmark, ()) else {}
    if not plans:
        return "-"
    case, worst = max(plans.items(), key=lambda pair: pair[1])
    return f"{in_products(geometric_mean(list(plans.values())))}, longest {in_products(worst)} `{case}`"


def anchor(title):
    """How a heading is called in a link."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def summary(results, to_root):
    """One line an operation: geometric mean, the worst case, and where all are."""
    parts = []
    summed = [files for files in results.values() if any(benchmark in files for _, benchmark, _ in SUMMARY)]
    for files in summed:
        rows, losses = [], []
        for name, benchmark, metric in SUMMARY:
            ratios, others = summary_ratios(files.get(benchmark, []), metric)
            if ratios:
                case, worst = min(ratios, key=lambda pair: pair[1])
                lost = [f"`{case_}` {times(value)}" for case_, value in ratios if value < LOSS]
                losses += [f"{name}: {', '.join(lost)}"] if lost else []
                plans = summary_plans(benchmark, files[benchmark], metric)
                rows.append([name, others, str(len(ratios)), times(geometric_mean([value for _, value in ratios])), f"{times(worst)} `{case}`", plans, f"[all]({to_root}docs/results.md#{anchor(BENCHMARKS[benchmark])})"])
        if rows:
            used = [record for _, benchmark, _ in SUMMARY for record in files.get(benchmark, [])]
            title = [f"### {used[0]['gpu']}", ""] if len(summed) > 1 else []
            dates = sorted(record["date"] for record in used)
            parts += [""] + title + table(["operation", "compared with", "cases", "mean ratio", "worst", "plan, in products", ""], rows)
            if losses:
                parts += ["", f"Where we lose (ratio below {LOSS}): {'; '.join(losses)}."]
            if any("best_measured" in record for record in used):
                parts += ["", EARLIER]
            parts += ["", f"{listed(record['gpu'] for record in used)}, {dates[0]} to {dates[-1]}; driver, commit and versions stand beside each table."]
    return "\n".join(parts).strip("\n") or NO_RESULTS


def picture_links(results, to_root):
    """The pictures of whole solves."""
    links = [f"![Whole solves with PCGAMG on {files['solve'][0]['gpu']}]({to_root}{solves_path(gpu).as_posix()})" for gpu, files in results.items() if "solve" in files]
    return "\n\n".join(links) or NO_RESULTS


def block(results, name, to_root):
    """The lines between the markers of one block."""
    if name == "summary":
        return summary(results, to_root)
    if name == "picture":
        return picture_links(results, to_root)
    everything = name == "all"
    parts = []
    for benchmark in BENCHMARKS if everything else [name]:
        found = {gpu: files[benchmark] for gpu, files in results.items() if benchmark in files}
        if everything and found:
            parts += ["", f"## {BENCHMARKS[benchmark]}", ""]
        if benchmark == SCALING:
            parts += scaling_block(found, to_root)
            continue
        for gpu, records in found.items():
            lines = benchmark_lines(gpu, benchmark, records, to_root)
            parts += ([""] if parts and parts[-1] else []) + ([f"### {machine_title(records[0])}", ""] if len(found) > 1 else []) + lines
    text = "\n".join(parts).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", text) if text else NO_RESULTS


# ---- pictures


def picture_path(gpu, benchmark, metric):
    return PICTURES / f"{gpu}-{benchmark}-{metric}.svg"


def has_picture(records):
    return any(of_floor(record, "ours") is not None for record in records)


def picture(records, title):
    """A bar picture: for every case ours and the best competitor as a fraction of the floor; longer is better and 1 is the wall."""
    cases = [record for record in records if of_floor(record, "ours") is not None]
    top, row, bar, scale_width = 74, 44, 15, 500
    left = max(150, 20 + 7 * max(len(record["case"]) for record in cases))
    width = left + scale_width + 110
    longest = max([1.0] + [of_floor(record, key) for record in cases for key in ("ours", "best") if record[key]])
    unit = scale_width / longest
    height = top + row * len(cases) + 34
    bottom = top + row * len(cases)
    escape = html.escape
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="bold">{escape(title)}</text>',
        '<rect x="16" y="42" width="14" height="14" fill="#76b900"/><text x="36" y="54">ours</text>',
        '<rect x="90" y="42" width="14" height="14" fill="#b8bcc2"/><text x="110" y="54">best other</text>',
        f'<text x="{width - 16}" y="54" text-anchor="end" fill="#666">fraction of the floor, longer is better</text>',
    ]
    steps = 4 if longest <= 2 else 1
    for tick in range(int(longest * steps) + 1):
        x = left + tick / steps * unit
        wall = tick == steps
        out.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{bottom}" stroke="{"#d33" if wall else "#e4e4e4"}"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#666">{tick / steps:g}</text>')
    for index, record in enumerate(cases):
        y = top + row * index
        out.append(f'<text x="{left - 10}" y="{y + 20}" text-anchor="end">{escape(record["case"])}</text>')
        for key, color, offset in (("ours", "#76b900", 0), ("best", "#b8bcc2", bar + 2)):
            value = of_floor(record, key) if record[key] else None
            if value is None:
                continue
            length = value * unit
            label = f"{number(record[key])} {record['unit']}" + (f", {record['competitor']}" if key == "best" else "")
            inside = length > 190
            out.append(f'<rect x="{left}" y="{y + offset}" width="{length:.1f}" height="{bar}" fill="{color}"/>')
            out.append(f'<text x="{left + length + (-6 if inside else 6):.1f}" y="{y + offset + 12}" font-size="11" text-anchor="{"end" if inside else "start"}">{escape(label)}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


# The panels of the picture of whole solves: metric, caption.
PANELS = (("assembly", "assembly"), ("setup", "setup"), ("solve", "solve"), ("peak_memory", "device memory"))


def solves_path(gpu):
    return PICTURES / f"{gpu}-solve-times.svg"


def solves_picture(records, title):
    """For every case a pair of bars in each panel, ours above the best competitor, on a logarithmic scale of each panel."""
    cases = {}
    for record in records:
        if record["ours"] and record["best"]:
            cases.setdefault(record["case"], {})[record["metric"]] = record
    top, row, bar, panel, gap = 84, 40, 14, 150, 76
    left = max(150, 20 + 7 * max(len(case) for case in cases))
    width, bottom = left + len(PANELS) * (panel + gap), top + row * len(cases)
    escape = html.escape
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 10}" viewBox="0 0 {width} {bottom + 10}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
        f'<rect width="{width}" height="{bottom + 10}" fill="#fff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="bold">{escape(title)}</text>',
        f'<rect x="16" y="42" width="14" height="14" fill="{OURS}"/><text x="36" y="54">ours</text>',
        f'<rect x="90" y="42" width="14" height="14" fill="{BEST}"/><text x="110" y="54">{escape(listed(record["competitor"] for record in records if record["competitor"]))}</text>',
        f'<text x="{width - 16}" y="54" text-anchor="end" fill="#666">logarithmic, shorter is better</text>',
    ]
    for column, (metric, caption) in enumerate(PANELS):
        x = left + column * (panel + gap)
        values = [case[metric][key] for case in cases.values() if metric in case for key in ("ours", "best")]
        if not values:
            continue
        _, place = logarithmic_axis(values)
        out.append(f'<text x="{x}" y="{top - 8}" font-weight="bold">{caption}</text><line x1="{x}" y1="{top - 2}" x2="{x}" y2="{bottom}" stroke="#999"/>')
        for index, case in enumerate(cases.values()):
            for key, color, offset in (("ours", OURS, 0), ("best", BEST, bar + 1)):
                if metric in case:
                    y, length = top + row * index + offset, max(2.0, panel * place(case[metric][key]))
                    out.append(f'<rect x="{x}" y="{y}" width="{length:.1f}" height="{bar}" fill="{color}"/>')
                    out.append(f'<text x="{x + length + 5:.1f}" y="{y + 11}" font-size="11">{escape(size(case[metric][key], case[metric]["unit"]))}</text>')
    for index, name in enumerate(cases):
        out.append(f'<text x="{left - 10}" y="{top + row * index + 19}" text-anchor="end">{escape(name)}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


# Cases that are points of a curve: how their names give x and, where there are several lines, the line; the rest is said in the picture. relative: y is how
# many times faster than the competitor, on linear axes; otherwise both have a line, on logarithmic axes.
Curve = collections.namedtuple("Curve", "name case against label relative")
CURVES = (
    Curve("batch", re.compile(r"rate-batch-(?P<x>[1-9]\d*)"), "the size of a batch", "entries of a batch", ""),
    Curve("rowlength", re.compile(r"rate-rowlength-(?P<x>[1-9]\d*)"), "the length of the rows", "entries in a row of the matrix", ""),
    Curve("inserted", re.compile(r"spmv-inserted-(?P<line>.+)-(?P<x>\d+)"), "what was inserted since the matrix was compact", "percent inserted since the matrix was compact", "speed of the compact matrix = 1"),
)
# The pictures of several GPUs, whose records are made cases of such a curve.
GPUS = Curve("gpus", re.compile(r"(?P<line>.+)@(?P<x>\d+)"), "the number of GPUs", "GPUs", "speed of one GPU = 1")
GPUS_METRICS = ("setup", "solve", "mult")
OURS, BEST, OTHERS = "#76b900", "#b8bcc2", ("#3465a4", "#d97706", "#8a4fa3")


def curve_path(gpu, benchmark, metric, curve):
    return picture_path(gpu, benchmark, f"{metric}-{curve.name}")


def curve_points(records, curve):
    """[(x, name of the line or "", record), ...] by x."""
    found = [(curve.case.fullmatch(record["case"]), record) for record in records if record["ours"]]
    points = [(int(match["x"]), match.groupdict().get("line", ""), record) for match, record in found if match and not (curve.relative and ratio(record) is None)]
    return sorted(points, key=lambda point: point[0])


def curve_lines(records, curve):
    """[(name, color, [(x, y), ...]), ...], those in front last."""
    points = curve_points(records, curve)
    if curve.relative:
        names = list(dict.fromkeys(name for _, name, _ in points))
        return [(name, color, [(x, ratio(record)) for x, of, record in points if of == name]) for name, color in zip(names, (OURS,) + OTHERS)]
    names = listed(record["competitor"] for _, _, record in points if record["best"])
    lines = [(names or "best other", BEST, [(x, record["best"]) for x, _, record in points if record["best"]])]
    return lines + [("ours", OURS, [(x, record["ours"]) for x, _, record in points])]


def has_curve(records, curve):
    return len({x for x, _, _ in curve_points(records, curve)}) > 1


def logarithmic_axis(values):
    """([(value, label), ...], where a value lies between 0 and 1)"""
    begin = math.floor(math.log10(min(values)))
    end = max(math.ceil(math.log10(max(values))), begin + 1)
    ticks = [(10.0**exponent, f'10<tspan dy="-5" font-size="9">{exponent}</tspan>') for exponent in range(begin, end + 1)]
    return ticks, lambda value: (math.log10(value) - begin) / (end - begin)


def linear_axis(values):
    """The same from 0, with at most six round steps."""
    largest = max(values)
    power = 10.0 ** math.floor(math.log10(largest))
    step = next(step for step in (0.1 * power, 0.2 * power, 0.5 * power, power, 2 * power) if largest <= 6.001 * step)
    count = math.ceil(largest / step - 0.001)
    return [(tick * step, f"{tick * step:g}") for tick in range(count + 1)], lambda value: value / (count * step)


def curve_picture(records, curve, title):
    """Lines against what the names of the cases say."""
    lines = curve_lines(records, curve)
    unit = curve_points(records, curve)[0][2]["unit"]
    left, top, scale_width, scale_height, width, height = 90, 74, 640, 300, 760, 440
    axis = linear_axis if curve.relative else logarithmic_axis
    x_ticks, x_place = axis([x for _, _, line in lines for x, _ in line])
    y_ticks, y_place = axis([y for _, _, line in lines for _, y in line] + ([1.0] if curve.relative else []))
    escape = html.escape
    bottom = top + scale_height
    what = f"{curve.relative}, higher is better" if curve.relative else f"{unit}, {'higher' if unit in RATE_UNITS else 'lower'} is better"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    x = 16
    for name, color, _ in sorted(lines, key=lambda line: line[1] != OURS):
        out.append(f'<rect x="{x}" y="42" width="14" height="14" fill="{color}"/><text x="{x + 20}" y="54">{escape(name)}</text>')
        x += 42 + 8 * len(name)
    out.append(f'<text x="{width - 16}" y="54" text-anchor="end" fill="#666">{escape(what)}</text>')
    for value, label in x_ticks:
        x = left + scale_width * x_place(value)
        out.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle" fill="#666">{label}</text>')
    for value, label in y_ticks:
        y = top + scale_height * (1 - y_place(value))
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + scale_width}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{left - 10}" y="{y + 5:.1f}" text-anchor="end" fill="#666">{label}</text>')
    out.append(f'<text x="{left + scale_width / 2:.0f}" y="{bottom + 46}" text-anchor="middle" fill="#666">{curve.label}</text>')
    for _, color, line in lines:
        places = [(left + scale_width * x_place(x), top + scale_height * (1 - y_place(y))) for x, y in line]
        if len(places) > 1:
            out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" fill="none" stroke="{color}" stroke-width="3"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>' for x, y in places]
    return "\n".join(out + ["</svg>"]) + "\n"


def speed_records(records, metric):
    """Records of one GPU model whose ratio is the speed against one GPU, as cases of the curve GPUS; those with as many unknowns on each GPU are left out."""
    chosen = [record for record in records if record["metric"] == metric and LEVEL not in record["case"] and WEAK not in record["case"]]
    one = {record["case"]: record["ours"] for record in chosen if record["gpus"] == 1}
    return [dict(record, case=f"{record['case']}@{record['gpus']}", best=one[record["case"]], competitor="one GPU") for record in chosen if record["case"] in one]


def scaling_models(found):
    """{GPU model: records by the number of GPUs} of {folder: records}."""
    models = {}
    for records in found.values():
        for record in records:
            models.setdefault(record["gpu"], []).append(record)
    return {gpu: sorted(records, key=lambda record: record["gpus"]) for gpu, records in models.items()}


def scaling_pictures(found):
    texts = {}
    for gpu, records in scaling_models(found).items():
        for metric in GPUS_METRICS:
            chosen = speed_records(records, metric)
            if has_curve(chosen, GPUS):
                texts[curve_path(gpu_folder(gpu), SCALING, metric, GPUS)] = curve_picture(chosen, GPUS, f"{SCALING} {metric}, {gpu}")
    return texts


def pictures(results):
    """{path below the root: text} of every picture."""
    texts = scaling_pictures({gpu: files[SCALING] for gpu, files in results.items() if SCALING in files})
    for gpu, files in results.items():
        if any(record["ours"] and record["best"] for record in files.get("solve", [])):
            texts[solves_path(gpu)] = solves_picture(files["solve"], f"Whole solves with PCGAMG, {files['solve'][0]['gpu']}")
        for benchmark, records in files.items():
            if benchmark == SCALING:
                continue
            for metric in metrics_of(records):
                chosen = [record for record in records if record["metric"] == metric]
                if benchmark not in SOLVES and has_picture(chosen):
                    texts[picture_path(gpu, benchmark, metric)] = picture(chosen, f"{benchmark} {metric}, {chosen[0]['gpu']}")
                for curve in CURVES:
                    if has_curve(chosen, curve):
                        texts[curve_path(gpu, benchmark, metric, curve)] = curve_picture(chosen, curve, f"{benchmark} {metric}, {chosen[0]['gpu']}")
    return texts


# ---- pages

MARKED = re.compile(r"(<!-- results:(?P<name>[a-z]+) begin -->\n)(?P<body>.*?)(<!-- results:(?P=name) end -->)", re.DOTALL)


def fill_page(text, name, results, to_root):
    """The page with every marked block rewritten."""
    begins, ends = re.findall(r"<!-- results:([a-z]+) begin -->", text), re.findall(r"<!-- results:([a-z]+) end -->", text)
    if begins != ends:
        raise ReportError(f"{name}: the markers 'results:… begin' ({', '.join(begins) or 'none'}) and 'results:… end' ({', '.join(ends) or 'none'}) do not pair up")
    for found in begins:
        if found not in BLOCKS and found not in BENCHMARKS:
            raise ReportError(f"{name}: marker of an unknown benchmark '{found}'; known are {', '.join(BLOCKS)}, {', '.join(BENCHMARKS)}")
    if name == "README.md":
        absent = [wanted for wanted in README_BLOCKS if wanted not in begins]
        if absent:
            raise ReportError(f"{name}: no markers for {', '.join(absent)}")
    return MARKED.sub(lambda match: f"{match.group(1)}{block(results, match.group('name'), to_root)}\n{match.group(4)}", text)


def generated(root):
    """{path: text} of every page and picture as the result files want them."""
    results = read_results(root)
    texts = {root / path: text for path, text in pictures(results).items()}
    if not (root / "README.md").exists():
        raise ReportError("README.md: there is none")
    for path in [root / "README.md"] + sorted((root / "docs").glob("*.md")):
        name = path.relative_to(root).as_posix()
        texts[path] = fill_page(path.read_text(encoding="utf-8"), name, results, "" if path.parent == root else "../")
    return texts


def difference(path, text):
    """Says what is wrong with a page or picture; None when it is as it should be."""
    if not path.exists():
        return "is missing"
    have, want = path.read_text(encoding="utf-8").splitlines(), text.splitlines()
    for number_, (a, b) in enumerate(zip(have + [""] * len(want), want), 1):
        if a != b:
            return f"differs from the result files in line {number_}:\n  has    {a[:160]}\n  should {b[:160]}"
    return None if len(have) == len(want) else "is longer than the result files make it"


def stale_pictures(root, texts):
    return [path for path in sorted((root / PICTURES).glob("*-*-*.svg")) if path not in texts]


def beaten_floors(root):
    """[(result file, what is wrong), ...] of records that are below a floor which is one."""
    found = []
    for gpu, files in read_results(root).items():
        for benchmark, records in files.items():
            for record in records:
                if floor_version(record) >= FLOOR_VERSION and beats_floor(record):
                    who = "ours" if (of_floor(record, "ours") or 0) > 1 + FLOOR_TOLERANCE else record["competitor"]
                    found.append((root / RESULTS / gpu / (benchmark + ".jsonl"), f"case '{record['case']}', metric '{record['metric']}': {who} beats the floor, which is none then"))
    return found


def check(root):
    """Prints what does not agree; True when all does."""
    texts = generated(root)
    wrong = [(path, difference(path, text)) for path, text in texts.items()]
    wrong += [(path, "belongs to no result file") for path in stale_pictures(root, texts)]
    wrong += beaten_floors(root)
    for path, what in wrong:
        if what is not None:
            print(f"{path.relative_to(root).as_posix()}: {what}", file=sys.stderr)
    return all(what is None for _, what in wrong)


def write(root):
    texts = generated(root)
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale_pictures(root, texts):
        path.unlink()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--add", metavar="FILE", nargs="+", default=[])
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the checkout (default: that of this script)")
    options = parser.parse_args(arguments)
    try:
        settings = dict(setting.split("=", 1) for setting in options.set if "=" in setting)
        if len(settings) != len(options.set) or any(key not in KEYS for key in settings):
            raise ReportError(f"--set wants KEY=VALUE with a key of {', '.join(KEYS)}")
        for name in options.add:
            text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8", errors="replace")
            if not add_records(options.root, text.splitlines(), name, settings):
                raise ReportError(f"{name}: no record in it")
        if options.check:
            if check(options.root):
                return 0
            print("cure: run benchmarks/report.py and commit what it writes", file=sys.stderr)
            return 1
        write(options.root)
    except (ReportError, OSError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
