#!/usr/bin/env python3
"""Trains BERT of any size with PyTorch on a text that minipod imported, to compare with `minipod train`.

The network, the loss, LAMB, the schedule, and how pairs and masks are drawn are those of
google-research/bert, and so minipod's (models/bert.c, runtime/data/text/masked_pairs.h). Attention is
PyTorch's fused one. Products are in bf16 or in float32; each rank has one thread and a part of the
batch, which it works through in parts of --micro sequences. Time counts from the first step, without
compilation, and evaluation counts.

  torch_bert.py --data books.h5 --model bert-tiny --seq-len 64 --batch 1024 --lr 0.01 --minutes 20
  torch_bert.py --data books.h5 --model bert-tiny --seq-len 128 --batch 64 --steps 5 --compile

Exit code 77: PyTorch is not installed, nothing was measured.
"""
import argparse
import math
import random
import sys
import time

sys.dont_write_bytecode = True  # of what is imported from this folder
SKIPPED = 77

try:
    import h5py
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch_ranks import autocast, run, share_weights, sum_gradients, summed
except ImportError as why:
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)

SIZES = {"bert-tiny": (2, 128), "bert-mini": (4, 256), "bert-small": (4, 512),
         "bert-medium": (8, 512), "bert-base": (12, 768), "bert-large": (24, 1024)}
HEAD_SIZE, POSITIONS, DROPOUT = 64, 512, 0.1
SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
MASK_RATE, SHORT_SHARE = 0.15, 0.1

# ---- the network ---------------------------------------------------------------------------------


def norm(width):
    return nn.LayerNorm(width, eps=1e-12)


