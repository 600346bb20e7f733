#!/usr/bin/env python3
"""Turns the result files into tables of README.md and docs/results.md, files of comma-separated values, and the pictures of whole solves.

  benchmarks/report.py               rewrites the tables, CSV files and pictures
  benchmarks/report.py --check       changes nothing; exit status 1 when they do not agree with the result files
  benchmarks/report.py --add FILE... first takes the records out of files (- is standard input; lines that are no record are passed over)
                                     into benchmarks/results/GPU/BENCHMARK.jsonl; a record replaces the one of the same case and metric
  --set KEY=VALUE                    with --add: fills a key that the records lack (commit=1a2b3c4, say)

A result file is benchmarks/results/MACHINE/BENCHMARK.jsonl, one JSON object a line with the keys of KEYS below; docs/measuring.md explains them.
All of its records are in docs/results/MACHINE-BENCHMARK.csv. Text between <!-- results:NAME begin --> and <!-- results:NAME end --> in README.md and docs/*.md is generated;
NAME is "all" for one line a metric and every loss, "summary" for one line an operation, or "picture" for the picture of whole solves.
"""

import argparse
import csv
import datetime
import html
import io
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
    "rivals": "Whole programs against hypre, AmgX and the cores of the host",
    "hard": "Hard systems: whole solves with one setting for all",
    "hard-held": "Hard systems that were held out",
    "hard-precision": "Precisions of PCGAMG's cycles on 200 generated systems: iterations beside those in double precision",
    "setup": "Parts of PCSetUp with PCGAMG",
    "scaling": "Solves on several GPUs",
    "exchange": "Exchange of ghost values between GPUs",
    "insert": "Insertion and assembly",
    "spgemm": "Sparse matrix-matrix product",
    "ptap": "MatPtAP in slices, and by full blocks",
    "spadd": "Sparse matrix addition",
    "transpose": "Explicit transpose",
}

# Those of which the page has the losses and the file alone.
FILES_ALONE = ("spmv-shapes", "hisparse-shapes", "hisparse-solve", "auto-solve", "exchange", "ptap", "hard-precision")

KEYS = ("benchmark", "case", "metric", "unit", "ours", "best", "competitor", "floor", "gpu", "driver", "cuda", "petsc", "commit", "date")
# Keys that a record may have: best_measured is "earlier" when the competitor's figure is not of the same run but was measured earlier on the same GPU model; floor_version says how the floor was made;
# gpus is how many GPUs were used together, in records of PARALLEL and in no others; failed is why there is no figure of ours, in records of hard systems alone.
OPTIONAL_KEYS = ("best_measured", "floor_version", "gpus", "failed")
TEXT_KEYS = ("benchmark", "case", "metric", "unit", "gpu", "driver", "cuda", "petsc", "commit", "date")

# Units in which more is better; in all others less is.
RATE_UNITS = ("B/s", "GB/s", "TB/s", "flop/s", "GFlop/s", "Gflop/s", "1/s", "entries/s")

# Names of competitors that are ourselves in another state, such as compact rows against those after insertion: compared, but neither won nor lost.
OURSELVES = ("our forward product", "same matrix, compact", "without slices")

# A ratio below this is a loss and is named as one.
LOSS = 0.97

# Floors of version 1, which records without the key have, were bytes over the bandwidth of a copy and could be beaten. From version 2 on a floor is one: nothing may be below it by more than rounding shows.
FLOOR_VERSION = 2
FLOOR_TOLERANCE = 0.005

# Benchmarks of products whose plan has a metric, and the metrics of one product beside which the summary shows the plan as so many products.
PLAN_METRIC = "plan"
PLANNED = {"spmv": ("time-cold",), "spmvt": ("time-cold",)}

# The benchmarks of whole solves; their metrics, in the order of the columns, those whose sum is the time to solution, and the name of that sum.
SOLVES = ("solve", "hisparse-solve", "auto-solve")
SOLVE_METRICS = ("iterations", "assembly", "setup", "solve", "peak_memory")
SOLVE_TIMES = ("assembly", "setup", "solve")
SOLUTION = "time to solution"

# The benchmarks of hard systems, whose cases are SYSTEM@CONFIGURATION.
HARD = ("hard", "hard-held")
PRECISION = "hard-precision"
HARD_METRICS = ("whole", "step", "iterations", "complexity", "memory", "search", "total")

