#!/usr/bin/env python3
"""Converts the weights of a minipod checkpoint to a .safetensors file and back, under PyTorch's names.

  weights.py export CHECKPOINT -o F.safetensors
  weights.py import F.safetensors --like CHECKPOINT -o FOLDER

CHECKPOINT is the folder of a run or of a checkpoint, its index.h5, or DIR/checkpoint/best. Names and
layouts are those of the same network in torch_train.py, so this works there:

  from safetensors.torch import load_file, save_file
  model = torch_train.make_model("resnet20", (28, 28, 1), 10)      # images, classes
  model.load_state_dict(load_file("F.safetensors"))
  save_file(model.state_dict(), "F.safetensors")

The network in minipod sees (pixel / 255 - mean) / std with the data set's mean and std, and may have
another epsilon of batch norm (--bn-epsilon). `export --ema` exports the moving averages.

`import` makes a checkpoint of step 0 from the weights in the file. Model, data set, optimizer and
settings come from --like, a checkpoint of the same network, which `minipod train --steps 1 --out DIR`
makes. So do mean, std and class names, unless `export` stored them in the file. Moving averages are set
to the weights, and optimizer states to zero. `minipod eval --resume FOLDER` and `minipod train --resume
FOLDER` read it.

Needs numpy and h5py, not PyTorch: a .safetensors file is the length of a JSON header, the header, and
the bytes of the tensors. Exit code 0: done. 2: a file cannot be used. 77: numpy or h5py is missing.
"""
import argparse
import json
import os
import struct
import sys
import zlib

SKIPPED, UNUSABLE = 77, 2
try:
    import h5py
    import numpy as np
except ImportError as why:
    print(f"SKIPPED: {why}; on Debian: apt-get install python3-h5py, and /usr/bin/python3")
    sys.exit(SKIPPED)

SEEN = ("mean", "std", "class_names")  # what a network was trained with, beside its weights
DTYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8"}  # BF16 stands apart
POINTERS = ("latest", "best")
MAX_ATTRIBUTE_BYTES = 60000
COUNTER = "num_batches_tracked"  # of PyTorch's batch norm, which minipod lacks

# ---- names and layouts ---------------------------------------------------------------------------

# From minipod's layout to PyTorch's, by the number of dimensions: (K, R, S, C), (R, S, C) of a
# depthwise filter, (in, out), (C).


def to_torch(a):
    if a.ndim == 4:
        return a.transpose(0, 3, 1, 2)
    if a.ndim == 3:
        return a.transpose(2, 0, 1)[:, None]
    return a.T


def from_torch(a, ndim):
    if ndim == 4:
        return a.transpose(0, 2, 3, 1)
    if ndim == 3:
        return a[:, 0].transpose(1, 2, 0)
    return a.T


def torch_name(name, names):
    """What PyTorch's network calls a weight; `names` are those of all weights. A convolution and
    its batch norm share a scope in minipod."""
    scope, _, what = name.rpartition("/")
    if not scope:
        return name
    module = ("stages." if scope.startswith("stage") else "") + scope.replace("/", ".")
    if f"{scope}/moving_mean" not in names:
        of = {"gamma": "weight", "kernel": "weight", "w": "weight"}
        return f"{module}.{of.get(what, 'bias')}"
    of = {"gamma": "norm.weight", "beta": "norm.bias", "moving_mean": "norm.running_mean",
          "moving_var": "norm.running_var", "w": "conv.weight"}
    return f"{module}.{of[what]}"

# ---- checkpoints ---------------------------------------------------------------------------------


def index_of(path):
    """The index of the newest checkpoint of a run's folder, of the one that a pointer names, or of
    the checkpoint's own folder."""
    kept = os.path.join(path, "checkpoint")
    path = kept if os.path.isdir(kept) else path
    pointer = path if os.path.basename(path) in POINTERS else os.path.join(path, "latest")
    if os.path.isfile(pointer):
        with open(pointer, encoding="utf-8") as f:
            path = os.path.join(os.path.dirname(pointer), f.read().split()[0])
    return os.path.join(path, "index.h5") if os.path.isdir(path) else path


