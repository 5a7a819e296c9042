#!/usr/bin/env python3
"""Compares training steps of minipod and of PyTorch on the same cores of the same machine.

The two run in turns, round by round, so that other work on this host affects both. The value of a run is
its median step; the table has the median over rounds. PyTorch runs eagerly and, from release 2 on, also
compiled by torch.compile, with the interpreter that runs this script; the ratio is against the faster of
the two. All train the same network (the numbers of parameters must be equal) on images of the same size
and classes. minipod reads images from a file through its loader; PyTorch has one batch of noise in
memory. Options after -- go to `minipod train`.

  compare.py --model resnet20 --batch 128                           one core
  compare.py --model resnet50 --batch 16 --steps 4 --rounds 3
  compare.py --model resnet20 --batch 256 --ranks 2 --cpus 0,1      two ranks on two cores
  compare.py --model resnet20 --batch 128 -- --impl blas,gemm
  compare.py --model resnet20 --minipod build/release/bench/minipod --json resnet20.json

Exit code 0: measured. 1: a run failed. 2: wrong usage, or a run cannot do what was asked. 77: this
interpreter has no PyTorch.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = {"mlp": "28x28x1", "resnet50": "224x224x3", "efficientnet-b0": "224x224x3"}
SMALL_IMAGES = "32x32x3"  # of the others, unless --images says
CLASSES = 10  # of minipod's made images
USAGE, SKIPPED = 2, 77
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(USAGE, f"compare.py: {message}\n")


def count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1")
    return int(text)


def what_is_wrong(text):
    """The line of a program that refuses what it was asked; mpirun has more to say behind it."""
    own = [line for line in text.splitlines()
           if re.match(r"(minipod \w+|torch_train\.py): ", line)]
    return own[0] if own else text.strip().rpartition("\n")[2]


def run_words(words):
    """What it printed; None: it has nothing to run with."""
    try:
        done = subprocess.run(words, env={**os.environ, **ENVIRONMENT}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as failure:
        print(f"compare.py: {words[0]}: {failure.strerror}", file=sys.stderr)
        sys.exit(USAGE)
    if done.returncode == SKIPPED:
        print(done.stdout, end="")
        return None
    if done.returncode == USAGE:
        print(f"compare.py: {what_is_wrong(done.stdout)}", file=sys.stderr)
        sys.exit(USAGE)
    if done.returncode != 0:
        print(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}", file=sys.stderr)
        sys.exit(1)
    return done.stdout


def run(command, args, json_path):
    """The record that the command left; None: it has nothing to run with."""
    if run_words(["taskset", "-c", args.cpus] + command) is None:
        return None
    with open(json_path, encoding="utf-8") as f:
        return json.load(f)


def make_data(args, folder):
    """Two batches of images, so that drawing them is not counted against minipod."""
    path = os.path.join(folder, "glyphs.h5")
    samples = max(2 * args.batch, 64)
    run_words([args.minipod, "data", "make", f"glyphs:{args.images}:{samples}+{args.batch}",
               "-o", path, "--quiet"])
    return path


def run_minipod(args, folder, data):
    path = os.path.join(folder, "minipod.json")
    launch = ["mpirun", "-n", str(args.ranks), "--bind-to", "none"] if args.ranks > 1 else []
    record = run(launch + [
        args.minipod, "train", "--model", args.model, "--batch", str(args.batch),
        "--data", data, "--precision", args.precision,
        "--steps", str(args.steps + args.warmup_steps), "--eval-every", "0", "--progress", "off",
        "--json", path] + args.rest, args, path)
    step = record["step_spread_s"]
    return {"parameters": record["parameters"], "step_s": step["median"], "min_s": step["min"]}


def run_torch(args, folder, compiled):
    path = os.path.join(folder, "torch.json")
    record = run([
        sys.executable, os.path.join(HERE, "torch_train.py"), "--model", args.model,
        "--batch", str(args.batch), "--shape", args.images, "--classes", str(CLASSES),
        "--precision", args.precision, "--ranks", str(args.ranks), "--steps", str(args.steps),
        "--warmup-steps", str(args.warmup_steps), "--json", path] +
        (["--compile"] if compiled else []), args, path)
    if record is None:
        sys.exit(SKIPPED)
    return {"parameters": record["parameters"], "step_s": record["step_s"],
            "min_s": record["step_min_s"], "peer": record["peer"]}


def print_table(args, rows):
    """rows: name, then what each round gave."""
    print(f"# {args.model}, {rows[0][1][0]['parameters']} parameters, images {args.images}, batch "
          f"{args.batch}, {args.precision}, {args.ranks} rank(s) on CPUs {args.cpus}, clock wall")
    print(f"# {args.rounds} rounds in turn of {args.steps} steps; step: the median over rounds of "
          "the runs' median steps; best: the fastest step of all")
    print(f"# {'program':<24}{'step':>10}{'spread':>8}{'best':>10}{'samples':>10}")
    print(f"# {'':<24}{'(ms)':>10}{'(%)':>8}{'(ms)':>10}{'(1/s)':>10}")
    for name, runs in rows:
        steps = [r["step_s"] for r in runs]
        middle = statistics.median(steps)
        print(f"  {name:<24}{1e3 * middle:>10.2f}{100 * (max(steps) - min(steps)) / middle:>8.1f}"
              f"{1e3 * min(r['min_s'] for r in runs):>10.2f}{args.batch / middle:>10.2f}")


def median_step(runs):
    return statistics.median(r["step_s"] for r in runs)


def compare(args, folder):
    data = make_data(args, folder)
    ours, eager, compiled = [], [], []
    for _ in range(args.rounds):
        eager.append(run_torch(args, folder, False))
        peer = eager[-1]["peer"]
        if int(peer.split()[1].partition(".")[0]) >= 2:
            compiled.append(run_torch(args, folder, True))
        ours.append(run_minipod(args, folder, data))
        if ours[-1]["parameters"] != eager[-1]["parameters"]:
            print(f"not the same network: minipod has {ours[-1]['parameters']} parameters, "
                  f"PyTorch {eager[-1]['parameters']}", file=sys.stderr)
            sys.exit(1)
    rows = [("minipod", ours), (peer, eager)] + ([(f"{peer} compiled", compiled)] if compiled else [])
    name, best = min(rows[1:], key=lambda row: median_step(row[1]))
    ratios = [t["step_s"] / o["step_s"] for o, t in zip(ours, best)]
    print_table(args, rows)
    print(f"# minipod: {statistics.median(ratios):.2f} x {name} (median of the rounds, "
          f"{min(ratios):.2f} to {max(ratios):.2f})")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"schema": "minipod.compare", "model": args.model, "batch": args.batch,
                       "precision": args.precision, "ranks": args.ranks, "cpus": args.cpus,
                       "minipod": ours, "eager": eager, "compiled": compiled, "peer": name,
                       "ratio": statistics.median(ratios)}, f, indent=2)
            f.write("\n")


def read_arguments():
    p = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="resnet20")
    p.add_argument("--batch", type=count, default=128, help="global batch: samples per step over all ranks")
    p.add_argument("--images", help="image size HxWxC; default: the model's")
    p.add_argument("--precision", choices=("bf16", "f32"), default="bf16")
    p.add_argument("--ranks", type=count, default=1)
    p.add_argument("--cpus", help="CPUs as for taskset -c; default: one per rank, from 0")
    p.add_argument("--rounds", type=count, default=5)
    p.add_argument("--steps", type=count, default=10, help="timed steps per run, after --warmup-steps")
    p.add_argument("--warmup-steps", type=int, default=2)
    p.add_argument("--minipod", default=os.path.join(HERE, "../../build/release/bench/minipod"))
    p.add_argument("--json", help="file for the results of all rounds")
    p.add_argument("rest", nargs="*", help="after --: options of minipod train")
    args = p.parse_args()
    args.images = args.images or IMAGES.get(args.model, SMALL_IMAGES)
    args.cpus = args.cpus or ",".join(str(i) for i in range(args.ranks))
    return args


def main():
    args = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        compare(args, folder)


if __name__ == "__main__":
    main()