# The benchmark of whole programs against other preconditioners, whose cases are CASE@CONFIGURATION of ours.
RIVALS = "rivals"
RIVAL_METRICS = ("assembly", "setup", "solve", "iterations", "whole", "refresh", "step", "peak_memory")

# The benchmark of several GPUs. Cases with LEVEL in their names are levels of the case before it.
SCALING = "scaling"
# The benchmarks whose records say how many GPUs there were.
PARALLEL = (SCALING, "exchange")
LEVEL = "-level"
# Metrics of whole cases, in the order of the rows.
SCALING_METRICS = ("assembly", "setup-first", "setup", "refresh", "solve", "iterations", "cycle", "mult", "multtranspose", "ptap", "ptap-numeric", "peak_memory")
# Metrics of levels.
LEVEL_METRICS = ("rows", "nonzeros", "gpus-with-rows", "mult", "diagonal-block", "off-diagonal-block", "exchange", "residual", "restriction", "prolongation", "smoother", "coarse-solve", "in-cycle")
# Metrics of the phases of a setup, which are in the files alone.
PHASES = ("setup", "graph", "coarsening", "tentative", "smoothing", "coarse-level", "smoothed", "galerkin-0", "galerkin-1", "galerkin-2", "one-process")
PHASE_METRICS = tuple(f"phase-{phase}-{what}" for phase in PHASES for what in ("time", "collectives", "messages", "sent", "objects"))

SPEED = "Speed is the time on one GPU over this one. Cases with `-per-gpu` have as many unknowns on each GPU: 1.00x is the best there."
EARLIER = "(earlier): measured earlier on the same GPU model, not in this run."
README_BLOCKS = ("picture", "summary")
BLOCKS = ("all",) + README_BLOCKS

# The lines of the summary: what it is called, benchmark, metric.
SUMMARY = (
    ("whole solves with PCGAMG: assembly, setup, solve", "solve", SOLUTION),
    ("setup of PCGAMG alone", "solve", "setup"),
    ("solve alone", "solve", "solve"),
    ("device memory of whole solves", "solve", "peak_memory"),
    ("first solve: assembly, setup, solve", "rivals", "dcsrcuda whole"),
    ("next step: setup for new values, solve", "rivals", "dcsrcuda step"),
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
ROWS = Path("docs/results")
# The columns of a CSV file.
COLUMNS = ("case", "metric", "unit", "ours", "best", "competitor", "ratio", "floor", "ours_of_floor", "best_measured", "floor_version", "failed", "commit", "date")
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
    if record["benchmark"] == RIVALS and ("@" not in record["case"] or record["metric"] not in RIVAL_METRICS):
        raise ReportError(f"{where}: a record of {RIVALS} has a case CASE@CONFIGURATION and one of the metrics {', '.join(RIVAL_METRICS)}")
    if "failed" in record and (record["benchmark"] not in HARD + (PRECISION,) or record["ours"] is not None or not isinstance(record["failed"], str) or not record["failed"].strip()):
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
    if record["benchmark"] == SCALING and record["metric"] not in SCALING_METRICS + LEVEL_METRICS + PHASE_METRICS:
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
    """How many times better ours is than the best competitor; None when there is nothing to compare, as when a part of a setup is not in both."""
    ours, best = record["ours"], record["best"]
    if record["unit"] in RATE_UNITS:
        ours, best = best, ours
    return best / ours if best and ours else None


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


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def is_loss(record):
    """Whether we lose; one iteration more is none, as rounding alone moves the count by one. Iterations with another preconditioner have other costs: times compare those."""
    if record["competitor"] in OURSELVES or record["best"] is None or (record["metric"] == "iterations" and record["benchmark"] in HARD + (RIVALS,)):
        return False
    if record["ours"] is None:
        return True
    if record["metric"] == "iterations":
        return record["ours"] > record["best"] + 1
    value = ratio(record)
    return value is not None and value < LOSS


def grouped(records, key):
    """{key(record): [record, ...]} in the order of the records."""
    groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def with_solutions(records):
    """Records of whole solves, and one for the sum of the times of each case that has all of them."""
    sums = []
    for case in grouped((record for record in records if record["metric"] in SOLVE_TIMES), lambda record: record["case"]).values():
        if all(record["best"] is not None for record in case):
            sums.append(dict(case[0], metric=SOLUTION, ours=sum(record["ours"] for record in case), best=sum(record["best"] for record in case)))
    return records + sums


def plans_of(benchmark, records, metric):
    """{case: time of its plan in products} for the metrics that such a benchmark has one for; empty for others."""
    plans = {record["case"]: record["ours"] for record in records if record["metric"] == PLAN_METRIC}
    chosen = [record for record in records if record["metric"] == metric and metric in PLANNED.get(benchmark, ())]
    return {record["case"]: plans[record["case"]] / record["ours"] for record in chosen if record["case"] in plans and record["ours"]}


# ---- markdown


def number(value):
    """Three significant digits, no exponent."""
    if value is None:
        return "-"
    if value == 0 or float(value).is_integer() and abs(value) < 1000:
        return str(int(value))
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(digits, 0)}f}" if digits >= 0 else f"{round(value, digits):,.0f}"


