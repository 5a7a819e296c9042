#!/usr/bin/env python3
"""Trains minipod's models with PyTorch on the same machine, to compare with `minipod train`.

The networks are those of models/*.c, parameter for parameter (ResNet v1.5; ResNets for small images
with option B shortcuts; EfficientNet with dropout and stochastic depth; vit-tiny); torch_parity.py checks that.
They run in bf16 autocast and channels-last, with one thread per rank. Several ranks use
DistributedDataParallel over gloo, each with its own shard of the global batch and its own batch norm.
Synthetic data are one batch of noise in memory, so PyTorch spends no time on loading. With --target it
trains on an IDX data set until an evaluation reaches the target.

  torch_train.py --model resnet20 --batch 128
  torch_train.py --model resnet50 --batch 16 --steps 3
  torch_train.py --model efficientnet-b0 --batch 16 --steps 3
  torch_train.py --model resnet20 --batch 256 --ranks 2
  torch_train.py --model resnet20 --data /data/fashion-mnist --batch 1024 --ranks 2 --optimizer lars \\
      --lr 2.5 --trust 0.004 --weight-decay 2e-4 --lr-schedule poly --warmup 1 --epochs 12 \\
      --augment --crop-pad 2 --target 0.92

Exit code 0: done. 1: the target was missed. 77: PyTorch is not installed, nothing was measured.
"""
import argparse
import gzip
import json
import math
import os
import struct
import sys
import time
from collections import OrderedDict

sys.dont_write_bytecode = True  # of what is imported from this folder
SKIPPED = 77
BN_EPSILON = 1e-5  # minipod's default

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch import nn
    from torch.nn import functional as F
except ImportError as why:
    print(f"SKIPPED: {why}; on Debian: apt-get install python3-torch, and /usr/bin/python3")
    sys.exit(SKIPPED)
from vit_net import VisionTransformer

# ---- the models, as models/*.c builds them; modules have the names that the scopes have there ----


def named(**layers):
    return nn.Sequential(OrderedDict(layers))


