#!/usr/bin/env python3
"""Compares minipod's logits and gradients with those of the same network in PyTorch.

The weights come from a minipod checkpoint, the images from a minipod data set, both HDF5. minipod runs
one more step of plain SGD on one batch; the optimizer state after it is the gradient of each weight.
PyTorch runs the same batch in training mode, without dropout and with all units. Logits are those of an
evaluation with the checkpoint's moving statistics. Batch norm's statistics are over the whole batch.

Each row is one tensor: minipod's a, PyTorch's b in float32, and c, PyTorch in float64.

  a - b    max|a - b| / max|b|
  norm     ||a - b|| / ||b||
  a - c    max|a - c| / max|c|, the distance of minipod from the exact value
  b - c    max|b - c| / max|c|, the distance of PyTorch from it

The exit code is 1 if an a is further than --tolerance from both b and c.

c tells two kinds of tensors apart that look wrong and are not:

- A gradient that cancels. A value added to a whole channel before the next batch norm changes nothing, so
  the gradient of EfficientNet's project/beta is 0, and float32 has only rounding errors of it. If c is
  below 1e-10 of the network's largest gradient, a is compared relative to that largest one. A moving
  mean is compared relative to its channels' deviations if these are larger.
- A gradient through a ReLU whose input is 0 up to rounding: one program passes all of it on, the other
  none. If a tensor is beyond the tolerance, c is computed again with ReLUs that switch at +1e-5 and at
  -1e-5; the difference of the two is subtracted, and shown as `kinks`.

  torch_parity.py --model efficientnet-b0 --batch 8
  torch_parity.py --model resnet20 --batch 64 --ranks 2                    a batch over two ranks
  torch_parity.py --model resnet20 --checkpoint run --data set.h5
"""
import argparse
import csv
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # of what is imported from this folder
from torch_train import MODELS, SKIPPED, F, image_shape, make_model, nn, torch
from weights import h5py, index_of, np, read_checkpoint, to_torch, write_checkpoint

CANCELS = 1e-10  # of the largest gradient: what is less in float64 is rounding
KINK = 1e-5      # of a ReLU's input, which is of order 1: what rounding may move it by
TINY = 1e-300
FIRST = ("logits", "loss")  # rows of the table that are always shown
HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}

# ---- minipod's part ------------------------------------------------------------------------------


def minipod(args, *words, ranks=1):
    launch = ["mpirun", "-n", str(ranks), "--bind-to", "none"] if ranks > 1 else []
    command = launch + [args.minipod, *map(str, words)]
    done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")


def on_model(args, data):
    return ["--model", args.model, "--data", data, "--batch", args.batch, "--precision", "f32",
            "--bn-epsilon", args.bn_epsilon, "--progress", "off", *args.rest]


def train(args, data, out, steps, *more):
    minipod(args, "train", *on_model(args, data), "--steps", steps, "--out", out,
            "--bn-group", args.ranks, "--optimizer", "sgd", "--momentum", 0, "--weight-decay", 0,
            "--lr", args.lr, "--lr-schedule", "constant", "--dropout", 0, "--survival", 1,
            "--label-smoothing", args.label_smoothing, "--eval-every", 0, *more, ranks=args.ranks)
    return index_of(out)


def small_set(args, folder):
    """One batch to train with, whose order then does not matter, and a batch and a half to test."""
    n_train, n_test = args.batch, args.batch + args.batch // 2
    path = os.path.join(folder, "set.h5")
    if not args.data:
        height, width, channels = args.shape
        made = f"glyphs:{height}x{width}x{channels}:{n_train}+{n_test}"
        minipod(args, "data", "make", made, "-o", path, "--quiet")
        return path
    with h5py.File(args.data) as full, h5py.File(path, "w") as part:
        for name, value in full.attrs.items():
            part.attrs[name] = value
        for split, n in (("train", n_train), ("test", n_test)):
            for what in ("images", "labels"):
                part[f"{split}/{what}"] = full[f"{split}/{what}"][:n]
            if len(part[f"{split}/labels"]) < min(n, args.batch):
                sys.exit(f"{args.data}: fewer than {args.batch} samples in {split}")
    return path


