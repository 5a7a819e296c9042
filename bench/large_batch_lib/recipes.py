"""What is trained, and how."""
import math
import os
import zlib

LINEAR, ROOT = 1.0, 0.5  # the rate grows with this power of the batch
PER = 256                # the batch that a recipe's rate is for


class Recipe:
    """An optimizer for a model: its rate at a batch of PER, how that grows, its warm-up."""

    def __init__(self, lr, power, warmup, options):
        self.lr, self.power, self.warmup, self.options = lr, power, warmup, options

    def rate(self, batch):
        return self.lr * (batch / PER) ** self.power


# SGD: rate and decay of He et al. 2015, section 4.2 (0.1 at a batch of 128); five epochs of warm-up
# and the linear rule by Goyal et al. 2017.
# RMSProp: tensorflow/tpu's EfficientNet, whose 350 epochs have 146 stairs of 0.97; here as many
# stairs are in a run, whatever its length. The rate: own trial. The published 0.016 is reached
# after 25,000 steps; within 150 at a batch of 256 it made the loss jump to twice its value and got
# to 0.47, where 0.004 got to 0.66.
# LARS: You et al. 2017, momentum 0.9, polynomial of power 2. Own trials on Fashion-MNIST: rate x
# trust, the weights' relative step, is 0.018 for ResNet-20 at 8,192 and 0.003 for EfficientNet at
# 1,024. Norms' parameters and biases see the rate alone: with a product of 0.036, after 35 of 140
# steps at 8,192, the training loss was 0.81 with a rate of 0.9 and 0.98 with a rate of 2. A seventh
# of the run is warm-up, 50 of 350 epochs in 2011.00071, whose rates grow more slowly than the batch
# too: 15.1 at 16,384 and at 32,768, 20.7 at 65,536.
SGD = Recipe(0.2, LINEAR, 5, "--momentum 0.9 --weight-decay 1e-4 --lr-schedule cosine")
RMSPROP = Recipe(0.004, LINEAR, 5, "--momentum 0.9 --rho 0.9 --epsilon 1e-3 --weight-decay 1e-5 "
                 "--lr-schedule exp --decay-rate 0.97 --decay-epochs {stair}")
LARS = ("--momentum 0.9 --trust 0.02 --weight-decay {decay} --lr-schedule poly --poly-power 2 "
        "--end-lr 1e-4")
STAIRS = 350 / 2.4
LARS_WARMUP = 50 / 350  # of the run
# LAMB: You et al. 2019, whose rate grows with the root of the batch. AdamW has the same rule here.
# LAMB's rate: own trials on novels. Of five epochs at 4,096 a rate of 0.04 left the masked accuracy
# at that of the most frequent word, 0.074, and 0.02 reached 0.100. AdamW's: minipod's default, not
# tuned. No dropout, which so short a run does not need.
LAMB = Recipe(0.005, ROOT, None, "--weight-decay 0.01 --lr-schedule cosine")
ADAMW = Recipe(1e-3, ROOT, None, "--weight-decay 0.01 --lr-schedule cosine")

# Batch norm's moving statistics forget by samples, not by steps: at 8,192 an epoch of Fashion-MNIST
# has seven steps, and averages that forget a tenth in a step are of weights long gone.
# A recipe's hash is of these texts, blanks included: a change makes other runs.
IMAGES = ("--augment crop+flip --crop-pad 2 --eval-every 1 --bn-momentum {bn_momentum:.4g} "
          "--progress off --quiet ")
BN_MOMENTUM, BN_BATCH = 0.9, 1024
TEXT = "--eval-every 1 --progress off --quiet "
BERT_SHAPE = "--seq-len 32 --max-masked 5 --dropout 0"

# shape: options that `explain memory` takes as well; most: samples that a core takes at once where
# memory allows more.
MODELS = {
    "resnet20": {"optimizers": {"sgd": SGD, "lars": Recipe(0.16, ROOT, None, LARS)},
                 "decay": "2e-4", "options": IMAGES, "shape": "", "most": math.inf},
    "efficientnet-b0-32": {"optimizers": {"rmsprop": RMSPROP,
                                          "lars": Recipe(0.075, ROOT, None, LARS)},
                           "decay": "1e-5", "shape": "", "most": math.inf,
                           "options": IMAGES + "--label-smoothing 0.1 --survival 1 "
                                               "--bn-epsilon 1e-3"},
    "bert-tiny": {"optimizers": {"adamw": ADAMW, "lamb": LAMB}, "decay": "", "most": 64,
                  "options": TEXT + BERT_SHAPE, "shape": BERT_SHAPE},
}
OF_IMAGES = [name for name, model in MODELS.items() if model["options"].startswith(IMAGES)]
# Said all the same, lest a --conf file say otherwise. No part of a recipe's hash.
UNSET = "--steps 0 --target 0 --lr-per 0 --attempt 0".split()
CHECKPOINT_SAMPLES = 2**16  # between two of a run's checkpoints


class Run:
    """What is asked of one training run. The key tells it from all others of a CSV: the recipe in
    it is a hash of the options that this script adds, so that a change of them makes other runs."""

    def __init__(self, args, model, batch, optimizer, seed):
        recipe = MODELS[model]["optimizers"][optimizer]
        self.model, self.batch, self.optimizer, self.seed = model, batch, optimizer, seed
        self.data, self.mesh, self.ranks = os.path.basename(args.data), args.mesh, args.ranks
        self.epochs, self.lr = args.epochs, recipe.rate(batch)
        warmup = args.epochs * LARS_WARMUP if recipe.warmup is None else recipe.warmup
        self.warmup = min(warmup, args.epochs / 2)
        self.rest = args.rest
        options = " ".join([MODELS[model]["options"], recipe.options]).replace(
            "{decay}", MODELS[model]["decay"])
        self.recipe = f"{zlib.crc32(options.encode()):08x}"
        self.options = options.format(bn_momentum=BN_MOMENTUM ** (batch / BN_BATCH),
                                      stair=args.epochs / STAIRS).split()

    def key(self):
        return (self.model, self.data, self.mesh, self.ranks, self.batch, self.optimizer,
                self.recipe, f"{self.lr:.6g}", f"{self.warmup:.6g}", f"{self.epochs:.6g}",
                " ".join(self.rest), self.seed)

    def words(self, epochs):
        """For minipod train, without the rest, which comes behind them."""
        return ["--model", self.model, "--batch", str(self.batch), "--optimizer", self.optimizer,
                "--lr", f"{self.lr:.6g}", "--warmup", f"{self.warmup:.6g}", "--epochs",
                f"{epochs:.6g}", "--seed", str(self.seed), "--mesh", self.mesh, *UNSET,
                *self.options]

    def name(self):
        return f"{self.model}, batch {self.batch}, {self.optimizer}, seed {self.seed}"

    def folder(self, args, accumulate):
        """Of its own: batch norm's statistics are of a micro-step."""
        key = f"{zlib.crc32(repr((self.key(), accumulate)).encode()):08x}"
        return os.path.join(os.path.splitext(args.csv)[0] + ".runs", f"{self.model}-{self.batch}-"
                            f"{self.optimizer}-{self.seed}-{key}")


def all_runs(args):
    """Those of the first seed before those of the next: what is there early covers everything."""
    return [Run(args, model, batch, optimizer, seed) for seed in args.seeds
            for model in args.models for batch in args.batches
            for optimizer in MODELS[model]["optimizers"] if optimizer in args.optimizers]
