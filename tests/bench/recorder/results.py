"""What benchmarks print, and its statistics.

A benchmark prints a line for each case that it has measured, between whatever else it prints:

    RESULT {"peer": "capstan", "workload": "P2", "case": "sparse pull uniform", "unit": "M rows/s", "values": [5.3, 5.4]}

`values`: what each run gave; a program that tells only `median` does as well. `cpu_per_unit`, if it is there: CPU seconds
of all processes of this side for a unit of work (a GB, a million rows, an example, a call), and `cpu_client`, `cpu_servers`,
`cpu_chief`: how they are divided. The word RESULT may lack."""

import json
import statistics


ENDS = ("client", "servers", "chief")


class Result:
    """What one turn found of one case."""

    def __init__(self, case, unit, values, cpu=None, ends=None):
        self.case, self.unit, self.values, self.cpu, self.ends = case, unit, list(values), cpu, ends or {}

    @property
    def value(self):
        return statistics.median(self.values)

    def to_json(self):
        return {"case": self.case, "unit": self.unit, "values": self.values, "cpu": self.cpu, "ends": self.ends}

    @staticmethod
    def from_json(fields):
        return Result(fields["case"], fields["unit"], fields["values"], fields["cpu"], fields["ends"])


def parse(output):
    """The results in what a benchmark has printed. Lines that are no result are passed over; a result that lacks what a
    result has is an error, since a case that vanishes silently would read as one that was never raced."""
    found = []
    for line in output.splitlines():
        text = line.strip().removeprefix("RESULT ")
        if not text.startswith("{"):
            continue
        fields = json.loads(text)
        values = fields.get("values") or [fields["median"]]
        workload = fields.get("workload", "")
        ends = {end: fields[f"cpu_{end}"] for end in ENDS if f"cpu_{end}" in fields}
        found.append(Result(f"{workload} {fields['case']}".strip(), fields["unit"], values, fields.get("cpu_per_unit"), ends))
    return found


def median(values):
    return statistics.median(values)


def percentile(values, percent):
    """As the C++ side has it: of the sorted values the nearest one."""
    ordered = sorted(values)
    return ordered[int(percent / 100 * (len(ordered) - 1) + 0.5)]


def show(value):
    """Three digits, or four where they tell an AUC apart."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if 0.5 <= abs(value) < 1:
        return f"{value:.4f}"
    return f"{value:.3g}"


def spread(values):
    """`median (lowest–highest)`"""
    if not values:
        return "not measured"
    if len(values) == 1 or min(values) == max(values):
        return show(median(values))
    return f"{show(median(values))} ({show(min(values))}–{show(max(values))})"