def times(value):
    return "-" if value is None else f"{value:.2f}x"


def table(header, rows):
    """A markdown table; the first column to the left, the others to the right."""
    return ["|" + "|".join(row) + "|" for row in [header, ["---"] + ["---:"] * (len(header) - 1)] + rows]


def listed(values):
    return ", ".join(dict.fromkeys(values))


def competitors(records):
    """The names of the best others, without their algorithms; settings that were looked for have no name but their options."""
    names = (re.sub(r" (ALG\d|DEFAULT)\b.*|, matrix of type hypre$", "", record["competitor"]) + (" (earlier)" if "best_measured" in record else "") for record in records if record["competitor"])
    return listed("grid of settings" if name.startswith("-") else name for name in names)


def mean_and_worst(compared):
    worst = min(compared, key=ratio)
    return [times(geometric_mean([ratio(record) for record in compared])), f"{times(ratio(worst))} `{case_name(worst)}`"]


def case_name(record):
    return record["case"].split("@")[0]


def metric_name(record):
    """The metric as pages show it, with the configuration of a case before it."""
    return " ".join(record["case"].split("@")[1:] + [record["metric"]])


def losses_lines(groups):
    """Every loss of {metric: records} by name, and every failure with its reason."""
    lost = {name: [f"`{case_name(record)}` {'failed' if record['ours'] is None else times(ratio(record))}" for record in records if is_loss(record)] for name, records in groups.items()}
    text = "; ".join(f"**{name}** {', '.join(cases)}" for name, cases in lost.items() if cases)
    failed = listed(f"`{record['case']}` {record['failed']}" for records in groups.values() for record in records if "failed" in record)
    against_others = any(record["best"] is not None and record["competitor"] not in OURSELVES for records in groups.values() for record in records)
    return (["", f"Losses (ratio below {LOSS}): {text or 'none'}."] if against_others else []) + (["", f"Failed: {failed}."] if failed else [])


def metric_lines(records, shown=None):
    """One row a metric that is compared, of those shown, if not of all, one sentence for the others, and the losses."""
    groups, rows, alone = grouped(records, metric_name), [], []
    for name, chosen in groups.items():
        if shown and chosen[0]["metric"] not in shown:
            continue
        compared = [record for record in chosen if ratio(record)]
        if compared:
            count = str(len(compared)) if len(compared) == len(chosen) else f"{len(compared)} of {len(chosen)}"
            floors = [of_floor(record, "ours") for record in chosen if of_floor(record, "ours")]
            rows.append([f"`{name}`", count] + mean_and_worst(compared) + [f"{100 * geometric_mean(floors):.0f}%" if floors else "-", competitors(compared)])
            continue
        values = [record["ours"] for record in chosen if record["ours"] is not None]
        if values:
            unit = "" if chosen[0]["unit"] == "1" else f" {chosen[0]['unit']}"
            alone.append(f"`{name}` {' to '.join(dict.fromkeys(number(value) for value in (min(values), max(values))))}{unit}")
    lines = table(["metric", "cases", "mean ratio", "worst", "of floor", "best other"], rows) if rows else []
    return lines + (["", f"Without a competitor: {'; '.join(alone)}."] if alone else []) + losses_lines(groups)


def source_line(files, to_root):
    """Where and when the records of {folder: records} of one benchmark were measured, and where all of them are."""
    records = [record for of_folder in files.values() for record in of_folder]

    def of(key):
        return listed(record[key] for record in records)

    links = ", ".join(f"[{csv_path(folder, of_folder[0]['benchmark']).name}]({to_root}{csv_path(folder, of_folder[0]['benchmark']).as_posix()})" for folder, of_folder in files.items())
    return f"{of('gpu')}, driver {of('driver')}, CUDA {of('cuda')}, PETSc {of('petsc')}, commit {of('commit')}, {of('date')}: {links}."


