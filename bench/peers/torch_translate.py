#!/usr/bin/env python3
"""Trains the Transformer with PyTorch on pairs that minipod imported, to compare with `minipod train`.

The network, the loss with its smoothing, and the search are those of models/transformer.c and
runtime/search; attention is PyTorch's fused one. What a CPU does best is done: pairs of like length share a
batch of --tokens tokens a side, padded to their longest; search keeps keys and values, and sentences of
like length are searched together. Each rank has one thread and a part of each batch. Time counts from the
first step, and evaluation counts. BLEU is sacrebleu's with `-lc -tok intl`, of joined word pieces on both
sides, as minipod's.

  torch_translate.py --data en-de.h5 --model transformer-small --tokens 4096 --lr 2e-3 --warmup-steps 500 \\
      --minutes 20 --eval-minutes 2

Exit code 77: PyTorch or sacrebleu is not installed, nothing was measured.
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
    import sacrebleu
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn import functional as F
    from torch_ranks import autocast, run, share_weights, sum_gradients
except ImportError as why:
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)

SIZES = {"transformer-small": (4, 256, 4, 1024), "transformer-base": (6, 512, 8, 2048),
         "transformer-big": (6, 1024, 16, 4096)}
EPSILON, START, MORE_TOKENS = 1e-6, -1, 50

# ---- the network ---------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads, rate):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.heads, self.rate = heads, rate

    def split(self, x):
        return x.view(len(x), x.shape[1], self.heads, -1).transpose(1, 2)

    def keys(self, seen):
        return self.split(self.k(seen)), self.split(self.v(seen))

    def attend(self, x, y, k, v, mask, causal=False):
        """x + attention of its norm y."""
        rate = self.rate if self.training else 0.0
        z = F.scaled_dot_product_attention(self.split(self.q(y)), k, v, mask, rate, is_causal=causal)
        return x + F.dropout(self.out(z.transpose(1, 2).flatten(2)), rate)

    def forward(self, x, mask, causal=False):
        y = self.norm(x)
        return self.attend(x, y, *self.keys(y), mask, causal)


class FeedForward(nn.Module):
    def __init__(self, width, inner, rate):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.inner, self.outer, self.rate = nn.Linear(width, inner), nn.Linear(inner, width), rate

    def forward(self, x):
        rate = self.rate if self.training else 0.0
        y = F.dropout(F.relu(self.inner(self.norm(x))), rate)
        return x + F.dropout(self.outer(y), rate)


class Transformer(nn.Module):
    def __init__(self, name, n_tokens, rate):
        super().__init__()
        n_layers, width, heads, inner = SIZES[name]
        self.width, self.rate = width, rate
        self.table = nn.Embedding(n_tokens, width)

        def attentions():
            return nn.ModuleList(Attention(width, heads, rate) for _ in range(n_layers))

        def layers():
            return nn.ModuleList(FeedForward(width, inner, rate) for _ in range(n_layers))
        self.encoder, self.encoder_inner = attentions(), layers()
        self.decoder, self.source, self.decoder_inner = attentions(), attentions(), layers()
        self.encoded_norm = nn.LayerNorm(width, eps=EPSILON)
        self.decoded_norm = nn.LayerNorm(width, eps=EPSILON)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        nn.init.normal_(self.table.weight, std=width ** -0.5)

    def embed(self, ids, first=0):
        half = self.width // 2
        rows = self.table(ids.clamp(min=0)) * (ids >= 0)[..., None] * math.sqrt(self.width)
        rates = torch.exp(torch.arange(half) * -math.log(1e4) / (half - 1))
        angles = (first + torch.arange(ids.shape[1]))[:, None] * rates
        return F.dropout(rows + torch.cat((angles.sin(), angles.cos()), 1), self.rate, self.training)

    def encode(self, source, mask):
        x = self.embed(source)
        for attention, inner in zip(self.encoder, self.encoder_inner):
            x = inner(attention(x, mask))
        return self.encoded_norm(x)

    def forward(self, source, mask, target):
        """Logits (N, T, V); mask (N, 1, 1, S)."""
        x, y = self.encode(source, mask), self.embed(target)
        for own, other, inner in zip(self.decoder, self.source, self.decoder_inner):
            y = own(y, None, causal=True)
            y = inner(other.attend(y, other.norm(y), *other.keys(x), mask))
        return self.decoded_norm(y) @ self.table.weight.T

    def step(self, token, place, kept, sources, mask):
        """Logits (R, V) behind token (R, 1); keeps its keys and values."""
        y = self.embed(token, place)
        for i, (own, other, inner) in enumerate(zip(self.decoder, self.source, self.decoder_inner)):
            x = own.norm(y)
            new = own.keys(x)
            kept[i] = new if kept[i] is None else tuple(
                torch.cat(pair, 2) for pair in zip(kept[i], new))
            y = own.attend(y, x, *kept[i], None)
            y = inner(other.attend(y, other.norm(y), *sources[i], mask))
        return (self.decoded_norm(y) @ self.table.weight.T)[:, 0]


def loss_sum(logits, answers, smoothing):
    """Over the answers that are not negative: smoothing / (V - 1) on each other token, less the entropy."""
    keep, n = answers.flatten() >= 0, logits.shape[-1]
    log_p = logits.flatten(0, 1)[keep].float().log_softmax(1)
    right = log_p.gather(1, answers.flatten()[keep][:, None]).sum()
    if smoothing == 0:
        return -right
    other = smoothing / (n - 1)
    entropy = -(1 - smoothing) * math.log(1 - smoothing) - smoothing * math.log(other)
    return -(1 - smoothing - other) * right - other * log_p.sum() - entropy * len(log_p)

# ---- search --------------------------------------------------------------------------------------


@torch.no_grad()
def search(model, source, lengths, end, width, alpha):
    """Beam search as runtime/search/beam.h: the best translation of each source, without its end."""
    n = len(source)
    mask = (torch.arange(source.shape[1]) < lengths[:, None])[:, None, None]
    x = model.encode(source, mask)
    sources = [tuple(y.repeat_interleave(width, 0) for y in other.keys(x)) for other in model.source]
    mask = mask.repeat_interleave(width, 0)
    limit = lengths + MORE_TOKENS
    sums = torch.full((n, width), -math.inf)
    sums[:, 0] = 0
    token = torch.full((n * width, 1), START)
    texts, kept = torch.zeros(n, width, 0, dtype=torch.long), [None] * len(model.decoder)
    done, is_over = [[] for _ in range(n)], torch.zeros(n, dtype=torch.bool)

    def penalty(length):
        return ((5 + length) / 6) ** alpha
    place = 0
    while not is_over.all():
        log_p = model.step(token, place, kept, sources, mask).float().log_softmax(1)
        v = log_p.shape[1]
        best, at = (sums[:, :, None] + log_p.view(n, width, v)).flatten(1).topk(2 * width)
        origin, word = at // v, at % v
        for i in (~is_over & (word == end).any(1)).nonzero()[:, 0].tolist():
            for k in (word[i] == end).nonzero()[:, 0].tolist():
                done[i].append((float(best[i, k]) / penalty(place + 1),
                                texts[i, origin[i, k]].tolist()))
            done[i] = sorted(done[i], key=lambda x: -x[0])[:width]
        rank = torch.sort((word == end).to(torch.long), dim=1, stable=True)[1][:, :width]
        sums, origin, word = (x.gather(1, rank) for x in (best, origin, word))
        texts = torch.cat((texts.gather(1, origin[..., None].expand(-1, -1, place)),
                           word[..., None]), 2)
        rows = (torch.arange(n)[:, None] * width + origin).flatten()
        kept = [tuple(x[rows] for x in pair) for pair in kept]
        token, place = word.flatten()[:, None], place + 1
        for i in range(n):
            is_over[i] |= place >= limit[i] or bool(
                done[i] and done[i][-1][0] > float(sums[i, 0]) / penalty(int(limit[i])))
    return [done[i][0][1] if done[i] else texts[i, 0].tolist() for i in range(n)]

# ---- data ----------------------------------------------------------------------------------------


def read_pairs(path, split):
    with h5py.File(path) as f:
        sides = []
        for side in ("source", "target"):
            ids, ends = f[f"{split}/{side}/values"][()].tolist(), f[f"{split}/{side}/offsets"][()]
            sides.append([ids[a:b] for a, b in zip(ends, ends[1:])])
        words = [w.decode() if isinstance(w, bytes) else w for w in f["vocabulary"][()]]
    return list(zip(*sides)), words


def padded(rows, fill):
    return nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], True, fill)


def training_batches(pairs, args, rank, end):
    """Parts of this rank, of batches of about --tokens tokens on the longer side; without end."""
    draw = random.Random(args.seed)
    while True:
        order = sorted(pairs, key=lambda p: (max(map(len, p)), draw.random()))
        batches, batch = [], []
        for pair in order:
            if (len(batch) + 1) * (max(map(len, pair)) + 1) > args.tokens:
                batches.append(batch)
                batch = []
            batch.append(pair)
        draw.shuffle(batches)
        for batch in batches:
            n_tokens = sum(len(target) + 1 for _, target in batch)
            own = batch[rank::args.ranks]
            source = padded([s + [end] for s, _ in own], 0)
            lengths = torch.tensor([len(s) + 1 for s, _ in own])
            mask = (torch.arange(source.shape[1]) < lengths[:, None])[:, None, None]
            yield (source, mask, padded([[START] + t for _, t in own], START),
                   padded([t + [end] for _, t in own], -1), n_tokens, len(batch))
        yield None  # an epoch has ended

# ---- one rank ------------------------------------------------------------------------------------


def text_of(ids, words):
    return " ".join(words[i] for i in ids).replace(" ##", "")


def evaluate(model, pairs, words, args, rank):
    model.eval()
    end, order = words.index("[SEP]"), sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
    own, found = order[rank::args.ranks], []
    for at in range(0, len(own), args.search_rows):
        part = [pairs[i][0] + [end] for i in own[at:at + args.search_rows]]
        with autocast(args):
            found += search(model, padded(part, 0), torch.tensor([len(s) for s in part]), end,
                            args.beam, args.length_penalty)
    texts = [(i, text_of(ids, words)) for i, ids in zip(own, found)]
    if args.ranks > 1:
        gathered = [None] * args.ranks
        dist.all_gather_object(gathered, texts)
        texts = sum(gathered, [])
    model.train()
    made = [text for _, text in sorted(texts)]
    return sacrebleu.corpus_bleu(made, [[text_of(t, words) for _, t in pairs]], lowercase=True,
                                 tokenize="intl").score


def train_step(model, runs, optimizer, batch, args):
    source, mask, target, answers, n_tokens, _ = batch
    optimizer.zero_grad(set_to_none=True)
    with autocast(args):
        logits = runs(source, mask, target)
    loss = loss_sum(logits, answers, args.label_smoothing) / n_tokens
    loss.backward()
    sum_gradients(model, args)
    optimizer.step()
    return float(loss.detach())


def rate_at(args, step):
    w = max(args.warmup_steps, 1)
    return args.lr * (step / w if step < args.warmup_steps else math.sqrt(w / max(step, w)))


def train(rank, args):
    (pairs, words), (test, _) = read_pairs(args.data, "train"), read_pairs(args.data, "test")
    model = Transformer(args.model, len(words), args.dropout)
    share_weights(model, args)
    runs = torch.compile(model, dynamic=True) if args.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, args.beta2),
                                  eps=1e-9, weight_decay=args.weight_decay)
    batches = training_batches(pairs, args, rank, words.index("[SEP]"))
    begun, step, epoch, n_pairs, training_s, found = time.perf_counter(), 0, 0, 0, 0.0, []
    next_eval = args.eval_minutes
    while True:
        batch = next(batches)
        if batch is None:
            epoch += 1
            continue
        before = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate_at(args, step)
        loss = train_step(model, runs, optimizer, batch, args)
        step, n_pairs = step + 1, n_pairs + batch[-1]
        training_s += time.perf_counter() - before
        minutes = torch.tensor((time.perf_counter() - begun) / 60)
        if args.ranks > 1:
            dist.broadcast(minutes, 0)
        is_last = minutes >= args.minutes or (args.steps and step >= args.steps)
        if is_last or minutes >= next_eval:
            bleu = evaluate(model, test, words, args, rank)
            next_eval = float(minutes) + args.eval_minutes
            found.append({"step": step, "epoch": epoch, "loss": loss, "bleu": bleu,
                          "pairs_per_s": n_pairs / training_s, "s": time.perf_counter() - begun})
            if rank == 0:
                print("  ".join(f"{k} {v:.5g}" for k, v in found[-1].items()), flush=True)
        if is_last:
            return {"steps": step, "evaluations": found,
                    "parameters": sum(w.numel() for w in model.parameters())}


def tell(_args, result):
    print(f"best BLEU {max(x['bleu'] for x in result['evaluations']):.2f}")


def read_arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="of `minipod data import pairs`")
    p.add_argument("--model", choices=SIZES, default="transformer-small")
    p.add_argument("--tokens", type=int, default=4096, help="of a batch, on its longer side")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--precision", choices=("bf16", "f32"), default="bf16")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--lr", type=float, default=2e-3, help="the highest, of noam")
    p.add_argument("--warmup-steps", type=int, default=500)
    p.add_argument("--beta2", type=float, default=0.999)
    p.add_argument("--weight-decay", type=float, default=0.0)
    p.add_argument("--label-smoothing", type=float, default=0.1)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--beam", type=int, default=4)
    p.add_argument("--length-penalty", type=float, default=0.6)
    p.add_argument("--search-rows", type=int, default=64, help="sentences that are searched together")
    p.add_argument("--minutes", type=float, default=20)
    p.add_argument("--eval-minutes", type=float, default=2)
    p.add_argument("--steps", type=int, default=0, help="end after so many, if that is sooner")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--json", help="file for the result")
    return p.parse_args()


if __name__ == "__main__":
    run(read_arguments(), train, tell)
