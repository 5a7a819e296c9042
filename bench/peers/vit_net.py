"""minipod's vision transformer (models/vit.c) in plain modules of PyTorch, for torch_train.py. Parameters
that are no layer's are the other way round than in timm, a column for each token, as those of layers are
than in minipod."""
import math

import torch
from torch import nn
from torch.nn import functional as F

HEAD_SIZE, WIDENING, LARGEST_PATCH, FEWEST, EPSILON, DEVIATION = 64, 4, 16, 7, 1e-6, 0.02


def patch_of(height, width):
    patch = LARGEST_PATCH
    while patch > 1 and (height % patch or width % patch or min(height, width) < FEWEST * patch):
        patch //= 2
    return patch


class Block(nn.Module):
    """`drop`: share of samples for which either half is left out in training."""

    def __init__(self, width, drop):
        super().__init__()
        parts = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        self.norm1 = nn.LayerNorm(width, eps=EPSILON)
        self.attn = nn.ModuleDict({"qkv": nn.ModuleDict(parts), "proj": nn.Linear(width, width)})
        self.norm2 = nn.LayerNorm(width, eps=EPSILON)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, WIDENING * width),
                                  "fc2": nn.Linear(WIDENING * width, width)})
        self.drop = drop

    def dropped(self, y):
        if not self.training or self.drop == 0:
            return y
        kept = torch.rand(len(y), 1, 1) >= self.drop
        return y * (kept.to(y.dtype) / (1 - self.drop))

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (self.attn["qkv"][name](y).unflatten(2, (-1, HEAD_SIZE)).transpose(1, 2)
                   for name in ("query", "key", "value"))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.dropped(self.attn["proj"](y))
        return x + self.dropped(self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x)))))


class VisionTransformer(nn.Module):
    def __init__(self, shape, classes, survival, heads=3, layers=12):
        super().__init__()
        height, rows, channels = shape
        patch, width = patch_of(height, rows), heads * HEAD_SIZE
        tokens = 1 + height // patch * (rows // patch)
        proj = nn.Conv2d(channels, width, patch, stride=patch)
        self.patch_embed = nn.ModuleDict({"proj": proj})
        self.cls_token = nn.Parameter(torch.empty(width, 1))
        self.pos_embed = nn.Parameter(torch.empty(width, tokens))
        self.blocks = nn.Sequential(*(Block(width, (1 - survival) * i / (layers - 1))
                                      for i in range(layers)))
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.logits = nn.Linear(width, classes)
        for w in [self.cls_token, self.pos_embed] + [m.weight for m in self.blocks.modules()
                                                     if isinstance(m, nn.Linear)]:
            nn.init.trunc_normal_(w, std=DEVIATION, a=-2 * DEVIATION, b=2 * DEVIATION)
        nn.init.normal_(proj.weight, std=math.sqrt(1 / (channels * patch * patch)))
        nn.init.normal_(self.logits.weight, std=0.01)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.zeros_(module.bias)

    def forward(self, x):
        x = self.patch_embed["proj"](x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.T.expand(len(x), 1, -1), x), 1) + self.pos_embed.T
        return self.logits(self.norm(self.blocks(x))[:, 0])