class SameConv(nn.Conv2d):
    """TensorFlow's SAME padding: what is missing on both sides, the odd pixel behind."""

    def forward(self, x):
        sides = []  # of the columns, then of the rows
        for pixels, k, stride in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            missing = max((math.ceil(pixels / stride) - 1) * stride + k - pixels, 0)
            sides += [missing // 2, missing - missing // 2]
        pad = (sides[2], sides[0])
        if pad != (sides[3], sides[1]):
            x, pad = F.pad(x, sides), 0
        return F.conv2d(x, self.weight, None, self.stride, pad, groups=self.groups)


def batch_norm(channels, gamma=1.0):
    norm = nn.BatchNorm2d(channels, eps=BN_EPSILON, momentum=0.1)  # minipod's 0.9: share of the old
    nn.init.constant_(norm.weight, gamma)
    return norm


def conv_bn(c_in, c_out, size, stride=1, gamma=1.0):
    conv = nn.Conv2d(c_in, c_out, size, stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(conv.weight, mode="fan_in", nonlinearity="relu")
    return named(conv=conv, norm=batch_norm(c_out, gamma))


def logits(features, classes):
    layer = nn.Linear(features, classes)
    nn.init.normal_(layer.weight, std=0.01)
    nn.init.zeros_(layer.bias)
    return layer


class Unit(nn.Module):
    """Two 3x3 convolutions, or 1x1, 3x3, 1x1; the shortcut is a convolution where the shape changes."""

    def __init__(self, c_in, c_mid, stride, is_bottleneck):
        super().__init__()
        c_out = 4 * c_mid if is_bottleneck else c_mid
        if is_bottleneck:
            self.conv1 = conv_bn(c_in, c_mid, 1)
            self.conv2 = conv_bn(c_mid, c_mid, 3, stride)
            self.conv3 = conv_bn(c_mid, c_out, 1, gamma=0.0)
        else:
            self.conv1, self.conv2 = conv_bn(c_in, c_mid, 3, stride), conv_bn(c_mid, c_mid, 3)
            self.conv3 = None
        self.shortcut = conv_bn(c_in, c_out, 1, stride) if c_in != c_out else nn.Identity()

    def forward(self, x):
        y = self.conv2(F.relu(self.conv1(x), inplace=True))
        if self.conv3 is not None:
            y = self.conv3(F.relu(y, inplace=True))
        return F.relu(y + self.shortcut(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, stem, c_in, stages, is_bottleneck, classes):
        super().__init__()
        self.stem, self.stages = stem, nn.Sequential()
        for number, (count, c_mid) in enumerate(stages):
            stage = nn.Sequential()
            for i in range(count):
                stride = 2 if number > 0 and i == 0 else 1
                stage.add_module(f"unit{i + 1}", Unit(c_in, c_mid, stride, is_bottleneck))
                c_in = 4 * c_mid if is_bottleneck else c_mid
            self.stages.add_module(f"stage{number + 1}", stage)
        self.logits = logits(c_in, classes)

    def forward(self, x):
        return self.logits(self.stages(self.stem(x)).mean(dim=(2, 3)))


def same_conv_bn(c_in, c_out, size, stride=1, groups=1):
    conv = SameConv(c_in, c_out, size, stride, groups=groups, bias=False)
    nn.init.normal_(conv.weight, std=math.sqrt(2 * groups / (size * size * c_out)))
    return named(conv=conv, norm=batch_norm(c_out))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.reduce, self.expand = nn.Linear(channels, width), nn.Linear(width, channels)
        for layer in (self.reduce, self.expand):
            nn.init.normal_(layer.weight, std=math.sqrt(2 / layer.out_features))
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        s = torch.sigmoid(self.expand(F.silu(self.reduce(x.mean(dim=(2, 3))))))
        return x * s[:, :, None, None]


class Bottleneck(nn.Module):
    """Widened, filtered channel by channel, weighed, narrowed; `drop`: share of samples for which all
    this is left out in training."""

    def __init__(self, c_in, c_out, size, stride, widen, drop):
        super().__init__()
        c_mid = widen * c_in
        self.expand = same_conv_bn(c_in, c_mid, 1) if widen > 1 else None
        self.depthwise = same_conv_bn(c_mid, c_mid, size, stride, groups=c_mid)
        self.squeeze_excite = SqueezeExcite(c_mid, max(1, c_in // 4))
        self.project = same_conv_bn(c_mid, c_out, 1)
        self.adds, self.drop = stride == 1 and c_in == c_out, drop

    def forward(self, x):
        y = x if self.expand is None else F.silu(self.expand(x))
        y = self.squeeze_excite(F.silu(self.depthwise(y)))
        y = self.project(y)
        if not self.adds:
            return y
        if self.training and self.drop > 0:
            kept = torch.rand(len(x), 1, 1, 1) >= self.drop
            y = y * (kept.to(y.dtype) / (1 - self.drop))
        return x + y


class EfficientNet(nn.Module):
    """B0 to B7; the stem of stride 1 is for images of 32x32."""

    STAGES = [(1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
              (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)]
    SCALING = [(1.0, 1.0, 0.2), (1.0, 1.1, 0.2), (1.1, 1.2, 0.3), (1.2, 1.4, 0.3),
               (1.4, 1.8, 0.4), (1.6, 2.2, 0.4), (1.8, 2.6, 0.5), (2.0, 3.1, 0.5)]

    def __init__(self, scaling, channels, classes, stem_stride, dropout, survival):
        super().__init__()
        width, depth, own_dropout = scaling

        def scaled(c):
            by_8 = max(8, int(c * width + 4) // 8 * 8)
            return by_8 + 8 if by_8 < 0.9 * c * width else by_8
        counts = [math.ceil(depth * count) for count, *_ in self.STAGES]
        c_in, c_head, number = scaled(32), scaled(1280), 0
        self.stem, self.stages = same_conv_bn(channels, c_in, 3, stem_stride), nn.Sequential()
        for count, (_, size, stride, widen, c_out) in zip(counts, self.STAGES):
            stage, c_out = nn.Sequential(), scaled(c_out)
            for i in range(count):
                drop = (1 - survival) * number / sum(counts)
                stage.add_module(f"unit{i + 1}", Bottleneck(
                    c_in, c_out, size, stride if i == 0 else 1, widen, drop))
                c_in, number = c_out, number + 1
            self.stages.add_module(f"stage{len(self.stages) + 1}", stage)
        self.head = same_conv_bn(c_in, c_head, 1)
        self.dropout = own_dropout if dropout is None else dropout
        self.logits = nn.Linear(c_head, classes)
        nn.init.uniform_(self.logits.weight, -1 / math.sqrt(classes), 1 / math.sqrt(classes))
        nn.init.zeros_(self.logits.bias)

    def forward(self, x):
        x = self.stages(F.silu(self.stem(x)))
        x = F.silu(self.head(x)).mean(dim=(2, 3))
        return self.logits(F.dropout(x, self.dropout, self.training))


class Mlp(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.hidden1, self.hidden2 = nn.Linear(features, 512), nn.Linear(512, 256)
        self.logits = logits(256, classes)

    def forward(self, x):
        x = F.relu(self.hidden1(x.permute(0, 2, 3, 1).flatten(1)))
        return self.logits(F.relu(self.hidden2(x)))


def make_model(name, shape, classes, dropout=None, survival=None):
    height, width, channels = shape
    if name == "vit-tiny":
        return VisionTransformer(shape, classes, 0.9 if survival is None else survival)
    survival = 0.8 if survival is None else survival
    if name == "mlp":
        return Mlp(height * width * channels, classes)
    if name.startswith("efficientnet"):
        scaling = EfficientNet.SCALING[int(name[len("efficientnet-b")])]
        stem_stride = 1 if name.endswith("-32") else 2
        return EfficientNet(scaling, channels, classes, stem_stride, dropout, survival)
    depth = int(name[len("resnet"):])
    if depth == 50:
        stem = named(conv=conv_bn(channels, 64, 7, 2), relu=nn.ReLU(inplace=True),
                     pool=nn.MaxPool2d(3, 2, padding=1))
        return ResNet(stem, 64, [(3, 64), (4, 128), (6, 256), (3, 512)], True, classes)
    units = (depth - 2) // 6
    stem = named(conv=conv_bn(channels, 16, 3), relu=nn.ReLU(inplace=True))
    return ResNet(stem, 16, [(units, 16), (units, 32), (units, 64)], False, classes)


MODELS = {  # what each was published for: images and classes
    "mlp": ((28, 28, 1), 10),
    **{f"resnet{depth}": ((32, 32, 3), 10) for depth in (8, 14, 20, 32, 44, 56)},
    "resnet50": ((224, 224, 3), 1000),
    **{f"efficientnet-b{number}": ((size, size, 3), 1000)
       for number, size in enumerate((224, 240, 260, 300, 380, 456, 528, 600))},
    "efficientnet-b0-32": ((32, 32, 3), 10),
    "vit-tiny": ((224, 224, 3), 1000),
}

# ---- updates and schedules, as runtime/optim has them --------------------------------------------


class Lars(torch.optim.Optimizer):
    """You et al. 2017, the rate inside: v = momentum v + rate ratio (g + decay w); w -= v."""

    def __init__(self, groups, lr, momentum, trust, epsilon):
        super().__init__(groups, {"lr": lr, "momentum": momentum, "trust": trust,
                                  "epsilon": epsilon})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for w in group["params"]:
                rate, decay = group["lr"], group["weight_decay"]
                state = self.state[w]
                v = state.setdefault("v", torch.zeros_like(w))
                if not group["is_skipped"]:
                    w_norm, g_norm = w.norm(), w.grad.norm()
                    if w_norm > 0 and g_norm > 0:
                        rate *= float(group["trust"] * w_norm /
                                      (g_norm + decay * w_norm + group["epsilon"]))
                v.mul_(group["momentum"]).add_(w.grad + decay * w, alpha=rate)
                w.sub_(v)


def make_optimizer(model, args):
    """Norms and biases neither decay nor have a trust ratio; nor have a class token and positions."""
    biases = {"cls_token", "pos_embed"}
    skipped = [w for name, w in model.named_parameters() if w.dim() == 1 or name in biases]
    others = [w for name, w in model.named_parameters() if w.dim() > 1 and name not in biases]
    groups = [{"params": others, "weight_decay": args.weight_decay, "is_skipped": False},
              {"params": skipped, "weight_decay": 0.0, "is_skipped": True}]
    if args.optimizer == "lars":
        return Lars(groups, args.lr, args.momentum, args.trust, args.epsilon)
    if args.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=args.lr, eps=args.epsilon)
    return torch.optim.SGD(groups, lr=args.lr, momentum=args.momentum)


def rate_at(args, step, warmup_steps, train_steps):
    """runtime/optim/lr.h"""
    if step < warmup_steps:
        return args.lr * step / warmup_steps
    done = step - warmup_steps
    if args.lr_schedule == "poly":
        part = max(1, done) / (train_steps - warmup_steps + 1)
        return (args.lr - args.end_lr) * (1 - min(part, 1)) ** 2 + args.end_lr
    if args.lr_schedule == "cosine":
        part = min(done / max(1, train_steps - warmup_steps), 1)
        return args.end_lr + (args.lr - args.end_lr) * (1 + math.cos(math.pi * part)) / 2
    return args.lr

# ---- data ----------------------------------------------------------------------------------------


def read_idx(folder, stem):
    """One file of Yann LeCun's format, zipped or not, as a tensor of bytes."""
    for name in (f"{stem}-ubyte", f"{stem}-ubyte.gz"):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        with (gzip.open if name.endswith(".gz") else open)(path, "rb") as f:
            data = f.read()
        n_dims = data[3]
        dims = struct.unpack(f">{n_dims}I", data[4:4 + 4 * n_dims])
        return torch.frombuffer(bytearray(data[4 + 4 * n_dims:]), dtype=torch.uint8).view(dims)
    sys.exit(f"torch_train.py: {folder}: no {stem}-ubyte, zipped or not")


def read_set(folder):
    def images(stem):
        x = read_idx(folder, stem)
        return x.unsqueeze(1) if x.dim() == 3 else x.permute(0, 3, 1, 2)
    return {"train": (images("train-images-idx3"), read_idx(folder, "train-labels-idx1").long()),
            "test": (images("t10k-images-idx3"), read_idx(folder, "t10k-labels-idx1").long())}


def augmented(x, pad):
    """Random crops of the padded images, every other one mirrored."""
    n, _, height, width = x.shape
    padded = F.pad(x, (pad, pad, pad, pad))
    top, left = torch.randint(0, 2 * pad + 1, (2, n))
    rows = (top.view(-1, 1) + torch.arange(height)).view(n, 1, height, 1)
    columns = left.view(-1, 1) + torch.arange(width)
    columns = torch.where(torch.rand(n, 1) < 0.5, columns.flip(1), columns).view(n, 1, 1, width)
    return padded[torch.arange(n).view(n, 1, 1, 1), torch.arange(x.shape[1]).view(1, -1, 1, 1),
                  rows, columns]


class Batches:
    """Images and labels of this rank, step by step: the same order on all ranks, each its part."""

    def __init__(self, args, rank):
        self.args, self.rank, self.n = args, rank, args.batch // args.ranks
        self.noise = None
        if args.data:
            self.sets = read_set(args.data)
            pixels = self.sets["train"][0].float()
            self.mean, self.deviation = pixels.mean(), pixels.std()
            args.shape = tuple(self.sets["train"][0].shape[2:]) + (self.sets["train"][0].shape[1],)
            args.classes = int(self.sets["train"][1].max()) + 1
        self.per_epoch = len(self.sets["train"][1]) // args.batch if args.data else 0

    def ready(self, x):
        x = (x.float() - self.mean) / self.deviation
        return x.contiguous(memory_format=torch.channels_last)

    def at(self, step):
        if not self.args.data:
            if self.noise is None:
                height, width, channels = self.args.shape
                x = torch.randn(self.n, channels, height, width)
                self.noise = (x.contiguous(memory_format=torch.channels_last),
                              torch.randint(0, self.args.classes, (self.n,)))
            return self.noise
        epoch, place = divmod(step, self.per_epoch)
        if place == 0:
            order = torch.Generator().manual_seed(self.args.seed + epoch)
            self.order = torch.randperm(len(self.sets["train"][1]), generator=order)
        first = place * self.args.batch + self.rank * self.n
        pick = self.order[first:first + self.n]
        x = self.sets["train"][0][pick]
        if self.args.augment:
            x = augmented(x, self.args.crop_pad)
        return self.ready(x), self.sets["train"][1][pick]


# ---- one rank ------------------------------------------------------------------------------------


def autocast(args):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16")


@torch.no_grad()
def accuracy(model, batches, args):
    """Over the test split, the ranks sharing it."""
    model.eval()
    x, labels = (t[batches.rank::args.ranks] for t in batches.sets["test"])
    right = torch.zeros(2)
    for at in range(0, len(labels), 500):
        with autocast(args):
            answer = model(batches.ready(x[at:at + 500])).argmax(1)
        right += torch.tensor([float((answer == labels[at:at + 500]).sum()), len(answer)])
    if args.ranks > 1:
        dist.all_reduce(right)
    model.train()
    return float(right[0] / right[1])


def train(model, batches, args):
    """All steps: their times, the accuracies at the ends of epochs, the time to the target."""
    optimizer = make_optimizer(model, args)
    runs = nn.parallel.DistributedDataParallel(model) if args.ranks > 1 else model
    if args.compile:
        runs = torch.compile(runs)
    n_steps = args.steps + args.warmup_steps
    if batches.per_epoch and args.epochs:
        n_steps = int(args.epochs * batches.per_epoch)
    warmup = int(args.warmup * batches.per_epoch)
    times, reached, best, begun = [], None, None, time.perf_counter()
    for step in range(n_steps):
        before = time.perf_counter()
        x, labels = batches.at(step)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(args, step, warmup, n_steps)
        optimizer.zero_grad(set_to_none=True)
        with autocast(args):
            y = runs(x)
        loss = F.cross_entropy(y.float(), labels)
        loss.backward()
        optimizer.step()
        if step >= args.warmup_steps:
            times.append(time.perf_counter() - before)
        if batches.per_epoch and (step + 1) % batches.per_epoch == 0:
            reaches = accuracy(model, batches, args)
            best = max(best or 0.0, reaches)
            if batches.rank == 0 and not args.quiet:
                print(f"epoch {(step + 1) // batches.per_epoch}  loss {float(loss):.3f}  "
                      f"accuracy {reaches:.4f}  {time.perf_counter() - begun:.1f} s", flush=True)
            if args.target and reaches >= args.target:
                reached = time.perf_counter() - begun
                break
    return {"times": times, "accuracy": best, "time_to_target_s": reached,
            "run_s": time.perf_counter() - begun, "loss": float(loss)}


def tell(args, model, result):
    times = sorted(result.pop("times"))
    median = times[len(times) // 2]
    record = {
        "schema": "minipod.peer_run", "peer": f"PyTorch {torch.__version__.partition('+')[0]}",
        "compiled": args.compile, "model": args.model,
        "parameters": sum(w.numel() for w in model.parameters()), "global_batch": args.batch,
        "ranks": args.ranks, "threads_per_rank": torch.get_num_threads(),
        "precision": args.precision, "optimizer": args.optimizer, "steps": len(times),
        "step_s": median, "step_min_s": times[0], "step_max_s": times[-1],
        "samples_per_s": args.batch / median, **result}
    print(f"# {record['peer']}, clock wall, {args.model}, {record['parameters']} parameters, "
          f"batch {args.batch}, {args.precision}, channels-last, {args.ranks} rank(s) of "
          f"{record['threads_per_rank']} thread(s)")
    print(f"step  med {1e3 * median:.2f} ms  min {1e3 * times[0]:.2f}  max {1e3 * times[-1]:.2f}"
          f"  of {len(times)}")
    print(f"samples/s  {args.batch / median:.2f}")
    if args.target:
        reached = result["time_to_target_s"]
        print(f"target {args.target}: " + (f"{reached:.1f} s" if reached else "not reached"))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(record, f, indent=2)
            f.write("\n")


def run_rank(rank, args):
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    if args.ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{args.meeting}", rank=rank,
                                world_size=args.ranks)
    batches = Batches(args, rank)
    model = make_model(args.model, args.shape, args.classes)
    model = model.to(memory_format=torch.channels_last)
    result = train(model, batches, args)
    if rank == 0:
        tell(args, model, result)
    if args.ranks > 1:
        dist.destroy_process_group()
    if args.target and result["time_to_target_s"] is None:
        sys.exit(1)


# ---- the command line ----------------------------------------------------------------------------


def image_shape(text):
    dims = tuple(int(part) for part in text.split("x"))
    if len(dims) != 3 or min(dims) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not HxWxC")
    return dims


def read_arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", choices=sorted(MODELS), default="resnet20")
    p.add_argument("--batch", type=int, default=128, help="global batch: samples per step over all ranks")
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--precision", choices=("bf16", "f32"), default="bf16")
    p.add_argument("--compile", action="store_true",
                   help="use torch.compile; it compiles in the warm-up steps")
    p.add_argument("--shape", type=image_shape, help="HxWxC of synthetic images; default: the model's")
    p.add_argument("--classes", type=int, help="classes of synthetic images; default: the model's")
    p.add_argument("--data", help="folder of an IDX data set; default: noise")
    p.add_argument("--augment", action="store_true", help="random crops and flips")
    p.add_argument("--crop-pad", type=int, default=4)
    p.add_argument("--steps", type=int, default=10, help="timed steps, after --warmup-steps")
    p.add_argument("--warmup-steps", type=int, default=2)
    p.add_argument("--epochs", type=float, default=0, help="epochs over --data, instead of --steps")
    p.add_argument("--target", type=float, default=0, help="accuracy at which training ends")
    p.add_argument("--optimizer", choices=("sgd", "lars", "adamw"), default="sgd")
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--lr-schedule", choices=("constant", "poly", "cosine"), default="cosine")
    p.add_argument("--end-lr", type=float, default=0)
    p.add_argument("--warmup", type=float, default=0, help="epochs of warm-up")
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--trust", type=float, default=0.001)
    p.add_argument("--epsilon", type=float, default=1e-6)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--json", help="file for the result")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--parameters", action="store_true", help="print the number of parameters and exit")
    args = p.parse_args()
    args.shape = args.shape or MODELS[args.model][0]
    args.classes = args.classes or MODELS[args.model][1]
    if args.ranks < 1 or args.batch % args.ranks != 0:
        p.error(f"batch: {args.batch} is not divisible by {args.ranks} ranks")
    if args.target and not args.data:
        p.error("target: noise cannot be learnt, it needs --data")
    if args.target and not args.epochs:
        p.error("target: needs --epochs")
    return args


def main():
    args = read_arguments()
    if args.parameters:
        model = make_model(args.model, args.shape, args.classes)
        print(sum(w.numel() for w in model.parameters()))
        return
    if args.ranks == 1:
        run_rank(0, args)
        return
    args.meeting = f"/tmp/torch_train.{os.getpid()}"
    try:
        mp.spawn(run_rank, args=(args,), nprocs=args.ranks)
    except mp.ProcessExitedException as failure:
        sys.exit(failure.exit_code)
    finally:
        if os.path.exists(args.meeting):
            os.remove(args.meeting)


if __name__ == "__main__":
    main()