def with_sgd_state(checkpoint, folder, weights):
    """The checkpoint as one of plain SGD on one rank, whatever it was trained with; its step."""
    attributes, arrays = read_checkpoint(checkpoint)
    arrays = {name: x for name, x in arrays.items() if name.startswith("weights/")}
    for name in weights:
        arrays[f"state/{name}/sgd/0"] = np.zeros(arrays[f"weights/{name}"].shape, np.float32)
    attributes.update(optimizer="sgd")
    attributes.pop("data_fingerprint", None)  # the step is on a file of these samples alone
    write_checkpoint(folder, attributes, arrays)
    return int(attributes["step"])


def read_predictions(path):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    index = [int(row["index"]) for row in rows]
    return index, np.array([[float(x) for name, x in row.items() if name.startswith("logit")]
                            for row in rows])


def last_row(run):
    with open(os.path.join(run, "steps.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
    return rows[-1]

# ---- PyTorch's part ------------------------------------------------------------------------------

def minipod_names(model):
    """By the name of a tensor of `model` what minipod calls it."""
    names = {}
    for path, module in model.named_modules():
        scope = path.replace("stages.", "").replace(".", "/")
        if isinstance(module, nn.Conv2d) and module.bias is None:
            of = {"weight": "w"}
            scope = scope.rpartition("/")[0]
        elif isinstance(module, nn.BatchNorm2d):
            of = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean",
                  "running_var": "moving_var"}
            scope = scope.rpartition("/")[0]
        elif isinstance(module, nn.LayerNorm):
            of = {"weight": "gamma", "bias": "beta"}
        elif isinstance(module, nn.Linear) and scope.startswith("blocks/"):
            of = {"weight": "kernel", "bias": "bias"}
        elif isinstance(module, (nn.Conv2d, nn.Linear)):
            of = {"weight": "w", "bias": "b"}
        else:
            names.update((name, name) for name in module._parameters if not path)
            continue
        for ours, theirs in of.items():
            names[f"{path}.{ours}"] = f"{scope}/{theirs}"
    return names


def load_weights(model, checkpoint, names):
    state = model.state_dict()
    with h5py.File(index_of(checkpoint)) as f:
        stored = []
        f["weights"].visititems(
            lambda name, x: stored.append(name) if isinstance(x, h5py.Dataset) else None)
        stored = {name for name in stored if not name.startswith("ema/")}
        if stored != set(names.values()):
            sys.exit(f"{checkpoint}: not the same network: {sorted(stored ^ set(names.values()))}")
        for ours, theirs in names.items():
            a = torch.from_numpy(to_torch(f[f"weights/{theirs}"][()]).copy())
            if a.shape != state[ours].shape:
                sys.exit(f"{theirs}: {tuple(a.shape)}, PyTorch has {tuple(state[ours].shape)}")
            state[ours].copy_(a)


def read_images(f, split, dtype):
    x = torch.from_numpy(f[f"{split}/images"][()]).to(dtype)
    mean, std = (torch.tensor(f.attrs[name][()], dtype=dtype) for name in ("mean", "std"))
    x = (x / 255 - mean) / std
    return x.permute(0, 3, 1, 2).contiguous(), torch.from_numpy(
        f[f"{split}/labels"][()].astype(np.int64))


def results(args, model, names, data):
    """By its name what is compared: logits of the test split, loss and gradients of the training
    batch, moving means after it."""
    dtype = next(model.parameters()).dtype
    with h5py.File(data) as f:
        test, _ = read_images(f, "test", dtype)
        train_images, labels = read_images(f, "train", dtype)
    with torch.no_grad():
        found = {"logits": model.eval()(test).numpy()}
    model.zero_grad()
    loss = F.cross_entropy(model.train()(train_images), labels,
                           label_smoothing=args.label_smoothing)
    loss.backward()
    found["loss"] = loss.detach().numpy()
    found.update((f"gradient of {names[name]}", w.grad.numpy().copy())
                 for name, w in model.named_parameters())
    found.update((names[name], mean.numpy().copy()) for name, mean in model.named_buffers()
                 if name.endswith("running_mean"))
    return found


class ReluAt(torch.autograd.Function):
    """ReLU, whose gradient begins at another place than 0."""
    place = 0.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > ReluAt.place)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.saved_tensors[0]


