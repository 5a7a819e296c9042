#!/usr/bin/env python3
"""Compares minipod's attention, forward and backward, with PyTorch's scaled_dot_product_attention.

Both run on one core of the same machine, in turns, round by round, on random q, k and v (N, S, HEADS D)
whose heads lie side by side, as a model has them. PyTorch runs its fused kernel and its unfused one, in
the type of minipod's problem and in float32; the ratio is against the fastest of these. The time is the
shortest of all calls: other work on the machine can only make a call longer.

  attention.py                                              BERT-base, S = 128 and 512, bf16 and f32
  attention.py 8x128x12x64,drop --rounds 5 --cpu 0          as `minipod kernels attention` takes them
  attention.py --minipod build/release/bench/minipod --csv attention.csv

Exit code 0: measured. 1: a run failed. 2: wrong usage. 77: this interpreter has no PyTorch.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
RATE = 0.1  # of the word `drop`
PROBLEMS = ["8x128x12x64,bf16", "8x128x12x64,f32", "2x512x12x64,bf16", "2x512x12x64,f32"]


def parse(problem):
    shape, *words = problem.split(",")
    sizes = [int(x) for x in shape.split("x")]
    if len(sizes) != 4 or set(words) - {"bf16", "f32", "drop", "causal"}:
        raise ValueError(problem)
    return sizes, words


def torch_times(problem, calls):
    """Seconds of forward and of backward by kernel and type, in this process."""
    import time
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention
    torch.set_num_threads(1)
    (n, s, heads, d), words = parse(problem)
    rate, causal = RATE if "drop" in words else 0.0, "causal" in words
    result = {}
    for dtype in [torch.float32] if "f32" in words else [torch.bfloat16, torch.float32]:
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
            inputs = [torch.randn(n, s, heads * d, dtype=dtype, requires_grad=True) for _ in "qkv"]
            d_o = torch.randn(n, s, heads * d, dtype=dtype)
            best = [float("inf"), float("inf")]
            try:
                for _ in range(calls):
                    for x in inputs:
                        x.grad = None
                    t0 = time.perf_counter()
                    q, k, v = (x.view(n, s, heads, d).transpose(1, 2) for x in inputs)
                    with sdpa_kernel(backend):
                        o = scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=causal)
                    o = o.transpose(1, 2).reshape(n, s, heads * d)
                    t1 = time.perf_counter()
                    o.backward(d_o)
                    t2 = time.perf_counter()
                    best = [min(best[0], t1 - t0), min(best[1], t2 - t1)]
            except RuntimeError:  # the fused kernel takes no dropout
                continue
            result[f"{backend.name.lower()} {str(dtype)[6:]}"] = best
    return {"version": torch.__version__, "times": result}


def run(args, command):
    done = subprocess.run(["taskset", "-c", args.cpu] + command, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        print(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}", file=sys.stderr)
        sys.exit(1)
    return done.stdout


def run_minipod(args, problem, folder):
    path = os.path.join(folder, "kernels.json")
    run(args, [args.minipod, "kernels", "attention"] + problem.split(",") +
        ["--buffers", "hot", "--iters", str(args.calls), "--rounds", "1", "--json", path])
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    picked = {r["op"]: r for r in rows if r["pick"] == "*"}
    return picked["attention.fwd"]["impl"], [1e-6 * picked[f"attention.{op}"]["min"]
                                             for op in ("fwd", "bwd")]


def compare(args, problem, folder):
    ours, theirs, impl, version = [], {}, "", ""
    for _ in range(args.rounds):
        impl, times = run_minipod(args, problem, folder)
        ours.append(times)
        peer = json.loads(run(args, [sys.executable, os.path.abspath(__file__), problem,
                                     "--calls", str(args.calls), "--torch"]))
        version = peer["version"]
        for name, times in peer["times"].items():
            theirs.setdefault(name, []).append(times)
    rows = [(f"minipod {impl}", ours)] + [(f"torch {version} {name}", t)
                                          for name, t in theirs.items()]
    rows = [(name, [min(column) for column in zip(*times)]) for name, times in rows]
    fastest = min(sum(times) for _, times in rows[1:])
    return [(problem, name, times, fastest / sum(times)) for name, times in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", default=PROBLEMS, metavar="NxSxHEADSxD[,WORD...]")
    parser.add_argument("--minipod", default="build/release/bench/minipod")
    parser.add_argument("--cpu", default="0", help="core to run on")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=20, help="calls per round")
    parser.add_argument("--csv", help="file to write the rows to as well")
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        for problem in args.problems:
            parse(problem)
    except ValueError as wrong:
        parser.error(f"'{wrong}' is no problem NxSxHEADSxD[,WORD...]")
    try:
        import torch  # noqa: F401  # pylint: disable=unused-import
    except ImportError as why:
        print(f"SKIPPED: {why}")
        sys.exit(SKIPPED)
    if args.torch:
        print(json.dumps(torch_times(args.problems[0], args.calls)))
        return
    lines = ["problem,impl,fwd_ms,bwd_ms,both_ms,ratio"]
    print(f"# best of {args.rounds} rounds in turn of {args.calls} calls, CPU {args.cpu}, load "
          f"{os.getloadavg()[0]:.1f}; ratio: time of PyTorch's fastest over that of the row")
    print(f"# {'problem':<22}{'impl':<38}{'fwd ms':>9}{'bwd ms':>9}{'both':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for problem in args.problems:
            for _, name, (fwd, bwd), ratio in compare(args, problem, folder):
                ms = [1e3 * fwd, 1e3 * bwd, 1e3 * (fwd + bwd)]
                print(f"  {problem:<22}{name:<38}{ms[0]:>9.2f}{ms[1]:>9.2f}{ms[2]:>9.2f}"
                      f"{ratio:>7.2f}", flush=True)
                lines.append(f"\"{problem}\",{name},{ms[0]:.3f},{ms[1]:.3f},{ms[2]:.3f},"
                             f"{ratio:.3f}")
    if args.csv:
        with open(args.csv, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
