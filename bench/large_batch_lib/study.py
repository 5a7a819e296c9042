"""All runs, one after another."""
import sys

from .checks import check_runs
from .recipes import all_runs
from .report import shown
from .rows import Failure
from .runs import Held, do_run


def study(args, rows):
    """All rows, and the names of the runs that failed: the others are done all the same."""
    runs = [run for run in all_runs(args) if run.key() not in rows]
    check_runs(args, runs)
    print(f"# {len(runs)} runs to do, {len(all_runs(args)) - len(runs)} are in {args.csv}",
          flush=True)
    failed = []
    for i, run in enumerate(runs, 1):
        name = f"{i} of {len(runs)}: {run.name()}"
        try:
            rows = do_run(args, run)
        except Held:
            print(f"{name}: another study does it", flush=True)
            continue
        except Failure as e:
            print(f"{name}: failed", flush=True)
            print(f"bench/large_batch: {e}", file=sys.stderr, flush=True)
            failed.append(run.name())
            continue
        row = rows[run.key()]
        print(f"{name}: {row['outcome']}, peak {shown(row['peak_accuracy'], 4)} after "
              f"{shown(row['epochs_to_peak'], 2)} epochs", flush=True)
    return rows, failed