class Layer(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.attended, self.attended_norm = nn.Linear(width, width), norm(width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.outer_norm, self.dropout = norm(width), dropout

    def forward(self, x, mask):
        n, s, width = x.shape
        rate = self.dropout if self.training else 0.0
        q, k, v = (f(x).view(n, s, -1, HEAD_SIZE).transpose(1, 2)
                   for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, mask, rate)
        y = self.attended(y.transpose(1, 2).reshape(n, s, width))
        x = self.attended_norm(x + F.dropout(y, rate))
        y = self.outer(F.gelu(self.inner(x), approximate="tanh"))
        return self.outer_norm(x + F.dropout(y, rate))


class Bert(nn.Module):
    def __init__(self, name, n_tokens, dropout):
        super().__init__()
        n_layers, width = SIZES[name]
        self.dropout = dropout
        self.word = nn.Embedding(n_tokens, width)
        self.segment, self.position = nn.Embedding(2, width), nn.Embedding(POSITIONS, width)
        self.norm = norm(width)
        self.layers = nn.ModuleList(Layer(width, dropout) for _ in range(n_layers))
        self.pooler, self.following = nn.Linear(width, width), nn.Linear(width, 2)
        self.transform, self.transform_norm = nn.Linear(width, width), norm(width)
        self.bias = nn.Parameter(torch.zeros(n_tokens))
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, ids, segments, lengths, places):
        """Logits of the places (N, M, V), and of the next sentence (N, 2)."""
        at = torch.arange(ids.shape[1])
        x = self.norm(self.word(ids) + self.segment(segments) + self.position(at))
        x = F.dropout(x, self.dropout, self.training)
        mask = (at < lengths[:, None])[:, None, None]
        for layer in self.layers:
            x = layer(x, mask)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        picked = x.gather(1, places[..., None].expand(-1, -1, x.shape[2]))
        y = self.transform_norm(F.gelu(self.transform(picked), approximate="tanh"))
        return y @ self.word.weight.T + self.bias, self.following(pooled)


def losses(model, batch):
    """Sums: masked loss, right, weight, next-sentence loss, right."""
    logits, following = model(batch["ids"], batch["segments"], batch["lengths"], batch["places"])
    answers, weights = batch["answers"].flatten(), batch["weights"].flatten()
    logits = logits.flatten(0, 1).float()
    masked = (F.cross_entropy(logits, answers, reduction="none") * weights).sum()
    after = F.cross_entropy(following.float(), batch["next"], reduction="sum")
    with torch.no_grad():
        right = ((logits.argmax(1) == answers) * weights).sum()
        right_next = (following.argmax(1) == batch["next"]).sum()
    return masked, right, weights.sum(), after, right_next

# ---- LAMB and its rate ---------------------------------------------------------------------------


class Lamb(torch.optim.Optimizer):
    """You et al. 2019 as MLPerf's reference: bias correction, the decay inside the update; biases and
    norms have neither decay nor a trust ratio."""

    def __init__(self, groups, betas=(0.9, 0.999), epsilon=1e-6):
        super().__init__(groups, {"betas": betas, "epsilon": epsilon})
        self.count = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        for group in self.param_groups:
            (b1, b2), weights = group["betas"], group["params"]
            grads = [w.grad for w in weights]
            for w in weights:
                if not self.state[w]:
                    self.state[w].update(m=torch.zeros_like(w), v=torch.zeros_like(w))
            m, v = ([self.state[w][k] for w in weights] for k in "mv")
            torch._foreach_lerp_(m, grads, 1 - b1)
            torch._foreach_mul_(v, b2)
            torch._foreach_addcmul_(v, grads, grads, 1 - b2)
            below = torch._foreach_div(v, 1 - b2 ** self.count)
            torch._foreach_sqrt_(below)
            torch._foreach_add_(below, group["epsilon"])
            u = torch._foreach_div(torch._foreach_div(m, 1 - b1 ** self.count), below)
            if group["weight_decay"]:
                torch._foreach_add_(u, weights, alpha=group["weight_decay"])
                ratios = [float(a / b) if a > 0 and b > 0 else 1.0
                          for a, b in zip(torch._foreach_norm(weights), torch._foreach_norm(u))]
                torch._foreach_mul_(u, ratios)
            torch._foreach_add_(weights, u, alpha=-group["lr"])


def make_optimizer(model, args):
    spared = [w for w in model.parameters() if w.dim() == 1]
    others = [w for w in model.parameters() if w.dim() > 1]
    groups = [{"params": others, "weight_decay": args.weight_decay, "lr": args.lr},
              {"params": spared, "weight_decay": 0.0, "lr": args.lr}]
    if args.optimizer == "lamb":
        return Lamb(groups)
    return torch.optim.AdamW(groups, betas=(0.9, 0.999), eps=1e-8)


def rate_at(args, step):
    """runtime/optim/lr.h, cosine; --lr-steps is the length of the schedule."""
    if step < args.warmup_steps:
        return args.lr * step / args.warmup_steps
    part = min((step - args.warmup_steps) / max(1, args.lr_steps - args.warmup_steps), 1)
    return args.lr * (1 + math.cos(math.pi * part)) / 2

# ---- data ----------------------------------------------------------------------------------------


class Text:
    """A split of an imported text, and the samples that are drawn from it."""

    def __init__(self, path, split, args):
        with h5py.File(path) as f:
            self.ids = f[f"{split}/tokens/values"][()]
            self.offsets = f[f"{split}/tokens/offsets"][()].tolist()
            self.documents = f[f"{split}/documents"][()].tolist()
            words = [w.decode() if isinstance(w, bytes) else w for w in f["vocabulary"][()]]
        self.n_tokens = len(words)
        self.pad, self.cls, self.sep, self.mask = (words.index(w) for w in SPECIALS)
        self.seq_len, self.max_masked = args.seq_len, args.max_masked

    def tokens(self, first, last):
        """Of sentences first to last - 1."""
        return self.ids[self.offsets[first]:self.offsets[last]]

    def pairs(self, draw):
        """A pass over the text: (A, B, whether B is random)."""
        largest = self.seq_len - 3
        for d, (begin, end) in enumerate(zip(self.documents, self.documents[1:])):
            target = draw.randint(2, largest) if draw.random() < SHORT_SHARE else largest
            first = at = begin
            while first < end:
                while at < end and (at == first or self.offsets[at] - self.offsets[first] < target):
                    at += 1
                cut = first + (draw.randint(1, at - first - 1) if at - first > 1 else 1)
                a = self.tokens(first, cut)
                is_random = at - first == 1 or draw.random() < 0.5
                if is_random:
                    yield a, self.other(d, target - len(a), draw), True
                    first = at = cut
                else:
                    yield a, self.tokens(cut, at), False
                    first = at

    def other(self, document, wanted, draw):
        d = draw.randint(0, len(self.documents) - 3)
        d += d >= document
        begin, end = self.documents[d], self.documents[d + 1]
        first = draw.randint(begin, end - 1)
        last = first + 1
        while last < end and self.offsets[last] - self.offsets[first] < wanted:
            last += 1
        return self.tokens(first, last)

    def sample(self, a, b, is_random, draw):
        while len(a) + len(b) > self.seq_len - 3:
            longer_is_a = len(a) > len(b)
            x = a if longer_is_a else b
            x = x[1:] if draw.random() < 0.5 else x[:-1]
            a, b = (x, b) if longer_is_a else (a, x)
        n = len(a) + len(b) + 3
        ids = np.full(self.seq_len, self.pad, np.int64)
        ids[0], ids[1 + len(a)], ids[n - 1] = self.cls, self.sep, self.sep
        ids[1:1 + len(a)], ids[2 + len(a):n - 1] = a, b
        segments = np.zeros(self.seq_len, np.int64)
        segments[2 + len(a):n] = 1
        candidates = [*range(1, 1 + len(a)), *range(2 + len(a), n - 1)]
        count = min(self.max_masked, max(1, round(MASK_RATE * n)), len(candidates))
        picked = sorted(draw.sample(candidates, count))
        places, answers = np.zeros((2, self.max_masked), np.int64)
        weights = np.zeros(self.max_masked, np.float32)
        places[:count], answers[:count], weights[:count] = picked, ids[picked], 1
        for p in picked:
            u = draw.random()
            if u < 0.8:
                ids[p] = self.mask
            elif u >= 0.9:
                ids[p] = draw.randrange(self.n_tokens)
        return {"ids": ids, "segments": segments, "lengths": n, "places": places,
                "answers": answers, "weights": weights, "next": int(is_random)}

    def samples(self, seed, first=0, every=1):
        """Those of a pass, in random order; or one of each `every`."""
        draw = random.Random(seed)
        pairs = list(self.pairs(draw))
        draw.shuffle(pairs)
        for i in range(first, len(pairs), every):
            yield self.sample(*pairs[i], random.Random((seed << 32) + i))


def stack(samples):
    return {name: torch.from_numpy(np.stack([x[name] for x in samples])) for name in samples[0]}


def training_batches(text, args, rank):
    """This rank's part of each step, without end: the same order on all ranks."""
    epoch = 0
    while True:
        batch = []
        for sample in text.samples(1000 * args.seed + epoch, rank, args.ranks):
            batch.append(sample)
            if len(batch) == args.batch // args.ranks:
                yield stack(batch)
                batch = []
        epoch += 1

# ---- one rank ------------------------------------------------------------------------------------


def parts(batch, n):
    for at in range(0, len(batch["ids"]), n):
        yield {name: x[at:at + n] for name, x in batch.items()}


def train_step(model, runs, optimizer, batch, args):
    optimizer.zero_grad(set_to_none=True)
    weight = summed(args, batch["weights"].sum().clone())
    total = 0.0
    for part in parts(batch, args.micro):
        with autocast(args):
            masked, _, _, after, _ = losses(runs, part)
        loss = masked / weight + after / args.batch
        loss.backward()
        total += float(loss.detach())
    sum_gradients(model, args)
    optimizer.step()
    return float(summed(args, torch.tensor(total)))


@torch.no_grad()
def evaluate(model, batch, args):
    model.eval()
    sums = torch.zeros(5)
    for part in parts(batch, args.micro):
        with autocast(args):
            sums += torch.stack([x.float() for x in losses(model, part)])
    summed(args, sums)
    model.train()
    n = summed(args, torch.tensor(float(len(batch["ids"]))))
    return {"masked_accuracy": float(sums[1] / sums[2]), "next_accuracy": float(sums[4] / n),
            "loss": float(sums[0] / sums[2] + sums[3] / n)}


def train(rank, args):
    text, test = Text(args.data, "train", args), Text(args.data, "test", args)
    held_out = stack([x for i, x in enumerate(test.samples(0)) if i % args.ranks == rank])
    model = Bert(args.model, text.n_tokens, args.dropout)
    share_weights(model, args)
    runs = torch.compile(model) if args.compile else model
    optimizer, batches = make_optimizer(model, args), training_batches(text, args, rank)
    if args.compile:  # outside the clock; the weights stay
        losses(runs, next(parts(next(batches), args.micro)))[0].backward()
    begun, times, found = time.perf_counter(), [], []
    for step in range(args.steps or sys.maxsize):
        before = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate_at(args, step)
        loss = train_step(model, runs, optimizer, next(batches), args)
        now = time.perf_counter()
        times.append(now - before)
        out_of_time = summed(args, torch.tensor(
            float(args.minutes > 0 and now - begun > 60 * args.minutes))) > 0
        if (args.eval_steps and (step + 1) % args.eval_steps == 0) or out_of_time:
            found.append({"step": step + 1, "train_loss": loss, **evaluate(model, held_out, args),
                          "s": time.perf_counter() - begun})
            if rank == 0:
                print("  ".join(f"{k} {v:.5g}" for k, v in found[-1].items()), flush=True)
        if out_of_time:
            break
    return {"step_s": sorted(times)[len(times) // 2], "steps": len(times), "evaluations": found,
            "parameters": sum(w.numel() for w in model.parameters())}


def tell(args, result):
    print(f"step {1e3 * result['step_s']:.1f} ms  sequences/s {args.batch / result['step_s']:.1f}")


def read_arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="of `minipod data import text`")
    p.add_argument("--model", choices=SIZES, default="bert-tiny")
    p.add_argument("--seq-len", type=int, default=128)
    p.add_argument("--max-masked", type=int, default=20)
    p.add_argument("--batch", type=int, default=1024)
    p.add_argument("--micro", type=int, default=32, help="sequences that a rank works on at once")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--precision", choices=("bf16", "f32"), default="bf16")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--optimizer", choices=("lamb", "adamw"), default="lamb")
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--dropout", type=float, default=DROPOUT)
    p.add_argument("--warmup-steps", type=int, default=0)
    p.add_argument("--lr-steps", type=int, help="length of the schedule; default: --steps")
    p.add_argument("--steps", type=int, default=0)
    p.add_argument("--minutes", type=float, default=0)
    p.add_argument("--eval-steps", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--json", help="file for the result")
    args = p.parse_args()
    args.lr_steps = args.lr_steps or args.steps
    if args.batch % args.ranks:
        p.error(f"batch: {args.batch} is not divisible by {args.ranks} ranks")
    if not args.lr_steps:
        p.error("needs --steps, or --lr-steps for a run by --minutes")
    return args


if __name__ == "__main__":
    run(read_arguments(), train, tell)
