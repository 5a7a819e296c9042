#!/usr/bin/env python3
"""Compares minipod's losses and gradients of language models with those of PyTorch.

The networks are those of language_nets.py. minipod trains one step from scratch. Its checkpoint, with
kernels twice as large and random numbers added to biases and norms, so that attention is not uniform and
nothing is 0, is where both programs begin: minipod runs one more step of plain SGD, after which the
optimizer state is the gradient of each weight, and PyTorch the same batch, which `minipod explain samples`
prints. Of BERT a second step with a next-sentence head of zeros, whose loss is ln 2, gives minipod's two
losses apart.

The table is that of torch_parity.py, ReLUs included: a minipod's tensor, b PyTorch's in float32, and c
PyTorch's in float64. The exit code is 1 if an a is further than --tolerance from both b and c, or if the loss of the
untrained network is further from its expectation (BERT: ln V + 1.55e-4 H + ln 2 for V tokens and H hidden
units; GPT: ln V + 2e-4 H) than an untrained logit is from 0.

Small models agree to 1e-5, which tells one form of GELU from the other. In bert-base rounding weighs
more: gradients of queries and keys of the last layers are 1e-4 from float64 in both programs.

  language_parity.py --model bert-tiny --seq-len 32 --tolerance 1e-5
  language_parity.py --model transformer-base --seq-len 24 --batch 8 --ranks 2
  language_parity.py --model gpt-mini --seq-len 64 --ranks 2 -- --accumulate 2
  language_parity.py --data books.h5 --seq-len 128 --batch 4
"""
import argparse
import json
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # of what is imported from this folder
from language_nets import NETS, names_of
from torch_parity import (F, HERE, KINK, ReluAt, last_row, minipod, nearest, row_of, scales, tell,
                          torch)
from weights import h5py, index_of, np, read_checkpoint, write_checkpoint

GAIN, NOISE = 2.0, 0.1
NEXT_HEAD = "weights/cls/seq_relationship/"
GRADIENT = "gradient of "

# ---- the network ---------------------------------------------------------------------------------


def load(weights, stored):
    if set(weights) != set(stored):
        sys.exit(f"not the same network: {sorted(set(weights) ^ set(stored))}")
    with torch.no_grad():
        for name, (w, turned) in weights.items():
            a = stored[name].T if turned else stored[name]
            if a.shape != tuple(w.shape):
                sys.exit(f"{name}: {a.shape}, PyTorch has {tuple(w.shape)}")
            w.copy_(torch.from_numpy(a.copy()))


def results(args, model, weights, batch):
    """By its name what is compared: losses, accuracies, gradients."""
    dtype = next(model.parameters()).dtype
    batch = {name: torch.tensor(x, dtype=dtype if name == "weights" else None)
             for name, x in batch.items()}
    model.zero_grad()
    values = model.loss(batch, args.label_smoothing)
    values["loss"].backward()
    found = {name: x.detach().numpy() for name, x in values.items()}
    found.update((GRADIENT + name, (w.grad.T if turned else w.grad).numpy().copy())
                 for name, (w, turned) in weights.items())
    return found


def kinks(args, model, weights, batch):
    """By its name how far a gradient moves when the ReLUs that may round to either side do."""
    plain, sides = F.relu, []
    F.relu = ReluAt.apply
    for ReluAt.place in (KINK, -KINK):
        sides.append(results(args, model, weights, batch))
    F.relu = plain
    return {name: np.abs(sides[0][name] - sides[1][name]).max() for name in sides[0]}

# ---- minipod's part ------------------------------------------------------------------------------


def on_batch(args):
    masked = ["--max-masked", args.max_masked] if args.net == "bert" else []
    return ["--model", args.model, "--data", args.data, "--batch", args.batch, "--seed", args.seed,
            "--seq-len", args.seq_len, *masked]


def step(args, steps, out, *more):
    """Trains; the last step's losses."""
    minipod(args, "train", *on_batch(args), "--precision", "f32", "--progress", "off",
            "--dropout", 0, "--optimizer", "sgd", "--momentum", 0, "--weight-decay", 0, "--lr", 0.01,
            "--lr-schedule", "constant", "--label-smoothing", args.label_smoothing, "--eval-every", 0, "--steps", steps, "--out", out,
            *more, *args.rest, ranks=args.ranks)
    return last_row(out)


def read_batch(args, folder):
    """The batch of the second step."""
    path = os.path.join(folder, "samples.json")
    minipod(args, "explain", "samples", *on_batch(args), "--steps", 2, "--json", path)
    with open(path, encoding="utf-8") as f:
        samples = json.load(f)
    fields = [field["name"] for field in samples["fields"]]
    return {name: np.array(samples["batches"][1][name]) for name in fields}