def text_of(value):
    """h5py answers bytes for strings of fixed length."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "S":
        return [x.decode() for x in value]
    return value.decode() if isinstance(value, bytes) else value


def read_checkpoint(path):
    """The attributes, and the arrays by their paths: weights/..., state/..."""
    arrays, index = {}, index_of(path)
    if os.path.isfile(index) and not h5py.is_hdf5(index):
        unusable(f"{index}: no HDF5 file")
    with h5py.File(index) as f:
        if "minipod_checkpoint" not in f.attrs:
            unusable(f"{index}: no index of a checkpoint")
        for group in ("weights", "state"):
            if group in f:
                f[group].visititems(
                    lambda name, x, group=group: arrays.__setitem__(f"{group}/{name}", x[()])
                    if isinstance(x, h5py.Dataset) else None)
        attributes = {name: text_of(x) for name, x in f.attrs.items()}
        if "class_names" in f:
            attributes["class_names"] = text_of(f["class_names"][()])
        return attributes, arrays


def write_manifest(folder, step, names):
    """What minipod looks at first: bytes and CRC-32 of each file, and of these lines themselves."""
    files = []
    for name in names:
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        files.append({"name": name, "bytes": len(data), "crc32": f"{zlib.crc32(data):08x}"})
    head = json.dumps({"schema": "minipod.checkpoint", "version": 2, "step": step, "ranks": 1,
                       "files": files})[:-1] + ",\n"
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as f:
        f.write(f'{head}  "manifest_crc32": "{zlib.crc32(head.encode()):08x}"\n}}\n')


def write_checkpoint(folder, attributes, arrays):
    """A checkpoint of one rank, which others may resume from on any number."""
    classes = attributes.pop("class_names", [])
    os.makedirs(folder)
    with h5py.File(os.path.join(folder, "shard-0000.h5"), "w") as shard, \
            h5py.File(os.path.join(folder, "index.h5"), "w") as index:
        index.attrs.update({**attributes, "ranks": 1})
        names = np.array([name.encode() for name in classes])
        if names.nbytes > MAX_ATTRIBUTE_BYTES:
            index["class_names"] = names
        elif len(names) > 0:
            index.attrs["class_names"] = names
        for name, x in arrays.items():
            index[name] = x
            shard[name] = x.ravel()
            shard[name].attrs["first"] = 0
    write_manifest(folder, int(attributes["step"]), ("shard-0000.h5", "index.h5"))

# ---- .safetensors --------------------------------------------------------------------------------


def write_safetensors(path, tensors, notes):
    header, data, at = {"__metadata__": notes}, [], 0
    for name, x in tensors.items():
        kind = next(k for k, dtype in DTYPES.items() if np.dtype(dtype) == x.dtype)
        data.append(np.ascontiguousarray(x).tobytes())
        header[name] = {"dtype": kind, "shape": list(x.shape),
                        "data_offsets": [at, at + len(data[-1])]}
        at += len(data[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the tensors are aligned
    with open(path + ".part", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))
    os.replace(path + ".part", path)


def as_float32(raw, kind):
    if kind == "BF16":
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(raw, DTYPES[kind]).astype("<f4")


def read_safetensors(path):
    """By their names, as float32; and what `export` noted beside them."""
    with open(path, "rb") as f:
        file = f.read()
    n = struct.unpack("<Q", file[:8])[0] if len(file) >= 8 else len(file)
    try:
        if n > len(file) - 8:
            raise ValueError("its header is longer than the file")
        header, body, found = json.loads(file[8:8 + n]), file[8 + n:], {}
        for name, x in header.items():
            if name == "__metadata__" or name.endswith(COUNTER):
                continue
            if x["dtype"] != "BF16" and x["dtype"] not in DTYPES:
                raise ValueError(f"'{name}' is of type {x['dtype']}")
            begin, end = x["data_offsets"]
            found[name] = as_float32(body[begin:end], x["dtype"]).reshape(x["shape"])
        notes = header.get("__metadata__", {})
        return found, {name: json.loads(notes[name]) for name in SEEN if name in notes}
    except (ValueError, KeyError, TypeError, AttributeError) as why:
        unusable(f"{path}: no .safetensors file: {why}")

# ---- both ways -----------------------------------------------------------------------------------


def unusable(text):
    print(f"weights.py: {text}", file=sys.stderr)
    sys.exit(UNUSABLE)


def export(args):
    attributes, arrays = read_checkpoint(args.checkpoint)
    group = "weights/ema/" if args.ema else "weights/"
    weights = {name[len("weights/"):]: x for name, x in arrays.items()
               if name.startswith("weights/") and not name.startswith("weights/ema/")}
    if args.ema and not any(name.startswith(group) for name in arrays):
        unusable(f"{args.checkpoint}: has no moving averages: a run without --ema")
    tensors = {}
    for name, x in weights.items():
        x = arrays.get(group + name, x)
        if not np.isfinite(x).all():
            unusable(f"{args.checkpoint}: '{name}' is not finite; are all shards beside index.h5?")
        ours = torch_name(name, weights)
        tensors[ours] = to_torch(x)
        if ours.endswith("running_var"):
            tensors[ours.replace("running_var", COUNTER)] = np.array(int(attributes["step"]), "<i8")
    notes = {name: str(attributes[name]) for name in ("model", "data", "step")}
    notes.update((name, json.dumps(list(attributes[name]))) for name in SEEN if name in attributes)
    write_safetensors(args.output, tensors, {"format": "pt", **notes})
    print(f"{args.output}: {len(tensors)} tensors of {notes['model']}, step {notes['step']}")


def take(args):
    attributes, arrays = read_checkpoint(args.like)
    weights = {name[len("weights/"):] for name in arrays if name.startswith("weights/")}
    plain = {name for name in weights if not name.startswith("ema/")}
    given, seen = read_safetensors(args.file)
    wanted = {torch_name(name, plain): name for name in plain}
    if set(wanted) != set(given):
        lacks, has = sorted(set(wanted) - set(given)), sorted(set(given) - set(wanted))
        unusable(f"{args.file}: not the network of {args.like}: lacks {', '.join(lacks[:4]) or '-'}"
                 f"; has {', '.join(has[:4]) or '-'}")
    for theirs, name in wanted.items():
        x, like = given[theirs], arrays[f"weights/{name}"]
        if x.shape != to_torch(like).shape:
            unusable(f"{args.file}: '{theirs}' is {x.shape}, want {to_torch(like).shape}")
        if not np.isfinite(x).all():
            unusable(f"{args.file}: '{theirs}' is not finite")
        arrays[f"weights/{name}"] = np.ascontiguousarray(from_torch(x, like.ndim))
        if f"ema/{name}" in weights:
            arrays[f"weights/ema/{name}"] = arrays[f"weights/{name}"]
    for name, x in arrays.items():
        if name.startswith("state/"):
            arrays[name] = np.zeros_like(x)
    attributes.update(seen, step=0, epoch=0.0)
    attributes.pop("data_fingerprint", None)  # they were trained on something else
    write_checkpoint(args.output, attributes, arrays)
    print(f"{args.output}: {len(plain)} weights of {attributes['model']}")


def read_arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = p.add_subparsers(dest="way", required=True)
    out = ways.add_parser("export", help="a checkpoint to a .safetensors file")
    out.add_argument("checkpoint")
    out.add_argument("--ema", action="store_true", help="export the moving averages instead of the weights")
    out.add_argument("-o", "--output", required=True, metavar="F.safetensors")
    back = ways.add_parser("import", help="a .safetensors file to a checkpoint")
    back.add_argument("file")
    back.add_argument("--like", required=True, help="a checkpoint of the same network")
    back.add_argument("-o", "--output", required=True, metavar="FOLDER")
    return p.parse_args()


def main():
    args = read_arguments()
    if args.way == "import" and os.path.exists(args.output):
        unusable(f"{args.output}: is there already")
    try:
        export(args) if args.way == "export" else take(args)
    except OSError as why:
        unusable(why)


if __name__ == "__main__":
    main()
