#!/usr/bin/env python3
"""Compares minipod's losses and gradients of BERT's pre-training with those of PyTorch.

The network is written here in plain modules of PyTorch, after google-research/bert, modeling.py and
run_pretraining.py. minipod trains one step from scratch. Its checkpoint, with kernels twice as large
and random numbers added to biases and norms, so that attention is not uniform and nothing is 0, is
where both programs begin: minipod runs one more step of plain SGD, after which the optimizer state is
the gradient of each weight, and PyTorch the same batch, which `minipod explain samples` prints. A
second step with a next-sentence head of zeros, whose loss is ln 2, gives minipod's two losses apart.

The table is that of torch_parity.py: a minipod's tensor, b PyTorch's in float32, and c PyTorch's in
float64. The exit code is 1 if an a is further than --tolerance from both b and c, or if the loss of
the untrained network is further from its expectation, ln V + 1.55e-4 H + ln 2 for V tokens and H hidden
units, than an untrained logit is from 0.

Small models agree to 1e-5, which tells one form of GELU from the other. In bert-base rounding weighs
more: gradients of queries and keys of the last layers are 1e-4 from float64 in both programs.

  bert_parity.py --model bert-tiny --seq-len 32 --tolerance 1e-5
  bert_parity.py --model bert-mini --seq-len 64 --ranks 2 -- --accumulate 2
  bert_parity.py --data books.h5 --seq-len 128 --batch 4
"""
import argparse
import json
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # of what is imported from this folder
from torch_parity import F, HERE, last_row, minipod, nn, row_of, scales, tell, torch
from weights import h5py, index_of, np, read_checkpoint, write_checkpoint

HEAD_SIZE = 64     # of every published BERT
GAIN, NOISE = 2.0, 0.1
LOGIT = 0.0176     # times sqrt(H): standard deviation of an untrained logit
LOSSES = ("loss", "masked-LM loss", "next-sentence loss")
ACCURACIES = ("masked accuracy", "next accuracy")
NEXT_HEAD = "weights/cls/seq_relationship/"

# By the type of a module what minipod appends to its scope to name its parameters.
SUFFIXES = {nn.Linear: {"weight": "/kernel", "bias": "/bias"}, nn.Embedding: {"weight": ""},
            nn.LayerNorm: {"weight": "/gamma", "bias": "/beta"}}

# ---- the network ---------------------------------------------------------------------------------


def norm(width):
    return nn.LayerNorm(width, eps=1e-12)


def residual(inputs, width):
    return nn.ModuleDict({"dense": nn.Linear(inputs, width), "LayerNorm": norm(width)})


class Embeddings(nn.Module):
    def __init__(self, tokens, positions, width):
        super().__init__()
        self.word_embeddings = nn.Embedding(tokens, width)
        self.token_type_embeddings = nn.Embedding(2, width)
        self.position_embeddings = nn.Embedding(positions, width)
        self.LayerNorm = norm(width)

    def forward(self, ids, segments):
        places = torch.arange(ids.shape[1])
        return self.LayerNorm(self.word_embeddings(ids) + self.token_type_embeddings(segments)
                              + self.position_embeddings(places))


