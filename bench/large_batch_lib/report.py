"""Table, verdict and plot of rows."""
import json
import shutil
import statistics
import subprocess
from typing import NamedTuple

from .recipes import PER
from .rows import N_KEYS, BadInput, Failure, cell

def shown(value, places):
    return "-" if value is None else f"{value:.{places}f}"


def mean(rows, name):
    values = [row[name] for row in rows if row[name] is not None]
    return statistics.mean(values) if values else None


def rows_of(args, rows):
    """Those that are asked for."""
    asked = {name: list(map(cell, values)) for name, values in args.asked.items()}
    found = {key: row for key, row in rows.items()
             if all(cell(row[name]) in cells for name, cells in asked.items())}
    if rows and not found:
        what = ", ".join(f"{name} {' or '.join(cells)}" for name, cells in asked.items())
        raise BadInput(f"{args.csv}: has no row of {what}")
    return found


def groups(rows):
    """Lists of rows that differ in the seed alone, in the order of the table."""
    found = {}
    for row in rows.values():
        found.setdefault((*list(row.values())[:N_KEYS - 1], row["target"]), []).append(row)
    return [found[key] for key in sorted(found)]


HEAD = (("model", ""), ("data", ""), ("mesh", ""), ("batch", ""), ("optimizer", ""),
        ("lr/256", ""), ("warmup", "ep"), ("epochs", ""), ("runs", ""), ("div", ""),
        ("peak", "mean"), ("spread", "points"), ("target", ""), ("hit", ""), ("epochs", "to it"),
        ("time", "s to it"), ("to peak", "s"), ("samples", "1/s"), ("options", ""))


def cells_of(group):
    row = group[0]
    peaks = [r["peak_accuracy"] for r in group if r["peak_accuracy"] is not None]
    hits = [r for r in group if r["epochs_to_target"] is not None]
    return (row["model"], row["data"], row["mesh"], str(row["batch"]), row["optimizer"],
            f"{row['lr'] * PER / row['batch']:.4g}", f"{row['warmup']:.3g}",
            f"{row['epochs']:.4g}", str(len(group)),
            str(sum(r["outcome"] == "diverged" for r in group)),
            shown(mean(group, "peak_accuracy"), 4),
            shown(100 * (max(peaks) - min(peaks)) if len(peaks) > 1 else None, 2),
            f"{row['target']:.4g}", str(len(hits)), shown(mean(hits, "epochs_to_target"), 2),
            shown(mean(hits, "time_to_target_s"), 1), shown(mean(group, "time_to_peak_s"), 1),
            shown(mean(group, "samples_per_s"), 1), row["options"] or "-")


def print_table(rows):
    print("\n# runs: seeds; div: of these, those whose loss was not finite; peak: a run's best "
          "accuracy, its mean and largest difference over seeds;\n# hit: runs that reached the "
          "target; epochs and time to it are means over those")
    table = [tuple(zip(*HEAD))[0], tuple(zip(*HEAD))[1], *map(cells_of, groups(rows))]
    widths = [max(map(len, column)) for column in zip(*table)]
    for number, cells in enumerate(table):
        line = "  ".join(f"{c:>{width}}" for c, width in zip(cells, widths))
        print(("# " if number < 2 else "  ") + line.rstrip())


class Curve(NamedTuple):
    model: str
    data: str
    mesh: str
    epochs: float
    optimizer: str
    recipe: str
    options: str


def curves(rows):
    """Groups by rising batch, of those that differ in it alone."""
    found = {}
    for group in groups(rows):
        if mean(group, "peak_accuracy") is not None:
            curve = Curve(*(group[0][name] for name in Curve._fields))
            found.setdefault(curve, []).append(group)
    return found


def job_of(curve, every):
    """Its title's part: data set and mesh are named where there are several."""
    several = [name for name in ("data", "mesh") if len({getattr(c, name) for c in every}) > 1]
    return ", ".join([curve.model, *(getattr(curve, name) for name in several),
                      f"epochs {curve.epochs:g}"])


def way_of(curve, every):
    """Likewise the recipe, where this script's has changed between rows."""
    recipes = {c.recipe for c in every if c._replace(recipe=curve.recipe) == curve}
    recipe = f"recipe {curve.recipe}" if len(recipes) > 1 else ""
    return " ".join(filter(None, [curve.optimizer, recipe, curve.options]))


def print_verdict(rows):
    """What the largest batch costs each optimizer, against the best that there is for the model."""
    every = curves(rows)
    for job in sorted({curve[:4] for curve in every}):
        own = {curve: line for curve, line in every.items() if curve[:4] == job}
        best = max((g for line in own.values() for g in line),
                   key=lambda g: mean(g, "peak_accuracy"))
        peak = mean(best, "peak_accuracy")
        print(f"# {job_of(next(iter(own)), every)}: the best is {peak:.4f}, {best[0]['optimizer']} "
              f"at batch {best[0]['batch']}")
        for curve, line in own.items():
            print(f"#   {way_of(curve, every)} at {line[-1][0]['batch']}: "
                  f"{100 * (peak - mean(line[-1], 'peak_accuracy')):.2f} points less")


def plot(args, rows):
    every = curves(rows)
    if not every:
        return
    if not shutil.which("gnuplot"):
        print("# no plot: gnuplot is not here")
        return
    kind = "png" if args.plot.endswith(".png") else "svg"
    batches = [row["batch"] for row in rows.values()]
    script = [f"set terminal {kind} size 800,560", f"set output {json.dumps(args.plot)}",
              "set logscale x 2", f"set xrange [{min(batches) / 1.2}:{max(batches) * 1.2}]",
              "set title 'peak test accuracy: mean, least and greatest of the seeds'",
              "set xlabel 'global batch'", "set key outside below", "set grid"]
    drawn, data = [], []
    for curve, line in every.items():
        title = json.dumps(f"{job_of(curve, every)}, {way_of(curve, every)}")
        drawn.append(f"'-' using 1:2:3:4 with yerrorlines title {title} noenhanced")
        for group in line:
            peaks = [r["peak_accuracy"] for r in group if r["peak_accuracy"] is not None]
            data.append(f"{group[0]['batch']} {statistics.mean(peaks)} {min(peaks)} {max(peaks)}")
        data.append("e")
    script += ["plot " + ", ".join(drawn)] + data
    done = subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failure(f"gnuplot: exit {done.returncode}: {done.stdout.strip()}")
    print(f"# plot: {args.plot}")