def begin_from(args, checkpoint, folder):
    """Both programs' weights as a checkpoint in `before`, and without a next-sentence head in
    `no_head`; by their names, and the step."""
    attributes, arrays = read_checkpoint(checkpoint)
    rng = np.random.default_rng(args.seed)
    for name, x in arrays.items():
        if name.startswith("weights/"):
            x = GAIN * x if x.ndim == 2 else x + NOISE * rng.standard_normal(x.shape)
            arrays[name] = x.astype(np.float32)
    write_checkpoint(os.path.join(folder, "before"), dict(attributes), arrays)
    weights = {name[len("weights/"):]: x for name, x in arrays.items()
               if name.startswith("weights/")}
    arrays.update((name, np.zeros_like(x)) for name, x in arrays.items()
                  if name.startswith(NEXT_HEAD))
    write_checkpoint(os.path.join(folder, "no_head"), dict(attributes), arrays)
    return weights


def run_minipod(args, folder):
    """The weights before the step, by their names; what is compared; the untrained loss."""
    path = {name: os.path.join(folder, name) for name in ("earlier", "before", "after", "no_head",
                                                          "masked")}
    untrained = float(step(args, 1, path["earlier"])["loss"])
    weights = begin_from(args, path["earlier"], folder)
    after = step(args, 2, path["after"], "--resume", path["before"])
    found = {name: float(after[name]) for name in after
             if name == "loss" or name.endswith("accuracy")}
    if args.net == "bert":
        masked = float(step(args, 2, path["masked"], "--resume", path["no_head"])["loss"])
        masked -= math.log(2)
        found.update({"masked-LM loss": masked, "next-sentence loss": found["loss"] - masked})
    with h5py.File(index_of(path["after"])) as f:
        found.update((GRADIENT + name, f[f"state/{name}/sgd/0"][()]) for name in weights)
    return weights, found, untrained


def compare(args, folder):
    stored, ours, untrained = run_minipod(args, folder)
    batch = read_batch(args, folder)
    shapes = {name: x.shape for name, x in stored.items()}
    model = NETS[args.net](shapes)
    weights = names_of(model)
    load(weights, stored)
    theirs = results(args, model, weights, batch)
    model.double()
    load(weights, stored)
    exact = results(args, model, weights, batch)
    at_least = scales(exact, {})
    rows = [row_of(name, ours[name], theirs[name], exact[name], at_least.get(name, 0))
            for name in exact]
    if any(not nearest(row) <= args.tolerance for row in rows):
        moved = kinks(args, model, weights, batch)
        for row in rows:
            row["kinks"] = moved[row["name"]] / row["scale"]
    return rows, stored, batch, model.untrained(shapes), untrained


def tell_run(args, stored, batch, want, untrained):
    """What was compared; whether the untrained loss is what it should be."""
    n = sum(x.size for x in stored.values())
    lengths = np.concatenate([batch[name] for name in batch if name.endswith("lengths")])
    tokens = next(x.shape[0] for name, x in stored.items()
                  if name.endswith(("word_embeddings", "shared", "wte")))
    print(f"# {args.model}, {n} parameters in {len(stored)} tensors, {tokens} tokens, batch "
          f"{args.batch} of {args.seq_len} tokens, {100 * (1 - lengths.mean() / args.seq_len):.1f} "
          f"% padding, {int(batch['weights'].sum())} answers, {args.ranks} rank(s) "
          + " ".join(args.rest))
    if not want or args.label_smoothing:
        return True
    print(f"# untrained loss {untrained:.4f}, want {want[0]:.4f} within {want[1]:.2f}")
    return abs(untrained - want[0]) <= want[1]


def read_arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="bert-tiny")
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--seq-len", type=int, default=32)
    p.add_argument("--max-masked", type=int, default=20)
    p.add_argument("--data", help="of text, as minipod takes it; default: synthetic")
    p.add_argument("--label-smoothing", type=float, help="default 0; Transformer: 0.1")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tolerance", type=float, default=1e-3)
    p.add_argument("--rows", type=int, default=5, help="gradients in the table, the furthest first")
    p.add_argument("--minipod", default=os.path.join(HERE, "../../build/release/bench/minipod"))
    p.add_argument("rest", nargs="*", help="after --: options of minipod train")
    args = p.parse_args()
    args.net = args.model.partition("-")[0]
    if args.net not in NETS:
        p.error(f"model: '{args.model}' is none of {', '.join(NETS)}")
    translates = args.net == "transformer"
    args.data = args.data or ("cipher:100:200+8" if translates else "phrases:200:100+4")
    if args.label_smoothing is None:
        args.label_smoothing = 0.1 if translates else 0.0
    return args


def main():
    args = read_arguments()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows, *run = compare(args, folder)
    is_near = tell_run(args, *run)
    n_values = sum(not row["name"].startswith(GRADIENT) for row in rows)
    sys.exit(0 if tell(args, rows, n_values) and is_near else 1)


if __name__ == "__main__":
    main()