class Layer(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        part = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        self.attention = nn.ModuleDict({"self": nn.ModuleDict(part),
                                        "output": residual(width, width)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = residual(inner, width)

    def forward(self, x, mask):
        n, s, width = x.shape
        q, k, v = (self.attention["self"][name](x).view(n, s, -1, HEAD_SIZE).transpose(1, 2)
                   for name in ("query", "key", "value"))
        scores = q @ k.transpose(2, 3) / math.sqrt(HEAD_SIZE) + mask
        y = (scores.softmax(3) @ v).transpose(1, 2).reshape(n, s, width)
        x = self.add(self.attention["output"], y, x)
        y = F.gelu(self.intermediate["dense"](x), approximate="tanh")
        return self.add(self.output, y, x)

    @staticmethod
    def add(part, y, x):
        return part["LayerNorm"](part["dense"](y) + x)


class Predictions(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.transform = residual(width, width)
        self.output_bias = nn.Parameter(torch.zeros(tokens))

    def forward(self, x, table):
        x = F.gelu(self.transform["dense"](x), approximate="tanh")
        return self.transform["LayerNorm"](x) @ table.T + self.output_bias


class Bert(nn.Module):
    """Modules have the names of minipod's scopes."""

    def __init__(self, shapes):
        super().__init__()
        tokens, width = shapes["bert/embeddings/word_embeddings"]
        positions = shapes["bert/embeddings/position_embeddings"][0]
        inner = shapes["bert/encoder/layer_0/intermediate/dense/bias"][0]
        n_layers = sum(name.endswith("/intermediate/dense/bias") for name in shapes)
        layers = {f"layer_{i}": Layer(width, inner) for i in range(n_layers)}
        self.bert = nn.ModuleDict({"embeddings": Embeddings(tokens, positions, width),
                                   "encoder": nn.ModuleDict(layers),
                                   "pooler": nn.ModuleDict({"dense": nn.Linear(width, width)})})
        self.cls = nn.ModuleDict({"predictions": Predictions(tokens, width),
                                  "seq_relationship": nn.Linear(width, 2)})

    def forward(self, batch):
        """Logits of the masked tokens (N, M, V), and of the next sentence (N, 2)."""
        places = torch.arange(batch["ids"].shape[1])
        is_key = places < batch["lengths"][:, None]
        x = self.bert["embeddings"](batch["ids"], batch["segments"])
        mask = (1 - is_key.to(x.dtype))[:, None, None] * -10000
        for layer in self.bert["encoder"].values():
            x = layer(x, mask)
        pooled = torch.tanh(self.bert["pooler"]["dense"](x[:, 0]))
        masked = x[torch.arange(len(x))[:, None], batch["positions"]]
        table = self.bert["embeddings"].word_embeddings.weight
        return self.cls["predictions"](masked, table), self.cls["seq_relationship"](pooled)


def names_of(model):
    """By minipod's name of a weight: the parameter, and whether its layout is the other way round."""
    found = {}
    for path, module in model.named_modules():
        scope = path.replace(".", "/")
        for name, w in module.named_parameters(recurse=False):
            end = SUFFIXES.get(type(module), {}).get(name, f"/{name}")
            found[scope + end] = (w, end == "/kernel")
    return found


def load(weights, stored):
    if set(weights) != set(stored):
        sys.exit(f"not the same network: {sorted(set(weights) ^ set(stored))}")
    with torch.no_grad():
        for name, (w, turned) in weights.items():
            a = stored[name].T if turned else stored[name]
            if a.shape != tuple(w.shape):
                sys.exit(f"{name}: {a.shape}, PyTorch has {tuple(w.shape)}")
            w.copy_(torch.from_numpy(a.copy()))


def results(model, weights, batch):
    """By its name what is compared: losses, accuracies, gradients."""
    weight = torch.tensor(batch["weights"], dtype=next(model.parameters()).dtype)
    batch = {name: torch.tensor(x) for name, x in batch.items()}
    model.zero_grad()
    logits, following = model(batch)
    ce = F.cross_entropy(logits.flatten(0, 1), batch["answers"].flatten(), reduction="none")
    masked = (ce * weight.flatten()).sum() / (weight.sum() + 1e-5)
    following_loss = F.cross_entropy(following, batch["next"])
    (masked + following_loss).backward()
    right = ((logits.argmax(2) == batch["answers"]) * weight).sum() / weight.sum()
    right_next = (following.argmax(1) == batch["next"]).double().mean()
    values = (masked + following_loss, masked, following_loss, right, right_next)
    found = {name: x.detach().numpy() for name, x in zip(LOSSES + ACCURACIES, values)}
    found.update((f"gradient of {name}", (w.grad.T if turned else w.grad).numpy().copy())
                 for name, (w, turned) in weights.items())
    return found

# ---- minipod's part ------------------------------------------------------------------------------


def on_batch(args):
    return ["--model", args.model, "--data", args.data, "--batch", args.batch, "--seed", args.seed,
            "--seq-len", args.seq_len, "--max-masked", args.max_masked]


def step(args, steps, out, *more):
    """Trains; the last step's losses."""
    minipod(args, "train", *on_batch(args), "--precision", "f32", "--progress", "off",
            "--dropout", 0, "--optimizer", "sgd", "--momentum", 0, "--weight-decay", 0, "--lr", 0.01,
            "--lr-schedule", "constant", "--eval-every", 0, "--steps", steps, "--out", out,
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
    masked = float(step(args, 2, path["masked"], "--resume", path["no_head"])["loss"]) - math.log(2)
    loss = float(after["loss"])
    found = {"loss": loss, "masked-LM loss": masked, "next-sentence loss": loss - masked,
             "masked accuracy": float(after["masked_accuracy"]),
             "next accuracy": float(after["next_accuracy"])}
    with h5py.File(index_of(path["after"])) as f:
        found.update((f"gradient of {name}", f[f"state/{name}/sgd/0"][()]) for name in weights)
    return weights, found, untrained


def compare(args, folder):
    stored, ours, untrained = run_minipod(args, folder)
    batch = read_batch(args, folder)
    model = Bert({name: x.shape for name, x in stored.items()})
    weights = names_of(model)
    load(weights, stored)
    theirs = results(model, weights, batch)
    model.double()
    load(weights, stored)
    exact = results(model, weights, batch)
    at_least = scales(exact, {})
    return [row_of(name, ours[name], theirs[name], exact[name], at_least.get(name, 0))
            for name in exact], stored, batch, untrained


def tell_run(args, stored, batch, untrained):
    """What was compared; whether the untrained loss is what it should be."""
    tokens, width = stored["bert/embeddings/word_embeddings"].shape
    want, near = math.log(tokens) + LOGIT ** 2 / 2 * width + math.log(2), LOGIT * math.sqrt(width)
    n = sum(x.size for x in stored.values())
    print(f"# {args.model}, {n} parameters in {len(stored)} tensors, {tokens} tokens, batch "
          f"{args.batch} of {args.seq_len} tokens, {100 * (1 - batch['lengths'].mean() / args.seq_len):.1f} "
          f"% padding, {int(batch['weights'].sum())} masked, {args.ranks} rank(s) "
          + " ".join(args.rest))
    print(f"# untrained loss {untrained:.4f}, want {want:.4f} within {near:.2f}")
    return abs(untrained - want) <= near


def read_arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="bert-tiny")
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--seq-len", type=int, default=32)
    p.add_argument("--max-masked", type=int, default=20)
    p.add_argument("--data", default="phrases:200:100+4", help="of text, as minipod takes it")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tolerance", type=float, default=1e-3)
    p.add_argument("--rows", type=int, default=5, help="gradients in the table, the furthest first")
    p.add_argument("--minipod", default=os.path.join(HERE, "../../build/release/bench/minipod"))
    p.add_argument("rest", nargs="*", help="after --: options of minipod train")
    return p.parse_args()


def main():
    args = read_arguments()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows, *run = compare(args, folder)
    is_near = tell_run(args, *run)
    sys.exit(0 if tell(args, rows, len(LOSSES + ACCURACIES)) and is_near else 1)


if __name__ == "__main__":
    main()