def solve_table(records):
    """One row a case: ours / best other for every metric, and the ratio of the times to solution."""
    cases = {case: {record["metric"]: record for record in of_case} for case, of_case in grouped(records, lambda record: record["case"]).items()}
    units = {record["metric"]: "" if record["unit"] == "1" else f" ({record['unit']})" for record in records}
    columns = [metric for metric in SOLVE_METRICS if metric in units]
    rows = []
    for name, case in cases.items():
        row = [f"{number(case[metric]['ours'])}/{number(case[metric]['best'])}" if metric in case else "-" for metric in columns]
        rows.append([f"`{name}`"] + row + [times(ratio(case[SOLUTION])) if SOLUTION in case else "-", competitors(case.values())])
    return table(["case"] + [f"{metric.replace('_', ' ')}{units[metric]}, ours/other" for metric in columns] + ["ratio of time to solution", "best other"], rows)


def rivals_table(records):
    """One row a case and configuration of ours: ours / best rival for the first solve and for the next step, each with the rival that is fastest there."""
    found = {(record["case"], record["metric"]): record for record in records}
    rows = []
    for name in dict.fromkeys(record["case"] for record in records):
        case, configuration = name.split("@")
        row = [f"`{case}`", configuration.replace("-", " ")]
        for metric, parts in (("whole", ("iterations", "assembly", "setup", "solve", "whole", "peak_memory")), ("step", ("refresh", "step"))):
            here = found.get((name, metric))
            row += [f"{number(found[name, part]['ours'])}/{number(found[name, part]['best'])}" if (name, part) in found else "-" for part in parts]
            row += [times(ratio(here)) if here else "-", here["competitor"] or "-" if here else "-"]
        rows.append(row)
    header = ["case", "ours", "iterations, ours/rival", "assembly s", "setup s", "solve s", "whole s", "GB", "ratio", "best rival", "setup again s", "step s", "ratio", "best rival"]
    return table(header, rows)


def scaling_table(records):
    """One row a case and metric, with ours on each number of GPUs, how many times faster that is than on one GPU, and the best other."""
    counts = sorted({record["gpus"] for record in records})
    found = {(record["case"], record["metric"], record["gpus"]): record for record in records}
    header = ["case", "metric", "unit"] + [f"{n} GPU{'s' if n > 1 else ''}" for n in counts] + [f"speed on {n}" for n in counts if n > 1] + [f"best other on {n}" for n in counts]
    rows = []
    for case, metric in ((case, metric) for case in dict.fromkeys(record["case"] for record in records) for metric in SCALING_METRICS):
        here = [found.get((case, metric, n)) for n in counts]
        if any(here):
            unit = next(record["unit"] for record in here if record)
            one = found.get((case, metric, 1))
            speeds = [times(one["ours"] / record["ours"]) if record and one and unit not in ("1", "GB") and record["ours"] else "-" for record, n in zip(here, counts) if n > 1]
            rows.append([f"`{case}`", f"`{metric}`", unit] + [number(record and record["ours"]) for record in here] + speeds + [number(record and record["best"]) for record in here])
    return table(header, rows)


def benchmark_lines(benchmark, files, to_root):
    """A benchmark on one machine, or, for several GPUs, on all of one model; files: {folder: records}."""
    records = [record for of_folder in files.values() for record in of_folder]
    if benchmark == SCALING:
        whole = [record for record in records if LEVEL not in record["case"]]
        lines = scaling_table(whole) + ["", SPEED] + losses_lines(grouped(whole, metric_name))
    elif benchmark in SOLVES:
        lines = solve_table(with_solutions(records)) + [""] + metric_lines(with_solutions(records))
    elif benchmark == RIVALS:
        lines = rivals_table(records) + [""] + metric_lines(records, ("whole", "step"))
    else:
        lines = metric_lines(records)
    return lines + ["", source_line(files, to_root)]


