#!/usr/bin/env python3
"""Tests of benchmarks/report.py. Silent unless one fails; the last line is the count, as PETSc's harness writes it."""

import contextlib
import csv
import importlib.util
import io
import json
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location("report", CHECKOUT / "benchmarks" / "report.py")
report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report)

PAGE = "# Title\n\nprose\n" + "".join(f"<!-- results:{name} begin -->\n<!-- results:{name} end -->\n" for name in report.README_BLOCKS) + "the end\n"
RESULTS = "docs/results.md"


def record(**changes):
    base = {
        "benchmark": "spmv",
        "case": "2d5-64",
        "metric": "time",
        "unit": "us",
        "ours": 10.0,
        "best": 15.0,
        "competitor": "cusparse",
        "floor": 9.0,
        "gpu": "NVIDIA H200",
        "driver": "580.1",
        "cuda": "13.0",
        "petsc": "3.26.1",
        "commit": "abc1234",
        "date": "2026-01-02",
    }
    base.update(changes)
    return base


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        (self.root / "docs").mkdir()
        (self.root / "README.md").write_text(PAGE, encoding="utf-8")
        (self.root / "docs" / "results.md").write_text("<!-- results:all begin -->\n<!-- results:all end -->\n", encoding="utf-8")

    def put(self, records, name="h200/spmv.jsonl"):
        path = self.root / "benchmarks" / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in records), encoding="utf-8")

    def run_report(self, *arguments):
        """(exit status, what went to standard error)"""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = report.main(["--root", str(self.root), *arguments])
        return status, errors.getvalue()

    def page(self, name="README.md"):
        return (self.root / name).read_text(encoding="utf-8")

    def rows(self, name="h200-spmv.csv"):
        with open(self.root / "docs/results" / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def fails(self, message):
        status, errors = self.run_report("--check")
        self.assertEqual(status, 1)
        self.assertIn(message, errors)

    def refuses(self, records, message, name="h200/spmv.jsonl"):
        self.put(records, name)
        for arguments in ((), ("--check",)):
            status, errors = self.run_report(*arguments)
            self.assertEqual(status, 1)
            self.assertIn(message, errors)

    def test_without_results(self):
        self.assertEqual(self.run_report(), (0, ""))
        self.assertEqual(self.page().count(report.NO_RESULTS) + self.page(RESULTS).count(report.NO_RESULTS), len(report.BLOCKS))
        self.assertFalse((self.root / "docs/results").exists())
        self.assertEqual(self.run_report("--check"), (0, ""))

    def test_one_line_a_metric(self):
        self.put([record(case="a"), record(case="b", best=20.0, floor=5.0), record(case="c", best=None, competitor=None, floor=None), record(metric="plan", best=None, competitor=None, floor=None)])
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("|`time`|2 of 3|1.73x|1.50x `a`|67%|cusparse|\n", self.page(RESULTS))
        self.assertIn("\nWithout a competitor: `plan` 10 us.\n", self.page(RESULTS))
        self.assertIn("NVIDIA H200, driver 580.1, CUDA 13.0, PETSc 3.26.1, commit abc1234, 2026-01-02: [h200-spmv.csv](../docs/results/h200-spmv.csv).", self.page(RESULTS))
        self.assertTrue(self.page().startswith("# Title\n\nprose\n") and self.page().endswith("the end\n"))

    def test_csv_has_all_rows(self):
        self.put([record(case="a", floor_version=2), record(case="b,c", ours=12345.678, best=None, competitor=None, floor=None)])
        self.assertEqual(self.run_report(), (0, ""))
        self.assertEqual(
            self.rows(),
            [
                dict(dict.fromkeys(report.COLUMNS, ""), case="a", metric="time", unit="us", ours="10.0", best="15.0", competitor="cusparse", ratio="1.5", floor="9.0", ours_of_floor="0.9", floor_version="2", commit="abc1234", date="2026-01-02"),
                dict(dict.fromkeys(report.COLUMNS, ""), case="b,c", metric="time", unit="us", ours="12345.678", commit="abc1234", date="2026-01-02"),
            ],
        )

    def test_check_compares_csv(self):
        self.put([record(case="a"), record(case="b")])
        self.run_report()
        path = self.root / "docs/results/h200-spmv.csv"
        good = path.read_text(encoding="utf-8")
        for wrong, message in (
            (good.replace("10.0", "9.0", 1), "differs from the result files in line 2"),
            (good.rsplit("b,", 1)[0], "differs from the result files in line 3"),
            (good + "c,time\n", "is longer than the result files make it"),
        ):
            with self.subTest(message=message):
                path.write_text(wrong, encoding="utf-8")
                self.fails(f"docs/results/h200-spmv.csv: {message}")
        path.rename(self.root / "docs/results/h200-spmw.csv")
        self.fails("h200-spmv.csv: is missing")
        self.fails("h200-spmw.csv: belongs to no result file")
        self.run_report()
        self.assertEqual([path.name for path in (self.root / "docs/results").iterdir()], ["h200-spmv.csv"])
        self.assertEqual(self.run_report("--check"), (0, ""))

    def test_losses(self):
        self.put([record(case="a", best=20.0), record(case="b", best=5.0), record(case="c", best=9.8), record(case="d", best=9.5), record(case="c", metric="time-warm", best=9.6)])
        self.run_report()
        self.assertIn("|`time`|4|0.98x|0.50x `b`|", self.page(RESULTS))
        self.assertIn("\nLosses (ratio below 0.97): **time** `b` 0.50x, `d` 0.95x; **time-warm** `c` 0.96x.\n", self.page(RESULTS))

    def test_check_finds_a_loss_that_the_page_hides(self):
        self.put([record(case="a", best=20.0), record(case="b", best=5.0)])
        self.run_report()
        self.assertEqual(self.run_report("--check"), (0, ""))
        for hidden in (self.page(RESULTS).replace("**time** `b` 0.50x", "none"), self.page(RESULTS).replace(" `b` 0.50x.", " `b` 0.98x.")):
            self.assertNotEqual(hidden, self.page(RESULTS))
            (self.root / RESULTS).write_text(hidden, encoding="utf-8")
            self.fails("docs/results.md: differs from the result files in line")
            self.run_report()

    def test_no_loss_is_said(self):
        self.put([record(best=9.71)])
        self.run_report()
        self.assertIn("\nLosses (ratio below 0.97): none.\n", self.page(RESULTS))

    def test_every_loss_of_this_checkout_is_on_its_page(self):
        page = (CHECKOUT / RESULTS).read_text(encoding="utf-8")
        for files in report.read_results(CHECKOUT).values():
            for benchmark, records in files.items():
                section = page.split(f"## {report.BENCHMARKS[benchmark]}\n")[1].split("\n## ")[0]
                for loss in filter(report.is_loss, records):
                    said = "failed" if loss["ours"] is None else f"{report.ratio(loss):.2f}x"
                    self.assertIn(f"`{loss['case'].split('@')[0]}` {said}", section.split("**" + " ".join(loss["case"].split("@")[1:] + [loss["metric"]]) + "** ", 1)[1])

    def test_rates_count_upwards(self):
        self.put([record(unit="GB/s", ours=3000, best=2000, floor=4000)])
        self.run_report()
        self.assertIn("|`time`|1|1.50x|1.50x `2d5-64`|75%|cusparse|", self.page(RESULTS))

    def test_without_competitor_and_floor(self):
        self.put([record(best=None, competitor=None, floor=None), record(case="b", ours=12.5, best=None, competitor=None, floor=None)])
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("Without a competitor: `time` 10 to 12.5 us.", self.page(RESULTS))
        self.assertNotIn("Losses", self.page(RESULTS))
        self.assertNotIn("|", self.page(RESULTS))
        self.assertFalse((self.root / report.PICTURES).exists())

    def test_nothing_to_compare(self):
        """A part of a setup that only one of the two has is neither won nor lost."""
        self.put([record(case="a", best=0.0, floor=None), record(case="b", ours=0.0, floor=None), record(case="c")])
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("|`time`|1 of 3|1.50x|1.50x `c`|", self.page(RESULTS))
        self.assertIn("Losses (ratio below 0.97): none.", self.page(RESULTS))

    def test_solve_table(self):
        common = {"benchmark": "solve", "case": "ex56-40", "unit": "s", "competitor": "aijcusparse", "floor": None}
        self.put(
            [
                record(**common, metric="assembly", ours=1.0, best=2.0),
                record(**common, metric="setup", ours=2.0, best=3.0),
                record(**common, metric="solve", ours=1.0, best=0.5),
                record(**{**common, "unit": "1"}, metric="iterations", ours=12, best=11),
                record(**{**common, "unit": "GB"}, metric="peak_memory", ours=2.5, best=55),
            ],
            "h200/solve.jsonl",
        )
        self.assertEqual(self.run_report(), (0, ""))
        page = self.page(RESULTS)
        self.assertIn("|case|iterations, ours/other|assembly (s), ours/other|setup (s), ours/other|solve (s), ours/other|peak memory (GB), ours/other|ratio of time to solution|best other|", page)
        self.assertIn("|`ex56-40`|12/11|1/2|2/3|1/0.500|2.50/55|1.38x|aijcusparse|", page)
        self.assertIn("|`time to solution`|1|1.38x|1.38x `ex56-40`|-|aijcusparse|", page)
        self.assertIn("Losses (ratio below 0.97): **solve** `ex56-40` 0.50x.", page)  # one iteration more is none

    def test_loss_of_the_time_to_solution(self):
        solve = {"benchmark": "solve", "unit": "s", "competitor": "aijcusparse", "floor": None}
        self.put([record(**solve, case="a", metric=metric, ours=1.0, best=best) for metric, best in zip(report.SOLVE_TIMES, (0.97, 0.97, 0.9))], "h200/solve.jsonl")
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("Losses (ratio below 0.97): **solve** `a` 0.90x; **time to solution** `a` 0.95x.", self.page(RESULTS))

    def test_summary(self):
        solve = {"benchmark": "solve", "unit": "s", "competitor": "aijcusparse", "floor": None}
        self.put([record(**solve, case=case, metric=metric, ours=1.0, best=best) for case, best in (("a", 2.0), ("b", 8.0)) for metric in report.SOLVE_TIMES], "h200/solve.jsonl")
        self.put([record(metric="time-cold", case="2d5-64", ours=10.0, best=5.0, competitor="cuSPARSE ALG1"), record(metric="time-cold", case="x", ours=10.0, best=20.0, competitor="cuSPARSE DEFAULT"),
                  record(metric="time-cold", case="y", ours=10.0, best=1.0, competitor="same matrix, compact")])
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("|whole solves with PCGAMG: assembly, setup, solve|aijcusparse|2|4.00x|2.00x `a`|-|[all](docs/results.md#whole-solves-petscs-own-programs-with-pcgamg)|", self.page())
        self.assertIn("|y = A x, kernel|cuSPARSE|2|1.00x|0.50x `2d5-64`|-|[all](docs/results.md#sparse-matrix-vector-product-kernels)|", self.page())
        self.assertNotIn("C = A B", self.page())
        self.assertIn("Losses (ratio below 0.97): y = A x, kernel: `2d5-64` 0.50x.", self.page())

    def test_plans_in_products(self):
        common = {"benchmark": "spmvt", "floor": None}
        plan = {**common, "metric": "plan", "best": None, "competitor": None}
        self.put([record(**common, metric="time-cold", case=case, ours=10.0, best=20.0) for case in "abc"] + [record(**plan, case="a", ours=20.0), record(**plan, case="b", ours=80.0)], "h200/spmvt.jsonl")
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("|2.00x `a`|4.0, longest 8.0 `b`|[all]", self.page())

    def test_measured_earlier(self):
        self.put([record(benchmark="spgemm", case="aa-x", competitor="OpSparse", best=5.0, best_measured="earlier")], "h200/spgemm.jsonl")
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("|`time`|1|0.50x|0.50x `aa-x`|90%|OpSparse (earlier)|", self.page(RESULTS))
        self.assertEqual(self.page().count("\n\n" + report.EARLIER + "\n\n"), 1)
        self.assertIn("`aa-x` 0.50x.", self.page())
        self.assertEqual(self.rows("h200-spgemm.csv")[0]["best_measured"], "earlier")

    def test_floors(self):
        """What is below a floor is an error of those that are bounds; of the competitor, too, if it was measured in the same run."""
        self.put([record(case="a", ours=8.0), record(case="b"), record(case="c", best=8.0)])
        self.assertEqual(self.run_report(), (0, ""))
        self.assertEqual(self.run_report("--check"), (0, ""))
        for changes, who in (({"ours": 8.9}, "ours"), ({"best": 8.9}, "cusparse"), ({"best": 8.9, "best_measured": "earlier"}, None), ({"ours": 8.97}, None), ({"unit": "GB/s", "ours": 8.0, "best": 9.1}, "cusparse")):
            with self.subTest(changes=changes):
                self.put([record(**changes, floor_version=2)])
                self.assertEqual(self.run_report(), (0, ""))
                status, errors = self.run_report("--check")
                self.assertEqual(status, 0 if who is None else 1)
                if who is not None:
                    self.assertIn(f"benchmarks/results/h200/spmv.jsonl: case '2d5-64', metric 'time': {who} beats the floor", errors)

    def test_solves_picture(self):
        solve = {"benchmark": "solve", "competitor": "<other>", "floor": None}
        self.put([record(**solve, case="<a&b>", unit="s", metric="setup", ours=0.01, best=100.0), record(**solve, case="<a&b>", unit="GB", metric="peak_memory", ours=2.0, best=3.0),
                  record(**{**solve, "competitor": None}, case="b", unit="s", metric="setup", best=None)], "h200/solve.jsonl")
        self.assertEqual(self.run_report(), (0, ""))
        self.assertEqual(self.run_report("--check"), (0, ""))
        picture = (self.root / "docs/pictures/h200-solve-times.svg").read_text(encoding="utf-8")
        xml.dom.minidom.parseString(picture)
        self.assertEqual(picture.count("<rect"), 3 + 4)
        self.assertIn("(docs/pictures/h200-solve-times.svg)", self.page())

    def test_comparison_with_ourselves_is_no_loss(self):
        self.put([record(metric="mult-time", competitor="same matrix, compact", best=9.0)])
        self.run_report()
        self.assertIn("|`mult-time`|1|0.90x|0.90x `2d5-64`|90%|same matrix, compact|", self.page(RESULTS))
        self.assertNotIn("Losses", self.page(RESULTS))

    def test_several_gpus(self):
        self.put([record()])
        self.put([record(gpu="NVIDIA A100-SXM4-80GB")], "a100/spmv.jsonl")
        self.assertEqual(self.run_report(), (0, ""))
        for machine, folder in (("NVIDIA H200", "h200"), ("NVIDIA A100-SXM4-80GB", "a100")):
            self.assertIn(f"### {machine}\n\n|metric|", self.page(RESULTS))
            self.assertEqual(len(self.rows(f"{folder}-spmv.csv")), 1)

    def test_check_finds_an_edited_page(self):
        self.put([record()])
        self.run_report()
        self.assertEqual(self.run_report("--check"), (0, ""))
        (self.root / RESULTS).write_text(self.page(RESULTS).replace("1.50x", "1.60x"), encoding="utf-8")
        self.fails("docs/results.md: differs from the result files in line")
        self.assertIn("1.60x", self.page(RESULTS))

    def test_check_finds_changed_results(self):
        self.put([record()])
        self.run_report()
        self.put([record(ours=11.0)])
        self.assertEqual(self.run_report("--check")[0], 1)

    def test_check_finds_pictures_missing_and_left_over(self):
        self.put([record(benchmark="solve", metric="setup", unit="s", floor=None)], "h200/solve.jsonl")
        self.run_report()
        picture = self.root / "docs/pictures/h200-solve-times.svg"
        other = self.root / "docs/pictures/h200-solve-old.svg"
        picture.rename(other)
        self.fails("h200-solve-times.svg: is missing")
        self.fails("h200-solve-old.svg: belongs to no result file")
        self.run_report()
        self.assertTrue(picture.exists() and not other.exists())

    def test_refused_records(self):
        without = record()
        del without["floor"], without["date"]
        for bad, message in (
            (without, "benchmarks/results/h200/spmv.jsonl:2: missing keys floor, date"),
            (record(benchmark="spvm"), "unknown benchmark 'spvm'"),
            (json.dumps(record()).replace("10.0", "NaN"), "'ours' is nan, not a finite number"),
            (json.dumps(record()).replace("15.0", "Infinity"), "'best' is inf, not a finite number"),
            (record(ours="10"), "'ours' is '10', not a number"),
            (record(ours=None), "'ours' is None, not a number"),
            (record(floor=-1), "'floor' is -1, a negative number"),
            (record(competitor=None), "'best' without a 'competitor'"),
            (record(best_measured="later"), "'best_measured' is 'later'"),
            (record(floor_version=3), "'floor_version' is 3, not 1 to 2"),
            (record(date="yesterday"), "'date' is 'yesterday', not YYYY-MM-DD"),
            (record(commit=""), "'commit' is '', not a text"),
            (record(case="first"), "case 'first', metric 'time' is already in line 1"),
            (record(benchmark="spmvt"), "benchmark 'spmvt' belongs into spmvt.jsonl"),
            (record(gpu="NVIDIA H100 80GB HBM3"), "belong into the folder h100"),
            ('{"benchmark": ', "spmv.jsonl:2: not JSON"),
            ("[1]", "spmv.jsonl:2: not a JSON object"),
        ):
            with self.subTest(message=message):
                self.refuses([record(case="first"), bad], message)

    def test_refused_file_name(self):
        self.refuses([record()], "unknown benchmark 'sundries'", "h200/sundries.jsonl")

    def test_refused_metric_of_solve(self):
        self.refuses([record(benchmark="solve", metric="memory")], "unknown metric 'memory' of solve", "h200/solve.jsonl")

    def test_markers(self):
        for page, message in (
            (PAGE.replace("<!-- results:summary end -->\n", ""), "do not pair up"),
            (PAGE.replace("results:summary", "results:spmv"), "unknown marker 'spmv'"),
            (PAGE.replace("<!-- results:summary begin -->\n<!-- results:summary end -->\n", ""), "no markers for summary"),
        ):
            with self.subTest(message=message):
                (self.root / "README.md").write_text(page, encoding="utf-8")
                status, errors = self.run_report("--check")
                self.assertEqual(status, 1)
                self.assertIn(message, errors)

    def test_add(self):
        self.put([record(case="a"), record(case="b")])
        output = self.root / "output.txt"
        lines = ["a line of something else", json.dumps(record(case="b", ours=5.0)), '{"other": 1}', json.dumps(record(benchmark="matmult", commit="unknown"))]
        output.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.assertEqual(self.run_report("--add", str(output), "--set", "commit=f00"), (0, ""))
        self.assertEqual([(new["case"], new["ours"]) for new in report.read_results(self.root)["h200"]["spmv"]], [("a", 10.0), ("b", 5.0)])
        self.assertEqual(report.read_results(self.root)["h200"]["matmult"][0]["commit"], "f00")
        self.assertEqual(self.run_report("--check"), (0, ""))

    def test_add_several(self):
        for name in "ab":
            (self.root / name).write_text(json.dumps(record(case=name)) + "\n", encoding="utf-8")
        self.assertEqual(self.run_report("--add", str(self.root / "a"), str(self.root / "b")), (0, ""))
        self.assertEqual(len(report.read_results(self.root)["h200"]["spmv"]), 2)

    def test_add_refuses(self):
        output = self.root / "output.txt"
        output.write_text("nothing\n", encoding="utf-8")
        self.assertIn("no record in it", self.run_report("--add", str(output))[1])
        output.write_text('{"benchmark": "spmv"}\n', encoding="utf-8")
        self.assertIn("output.txt:1: missing keys", self.run_report("--add", str(output))[1])
        self.assertFalse((self.root / "benchmarks").exists())

    def test_numbers(self):
        for value, text in ((0, "0"), (12, "12"), (1234, "1,230"), (0.5, "0.500"), (0.012345, "0.0123"), (56.78, "56.8"), (999.5, "1,000"), (None, "-")):
            self.assertEqual(report.number(value), text)

    def test_scaling(self):
        whole = [record(benchmark="scaling", case="n200", metric="solve", unit="s", ours=time, best=None, competitor=None, floor=None, gpus=n) for n, time in ((1, 0.04), (2, 0.025))]
        level = [record(benchmark="scaling", case="n200-level1", metric=metric, unit=unit, ours=value, best=None, competitor=None, floor=None, gpus=2) for metric, unit, value in (("rows", "1", 169000), ("mult", "us", 36.5))]
        self.put([record()])
        self.put(whole[:1], "h200x1/scaling.jsonl")
        self.put(whole[1:] + level, "h200x2/scaling.jsonl")
        self.assertEqual(self.run_report(), (0, ""))
        page = self.page(RESULTS)
        self.assertIn("|`n200`|`solve`|s|0.0400|0.0250|1.60x|-|-|", page)
        self.assertNotIn("n200-level1", page)
        self.assertEqual([row["case"] for row in self.rows("h200x2-scaling.csv")], ["n200", "n200-level1", "n200-level1"])
        self.assertIn("[h200x1-scaling.csv](../docs/results/h200x1-scaling.csv), [h200x2-scaling.csv](../docs/results/h200x2-scaling.csv)", page)
        self.assertEqual(self.run_report("--check"), (0, ""))

    def test_scaling_refuses(self):
        good = record(benchmark="scaling", case="n200", metric="solve", unit="s", gpus=2)
        self.refuses([{key: value for key, value in good.items() if key != "gpus"}], "'gpus' belongs to records of scaling", "h200x2/scaling.jsonl")
        self.refuses([dict(good, gpus=True)], "not a number of GPUs", "h200x2/scaling.jsonl")
        self.refuses([dict(good, metric="speed")], "unknown metric 'speed' of scaling", "h200x2/scaling.jsonl")
        self.refuses([good], "belong into the folder h200x2", "h200x1/scaling.jsonl")

    def test_hard(self):
        def hard(case, metric, **changes):
            return record(**dict({"benchmark": "hard", "case": case, "metric": metric, "unit": "1", "floor": None, "competitor": "hypre, matrix of type hypre"}, **changes))

        self.put(
            [
                hard("checkerboard-8@robust", "whole", unit="ms", ours=50.0, best=200.0),
                hard("checkerboard-8@robust", "iterations", ours=10.0, best=20.0),
                hard("checkerboard-8@robust", "complexity", ours=1.6, best=2.5),
                hard("checkerboard-4@robust", "whole", unit="ms", ours=100.0, best=100.0),
                hard("islands-30@robust", "whole", unit="ms", ours=None, failed="DIVERGED_ITS after 500 iterations"),
                hard("islands-30@defaults", "whole", unit="ms", ours=30.0, best=15.0),
            ],
            "h200/hard.jsonl",
        )
        self.assertEqual(self.run_report(), (0, ""))
        page = self.page(RESULTS)
        self.assertIn("|`robust whole`|2 of 3|2.00x|1.00x `checkerboard-4`|-|hypre|", page)
        self.assertIn("|`defaults whole`|1|0.50x|0.50x `islands-30`|-|hypre|", page)
        self.assertIn("Losses (ratio below 0.97): **robust whole** `islands-30` failed; **defaults whole** `islands-30` 0.50x.", page)
        self.assertIn("Failed: `islands-30@robust` DIVERGED_ITS after 500 iterations.", page)
        self.assertEqual(self.run_report("--check"), (0, ""))
        self.assertEqual([(row["ours"], row["best"], row["failed"]) for row in self.rows("h200-hard.csv") if row["case"] == "islands-30@robust"], [("", "15.0", "DIVERGED_ITS after 500 iterations")])
        (self.root / RESULTS).write_text(page.replace("**robust whole** `islands-30` failed; ", ""), encoding="utf-8")
        self.fails("docs/results.md: differs")

    def test_hard_refuses(self):
        good = record(benchmark="hard", case="checkerboard-8@robust", metric="whole", floor=None)
        self.refuses([dict(good, ours=None)], "'ours' is None, not a number", "h200/hard.jsonl")
        self.refuses([dict(good, failed="out of memory")], "'failed' says why 'ours' is null", "h200/hard.jsonl")
        self.refuses([dict(good, case="checkerboard-8")], "SYSTEM@CONFIGURATION", "h200/hard.jsonl")
        self.refuses([dict(good, metric="time")], "SYSTEM@CONFIGURATION", "h200/hard.jsonl")
        (self.root / "benchmarks/results/h200/hard.jsonl").unlink()
        self.refuses([record(ours=None, failed="out of memory")], "in records of hard and hard-held alone")

    def test_rivals(self):
        def rival(case, metric, ours, best, competitor="hypre pmis"):
            return record(benchmark="rivals", case=case, metric=metric, unit="s", floor=None, ours=ours, best=best, competitor=competitor)

        good = [rival("ex45-100@dcsrcuda", "whole", 0.25, 0.5), rival("ex45-100@dcsrcuda", "step", 0.0125, 0.1, "hypre"), rival("ex45-100@dcsrcuda-robust", "whole", 1.0, 0.5), rival("ex54@dcsrcuda", "whole", 0.5, 0.5)]
        self.put(good, "h200/rivals.jsonl")
        self.assertEqual(self.run_report(), (0, ""))
        self.assertIn("|`ex45-100`|dcsrcuda|-|-|-|-|0.250/0.500|-|2.00x|hypre pmis|-|0.0125/0.100|8.00x|hypre|", self.page(RESULTS))
        self.assertIn("|`dcsrcuda whole`|2|1.41x|1.00x `ex54`|-|hypre pmis|", self.page(RESULTS))
        self.assertIn("Losses (ratio below 0.97): **dcsrcuda-robust whole** `ex45-100` 0.50x.", self.page(RESULTS))
        self.assertIn("|first solve: assembly, setup, solve|hypre pmis|2|1.41x|1.00x `ex54`|-|", self.page())
        self.assertIn("|next step: setup for new values, solve|hypre|1|8.00x|8.00x `ex45-100`|-|", self.page())
        self.refuses([dict(good[0], case="ex45-100")], "CASE@CONFIGURATION", "h200/rivals.jsonl")
        self.refuses([dict(good[0], metric="time")], "CASE@CONFIGURATION", "h200/rivals.jsonl")

    def test_gpu_folder(self):
        for gpu, folder in (("NVIDIA H200", "h200"), ("NVIDIA A100-SXM4-80GB", "a100"), ("Tesla V100", "v100"), ("NVIDIA H100 80GB HBM3", "h100"), ("NVIDIA GeForce RTX 4090", "rtx_4090")):
            self.assertEqual(report.gpu_folder(gpu), folder)

    def test_this_checkout(self):
        """The README of this repository agrees with its result files."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = report.main(["--check"])
        self.assertEqual(status, 0, errors.getvalue())


def main():
    output = io.StringIO()
    result = unittest.TextTestRunner(stream=output).run(unittest.defaultTestLoader.loadTestsFromTestCase(ReportTest))
    failed = len(result.failures) + len(result.errors)
    if not result.wasSuccessful():
        print(output.getvalue(), file=sys.stderr)
    print(f"# success {result.testsRun - min(failed, result.testsRun)}/{result.testsRun} tests")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