def kinks(args, model, names, checkpoint, data):
    """By its name how far a gradient moves when the ReLUs that may round to either side do."""
    plain, sides = F.relu, []
    F.relu = lambda x, inplace=False: ReluAt.apply(x)
    for ReluAt.place in (KINK, -KINK):
        load_weights(model, checkpoint, names)  # statistics too
        sides.append(results(args, model, names, data))
    F.relu = plain
    return {name: np.abs(sides[0][name] - sides[1][name]).max() for name in sides[0]}

# ---- side by side --------------------------------------------------------------------------------


def scales(exact, deviations):
    """By its name what a difference of a tensor is a part of, where that is more than the tensor."""
    gradients = {name: np.abs(g).max() for name, g in exact.items() if name.startswith("gradient")}
    largest = max(gradients.values())
    at_least = {name: largest for name, g in gradients.items() if g < CANCELS * largest}
    at_least.update((name, deviation) for name, deviation in deviations.items() if name in exact)
    return at_least


def row_of(name, a, b, c, at_least):
    a, b, c = (np.asarray(x, np.float64) for x in (a, b, c))

    def far(x, y):
        return np.abs(x - y).max() / max(np.abs(y).max(), at_least, TINY)
    norm = np.linalg.norm(a - b) / max(np.linalg.norm(b), at_least, TINY)
    return {"name": name, "a - b": far(a, b), "norm": norm, "a - c": far(a, c), "b - c": far(b, c),
            "scale": max(np.abs(b).max(), at_least, TINY), "kinks": 0.0}


def nearest(row):
    return min(row["a - b"], row["a - c"])


def run_minipod(args, folder, data, weights):
    """The checkpoint before the step; by its name what is compared."""
    checkpoint = args.checkpoint or train(args, data, os.path.join(folder, "earlier"), args.steps)
    before, after = (os.path.join(folder, name) for name in ("before", "after"))
    step = with_sgd_state(checkpoint, before, weights)
    after_file = train(args, data, after, step + 1, "--resume", before)
    predictions = os.path.join(folder, "predictions.csv")
    minipod(args, "eval", *on_model(args, data), "--resume", before, "--ema", "0",
            "--predictions", predictions, ranks=args.ranks)
    index, logits = read_predictions(predictions)
    if index != list(range(len(logits))):
        sys.exit(f"{predictions}: its rows are not samples 0 to {len(logits) - 1}")
    found = {"logits": logits, "loss": float(last_row(after)["loss"])}
    with h5py.File(after_file) as f:
        for name in weights:
            found[f"gradient of {name}"] = to_torch(f[f"state/{name}/sgd/0"][()])
        f["weights"].visititems(lambda name, x: found.__setitem__(name, x[()])
                                if name.endswith("moving_mean") else None)
    return before, found


def compare(args, folder):
    data = small_set(args, folder)
    with h5py.File(data) as f:
        shape, classes = f["train/images"].shape[1:], len(f.attrs["class_names"])
    torch.manual_seed(1)
    model = make_model(args.model, shape, classes, dropout=0.0, survival=1.0)
    names = minipod_names(model)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eps = args.bn_epsilon
    before, ours = run_minipod(args, folder, data,
                               [names[name] for name, _ in model.named_parameters()])
    load_weights(model, before, names)
    theirs = results(args, model, names, data)
    load_weights(model.double(), before, names)
    exact = results(args, model, names, data)
    deviations = {names[name].replace("moving_var", "moving_mean"): float(var.max()) ** 0.5
                  for name, var in model.named_buffers() if name.endswith("running_var")}
    at_least = scales(exact, deviations)
    rows = [row_of(name, ours[name], theirs[name], exact[name], at_least.get(name, 0))
            for name in exact]
    if any(not nearest(row) <= args.tolerance for row in rows):
        moved = kinks(args, model, names, before, data)
        for row in rows:
            row["kinks"] = moved[row["name"]] / row["scale"]
    sizes = {"weights": sum(w.numel() for w in model.parameters()), "shape": shape,
             "classes": classes, "test": len(exact["logits"])}
    return rows, sizes