def anchor(title):
    """How a heading is called in a link."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def summary_plans(benchmark, records, metric):
    """The plans of one line of the summary: their geometric mean and the longest, in products."""
    plans = plans_of(benchmark, records, metric)
    if not plans:
        return "-"
    case, worst = max(plans.items(), key=lambda pair: pair[1])
    return f"{geometric_mean(list(plans.values())):.1f}, longest {worst:.1f} `{case}`"


def summary(results, to_root):
    """One line an operation: geometric mean, the worst case, and where more is."""
    parts = []
    summed = [files for files in results.values() if any(benchmark in files for _, benchmark, _ in SUMMARY)]
    for files in summed:
        rows, losses = [], []
        for name, benchmark, metric in SUMMARY:
            records = with_solutions(files.get(benchmark, []))
            compared = [record for record in records if metric_name(record) == metric and ratio(record) and record["competitor"] not in OURSELVES]
            if compared:
                lost = [f"`{record['case']}` {times(ratio(record))}" for record in compared if is_loss(record)]
                losses += [f"{name}: {', '.join(lost)}"] if lost else []
                link = f"[all]({to_root}docs/results.md#{anchor(BENCHMARKS[benchmark])})"
                rows.append([name, competitors(compared), str(len(compared))] + mean_and_worst(compared) + [summary_plans(benchmark, records, metric), link])
        if rows:
            used = [record for _, benchmark, _ in SUMMARY for record in files.get(benchmark, [])]
            title = [f"### {used[0]['gpu']}", ""] if len(summed) > 1 else []
            dates = sorted(record["date"] for record in used)
            parts += [""] + title + table(["operation", "compared with", "cases", "mean ratio", "worst", "plan, in products", ""], rows)
            if losses:
                parts += ["", f"Losses (ratio below {LOSS}): {'; '.join(losses)}."]
            if any("best_measured" in record for record in used):
                parts += ["", EARLIER]
            parts += ["", f"{listed(record['gpu'] for record in used)}, {dates[0]} to {dates[-1]}; each section of the results names driver, commit and versions."]
    return "\n".join(parts).strip("\n") or NO_RESULTS


def picture_links(results, to_root):
    """The pictures of whole solves."""
    links = [f"![Whole solves with PCGAMG on {files['solve'][0]['gpu']}]({to_root}{solves_path(gpu).as_posix()})" for gpu, files in results.items() if "solve" in files]
    return "\n\n".join(links) or NO_RESULTS


def everything(results, to_root):
    """A section a benchmark, with a part for each machine that it was measured on."""
    parts = []
    for benchmark, caption in BENCHMARKS.items():
        found = {folder: files[benchmark] for folder, files in results.items() if benchmark in files}
        machines = grouped(found, lambda folder: found[folder][0]["gpu"] if benchmark == SCALING else machine_title(found[folder][0]))
        parts += ["", f"## {caption}"] if found else []
        for machine, folders in machines.items():
            lines = benchmark_lines(benchmark, {folder: found[folder] for folder in folders}, to_root)
            parts += ([""] + [f"### {machine}", ""] if len(machines) > 1 else [""]) + ([line for line in lines if line.startswith("Losses")] + [""] + lines[-1:] if benchmark in FILES_ALONE else lines)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts).strip("\n")) or NO_RESULTS


def block(results, name, to_root):
    """The lines between the markers of one block."""
    return {"summary": summary, "picture": picture_links, "all": everything}[name](results, to_root)


# ---- files of comma-separated values


def csv_path(folder, benchmark):
    return ROWS / f"{folder}-{benchmark}.csv"


def csv_text(records):
    """All records of one result file; ratios have four digits behind the point, all other numbers are those of the records."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for record in records:
        derived = {"ratio": ratio(record), "ours_of_floor": of_floor(record, "ours")}
        writer.writerow({**record, **{key: value if value is None else round(value, 4) for key, value in derived.items()}})
    return out.getvalue()


def csv_files(results):
    return {csv_path(folder, benchmark): csv_text(records) for folder, files in results.items() for benchmark, records in files.items()}


# ---- pictures