def tell(args, rows, n_first):
    """The table: the first rows, and the furthest of the others; whether all are within the
    tolerance."""
    gradients = [row for row in rows if row["name"].startswith("gradient")]
    means = [row for row in rows if row["name"].endswith("moving_mean")]
    print(f"# a: minipod f32; b: PyTorch {torch.__version__} f32; c: PyTorch f64")
    columns = ("a - b", "norm", "a - c", "b - c", "kinks")
    width = max(48, max(len(row["name"]) for row in rows))
    print(f"# {'tensor':<{width}}" + "".join(f"{column:>10}" for column in columns))

    def line(what, row):
        print(f"  {what:<{width}}" + "".join(f"{row[column]:>10.1e}" for column in columns))
    for row in rows[:n_first] + sorted(means, key=lambda row: -row["a - b"])[:1]:
        line(row["name"], row)
    for row in sorted(gradients, key=lambda row: -row["a - b"])[:args.rows]:
        line(row["name"], row)
    line("gradients: median", {column: np.median([row[column] for row in gradients])
                               for column in columns})
    far = [row["name"] for row in rows if not nearest(row) - row["kinks"] <= args.tolerance]
    print(f"# {len(far)} of {len(rows)} beyond {args.tolerance:g}"
          + (f": {', '.join(far[:8])}" if far else ""))
    return not far


def read_arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=sorted(MODELS), default="resnet20")
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--ranks", type=int, default=1, help="ranks of minipod, which form one batch-norm group")
    p.add_argument("--checkpoint", help="folder of a run; default: train --steps first")
    p.add_argument("--data", help="HDF5 data set, whose first samples are used; default: synthetic")
    p.add_argument("--shape", type=image_shape, help="HxWxC of synthetic images; default: the model's")
    p.add_argument("--steps", type=int, default=3, help="steps before the one that is compared")
    p.add_argument("--lr", type=float, default=0.01,
                   help="learning rate of these steps; if it is high, moving statistics "
                   "lag, and unbounded logits cannot be compared")
    p.add_argument("--label-smoothing", type=float, default=0.1)
    p.add_argument("--bn-epsilon", type=float, help="default 1e-5; EfficientNet: TensorFlow's 1e-3")
    p.add_argument("--tolerance", type=float, default=1e-3)
    p.add_argument("--rows", type=int, default=5, help="gradients in the table, the furthest first")
    p.add_argument("--minipod", default=os.path.join(HERE, "../../build/release/bench/minipod"))
    p.add_argument("rest", nargs="*", help="after --: options of minipod")
    args = p.parse_args()
    args.shape = args.shape or MODELS[args.model][0]
    if args.bn_epsilon is None:
        args.bn_epsilon = 1e-3 if args.model.startswith("efficientnet") else 1e-5
    if args.batch < 2 or args.batch % args.ranks != 0:
        p.error(f"batch: {args.batch} is not divisible by {args.ranks} ranks, or is below 2")
    return args


def main():
    args = read_arguments()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows, sizes = compare(args, folder)
    print(f"# {args.model}, {sizes['weights']} parameters, images "
          f"{'x'.join(map(str, sizes['shape']))}, {sizes['classes']} classes, batch {args.batch} on "
          f"{args.ranks} rank(s), {sizes['test']} test images, epsilon {args.bn_epsilon:g}, label "
          f"smoothing {args.label_smoothing:g}")
    sys.exit(0 if tell(args, rows, len(FIRST)) else 1)


if __name__ == "__main__":
    main()