# The panels of the picture of whole solves: metric, caption.
PANELS = (("assembly", "assembly"), ("setup", "setup"), ("solve", "solve"), ("peak_memory", "device memory"))
OURS, BEST = "#76b900", "#b8bcc2"


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
        begin = math.floor(math.log10(min(values)))
        decades = max(math.ceil(math.log10(max(values))) - begin, 1)
        out.append(f'<text x="{x}" y="{top - 8}" font-weight="bold">{caption}</text><line x1="{x}" y1="{top - 2}" x2="{x}" y2="{bottom}" stroke="#999"/>')
        for index, case in enumerate(cases.values()):
            for key, color, offset in (("ours", OURS, 0), ("best", BEST, bar + 1)):
                if metric in case:
                    value = case[metric][key]
                    y, length = top + row * index + offset, max(2.0, panel * (math.log10(value) - begin) / decades)
                    out.append(f'<rect x="{x}" y="{y}" width="{length:.1f}" height="{bar}" fill="{color}"/>')
                    out.append(f'<text x="{x + length + 5:.1f}" y="{y + 11}" font-size="11">{escape(number(value))} {escape(case[metric]["unit"])}</text>')
    for index, name in enumerate(cases):
        out.append(f'<text x="{left - 10}" y="{top + row * index + 19}" text-anchor="end">{escape(name)}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def pictures(results):
    """{path below the root: text} of the pictures of whole solves."""
    solves = {folder: files["solve"] for folder, files in results.items() if any(record["ours"] and record["best"] for record in files.get("solve", []))}
    return {solves_path(folder): solves_picture(records, f"Whole solves with PCGAMG, {records[0]['gpu']}") for folder, records in solves.items()}


# ---- pages

MARKED = re.compile(r"(<!-- results:(?P<name>[a-z]+) begin -->\n)(?P<body>.*?)(<!-- results:(?P=name) end -->)", re.DOTALL)


def fill_page(text, name, results, to_root):
    """The page with every marked block rewritten."""
    begins, ends = re.findall(r"<!-- results:([a-z]+) begin -->", text), re.findall(r"<!-- results:([a-z]+) end -->", text)
    if begins != ends:
        raise ReportError(f"{name}: the markers 'results:… begin' ({', '.join(begins) or 'none'}) and 'results:… end' ({', '.join(ends) or 'none'}) do not pair up")
    for found in begins:
        if found not in BLOCKS:
            raise ReportError(f"{name}: unknown marker '{found}'; known are {', '.join(BLOCKS)}")
    if name == "README.md":
        absent = [wanted for wanted in README_BLOCKS if wanted not in begins]
        if absent:
            raise ReportError(f"{name}: no markers for {', '.join(absent)}")
    return MARKED.sub(lambda match: f"{match.group(1)}{block(results, match.group('name'), to_root)}\n{match.group(4)}", text)


def generated(root):
    """{path: text} of every page, CSV file and picture as the result files want them."""
    results = read_results(root)
    texts = {root / path: text for path, text in {**pictures(results), **csv_files(results)}.items()}
    if not (root / "README.md").exists():
        raise ReportError("README.md: there is none")
    for path in [root / "README.md"] + sorted((root / "docs").glob("*.md")):
        name = path.relative_to(root).as_posix()
        texts[path] = fill_page(path.read_text(encoding="utf-8"), name, results, "" if path.parent == root else "../")
    return texts


def difference(path, text):
    """Says what is wrong with a generated file; None when it is as it should be."""
    if not path.exists():
        return "is missing"
    have, want = path.read_text(encoding="utf-8").splitlines(), text.splitlines()
    for number_, (a, b) in enumerate(zip(have + [""] * len(want), want), 1):
        if a != b:
            return f"differs from the result files in line {number_}:\n  has    {a[:160]}\n  should {b[:160]}"
    return None if len(have) == len(want) else "is longer than the result files make it"


def stale(root, texts):
    """Pictures and CSV files that no result file makes."""
    return [path for path in sorted((root / PICTURES).glob("*-*-*.svg")) + sorted((root / ROWS).glob("*.csv")) if path not in texts]


def beaten_floors(root):
    """[(result file, what is wrong), ...] of records that are below a floor which is one."""
    found = []
    for gpu, files in read_results(root).items():
        for benchmark, records in files.items():
            for record in records:
                if record.get("floor_version", 1) >= FLOOR_VERSION and beats_floor(record):
                    who = "ours" if (of_floor(record, "ours") or 0) > 1 + FLOOR_TOLERANCE else record["competitor"]
                    found.append((root / RESULTS / gpu / (benchmark + ".jsonl"), f"case '{record['case']}', metric '{record['metric']}': {who} beats the floor, which is none then"))
    return found


def check(root):
    """Prints what does not agree; True when all does."""
    texts = generated(root)
    wrong = [(path, difference(path, text)) for path, text in texts.items()]
    wrong += [(path, "belongs to no result file") for path in stale(root, texts)]
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
    for path in stale(root, texts):
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
