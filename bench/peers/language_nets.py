"""The language models of minipod in plain modules of PyTorch, with the names of minipod's scopes, written
after google-research/bert, modeling.py; tensorflow/models, official/transformer; openai/gpt-2, model.py.
Without dropout. For language_parity.py.

A network is made from the shapes of its weights. It has loss(batch, smoothing), which gives by name what
a training step of minipod reports for the batch, the sum that is minimized first; and untrained(shapes),
the loss to be expected of random weights and how near it is, or None.
"""
import math
import sys

sys.dont_write_bytecode = True  # of what is imported from this folder
from torch_parity import F, nn, torch

HEAD_SIZE = 64     # of every published BERT and Transformer, and of gpt-mini

# By the type of a module what minipod appends to its scope to name its parameters.
SUFFIXES = {nn.Linear: {"weight": "/kernel", "bias": "/bias"}, nn.Embedding: {"weight": ""},
            nn.LayerNorm: {"weight": "/gamma", "bias": "/beta"}}


def names_of(model):
    """By minipod's name of a weight: the parameter, and whether its layout is the other way round."""
    found = {}
    for path, module in model.named_modules():
        scope = path.replace(".", "/")
        for name, w in module.named_parameters(recurse=False):
            end = SUFFIXES.get(type(module), {}).get(name, f"/{name}")
            found[(scope + end).lstrip("/")] = (w, end == "/kernel")
    return found


def count_layers(shapes, pattern):
    return sum(name.endswith(pattern) for name in shapes)


def attend(q, k, v, mask):
    """Heads of q (N, Sq, H) attend to k and v (N, Sk, H); mask is added to the scores."""
    q, k, v = (x.unflatten(2, (-1, HEAD_SIZE)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(HEAD_SIZE) + mask
    return (scores.softmax(3) @ v).transpose(1, 2).flatten(2)


def mask_of_lengths(lengths, tokens, dtype):
    """(N, 1, 1, S): minus a large number at the keys that are padding."""
    is_key = torch.arange(tokens) < lengths[:, None]
    return (1 - is_key.to(dtype))[:, None, None] * -10000


def mask_of_later(tokens, dtype):
    return torch.full((tokens, tokens), -10000, dtype=dtype).triu(1)


def cross_entropy(logits, batch, smoothing):
    """The weighted sum over rows, and that of right answers. Smoothing gives smoothing / (V - 1) to each
    other token; the entropy of this target is subtracted."""
    n_tokens, weights = logits.shape[-1], batch["weights"]
    log_p = logits.log_softmax(-1)
    right = log_p.gather(-1, batch["answers"][..., None])[..., 0]
    other = smoothing / (n_tokens - 1)
    loss = -(1 - smoothing) * right - other * (log_p.sum(-1) - right)
    if smoothing > 0:
        loss = loss + (1 - smoothing) * math.log(1 - smoothing) + smoothing * math.log(other)
    correct = (logits.argmax(-1) == batch["answers"]).to(weights.dtype)
    return (loss * weights).sum(), (correct * weights).sum()

# ---- BERT ----------------------------------------------------------------------------------------


def residual(inputs, width, eps):
    return nn.ModuleDict({"dense": nn.Linear(inputs, width),
                          "LayerNorm": nn.LayerNorm(width, eps=eps)})


class BertEmbeddings(nn.Module):
    def __init__(self, tokens, positions, width, eps):
        super().__init__()
        self.word_embeddings = nn.Embedding(tokens, width)
        self.token_type_embeddings = nn.Embedding(2, width)
        self.position_embeddings = nn.Embedding(positions, width)
        self.LayerNorm = nn.LayerNorm(width, eps=eps)

    def forward(self, ids, segments):
        places = torch.arange(ids.shape[1])
        return self.LayerNorm(self.word_embeddings(ids) + self.token_type_embeddings(segments)
                              + self.position_embeddings(places))


class BertLayer(nn.Module):
    def __init__(self, width, inner, eps):
        super().__init__()
        part = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        self.attention = nn.ModuleDict({"self": nn.ModuleDict(part),
                                        "output": residual(width, width, eps)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = residual(inner, width, eps)

    def forward(self, x, mask):
        q, k, v = (self.attention["self"][name](x) for name in ("query", "key", "value"))
        x = self.add(self.attention["output"], attend(q, k, v, mask), x)
        y = F.gelu(self.intermediate["dense"](x), approximate="tanh")
        return self.add(self.output, y, x)

    @staticmethod
    def add(part, y, x):
        return part["LayerNorm"](part["dense"](y) + x)


class BertPredictions(nn.Module):
    def __init__(self, tokens, width, eps):
        super().__init__()
        self.transform = residual(width, width, eps)
        self.output_bias = nn.Parameter(torch.zeros(tokens))

    def forward(self, x, table):
        x = F.gelu(self.transform["dense"](x), approximate="tanh")
        return self.transform["LayerNorm"](x) @ table.T + self.output_bias


class Bert(nn.Module):
    EPSILON = 1e-12
    LOGIT = 0.0176  # times sqrt(H): standard deviation of an untrained logit

    def __init__(self, shapes):
        super().__init__()
        tokens, width = shapes["bert/embeddings/word_embeddings"]
        positions = shapes["bert/embeddings/position_embeddings"][0]
        inner = shapes["bert/encoder/layer_0/intermediate/dense/bias"][0]
        layers = {f"layer_{i}": BertLayer(width, inner, self.EPSILON)
                  for i in range(count_layers(shapes, "/intermediate/dense/bias"))}
        embeddings = BertEmbeddings(tokens, positions, width, self.EPSILON)
        self.bert = nn.ModuleDict({"embeddings": embeddings, "encoder": nn.ModuleDict(layers),
                                   "pooler": nn.ModuleDict({"dense": nn.Linear(width, width)})})
        self.cls = nn.ModuleDict({"predictions": BertPredictions(tokens, width, self.EPSILON),
                                  "seq_relationship": nn.Linear(width, 2)})

    def logits(self, batch):
        """Of the masked tokens (N, M, V), and of the next sentence (N, 2)."""
        x = self.bert["embeddings"](batch["ids"], batch["segments"])
        mask = mask_of_lengths(batch["lengths"], x.shape[1], x.dtype)
        for layer in self.bert["encoder"].values():
            x = layer(x, mask)
        pooled = torch.tanh(self.bert["pooler"]["dense"](x[:, 0]))
        masked = x[torch.arange(len(x))[:, None], batch["positions"]]
        table = self.bert["embeddings"].word_embeddings.weight
        return self.cls["predictions"](masked, table), self.cls["seq_relationship"](pooled)

    def loss(self, batch, smoothing):
        logits, following = self.logits(batch)
        masked, right = cross_entropy(logits, batch, smoothing)
        weight = batch["weights"].sum()
        masked = masked / (weight + 1e-5)
        next_loss = F.cross_entropy(following, batch["next"])
        right_next = (following.argmax(1) == batch["next"]).double().mean()
        return {"loss": masked + next_loss, "masked-LM loss": masked,
                "next-sentence loss": next_loss, "masked_accuracy": right / weight,
                "next_accuracy": right_next}

    @classmethod
    def untrained(cls, shapes):
        tokens, width = shapes["bert/embeddings/word_embeddings"]
        return (math.log(tokens) + cls.LOGIT ** 2 / 2 * width + math.log(2),
                cls.LOGIT * math.sqrt(width))

# ---- networks whose layer norm comes first -------------------------------------------------------


def predicted(logits, batch, smoothing):
    loss, right = cross_entropy(logits, batch, smoothing)
    weight = batch["weights"].sum()
    return {"loss": loss / weight, "token_accuracy": right / weight}


class Attention(nn.ModuleDict):
    """Of the Transformer: the layer norm in front, projections without bias."""

    def __init__(self, width, eps):
        parts = {name: nn.Linear(width, width, bias=False)
                 for name in ("query", "key", "value", "output")}
        super().__init__({"LayerNorm": nn.LayerNorm(width, eps=eps), **parts})

    def forward(self, x, mask, seen=None):
        y = self["LayerNorm"](x)
        seen = y if seen is None else seen
        y = attend(self["query"](y), self["key"](seen), self["value"](seen), mask)
        return x + self["output"](y)


class FeedForward(nn.ModuleDict):
    def __init__(self, width, inner, eps):
        super().__init__({"LayerNorm": nn.LayerNorm(width, eps=eps),
                          "filter": nn.Linear(width, inner), "output": nn.Linear(inner, width)})

    def forward(self, x):
        return x + self["output"](F.relu(self["filter"](self["LayerNorm"](x))))


class Transformer(nn.Module):
    EPSILON = 1e-6

    def __init__(self, shapes):
        super().__init__()
        tokens, self.width = shapes["embeddings/shared"]
        inner = shapes["encoder/layer_0/feed_forward/filter/bias"][0]
        n_layers = count_layers(shapes, "/source_attention/query/kernel")
        self.embeddings = nn.ModuleDict({"shared": nn.Embedding(tokens, self.width)})
        self.encoder = self.stack(n_layers, inner, ("self_attention",))
        self.decoder = self.stack(n_layers, inner, ("self_attention", "source_attention"))

    def stack(self, n_layers, inner, attentions):
        def layer():
            parts = {name: Attention(self.width, self.EPSILON) for name in attentions}
            return nn.ModuleDict({**parts,
                                  "feed_forward": FeedForward(self.width, inner, self.EPSILON)})
        return nn.ModuleDict({**{f"layer_{i}": layer() for i in range(n_layers)},
                              "LayerNorm": nn.LayerNorm(self.width, eps=self.EPSILON)})

    def embed(self, ids):
        half = self.width // 2
        table = self.embeddings["shared"].weight
        rows = F.embedding(ids.clamp(min=0), table) * (ids >= 0)[..., None]
        rates = torch.exp(torch.arange(half, dtype=torch.float64) * -math.log(1e4) / (half - 1))
        angles = torch.arange(ids.shape[1])[:, None] * rates
        return rows * math.sqrt(self.width) + torch.cat((angles.sin(), angles.cos()), 1).to(rows)

    def logits(self, batch):
        x, y = self.embed(batch["source"]), self.embed(batch["target"])
        padding = mask_of_lengths(batch["source_lengths"], x.shape[1], x.dtype)
        later = mask_of_later(y.shape[1], x.dtype)
        *layers, norm = self.encoder.values()
        for layer in layers:
            x = layer["feed_forward"](layer["self_attention"](x, padding))
        x = norm(x)
        *layers, norm = self.decoder.values()
        for layer in layers:
            y = layer["source_attention"](layer["self_attention"](y, later), padding, x)
            y = layer["feed_forward"](y)
        return norm(y) @ self.embeddings["shared"].weight.T

    def loss(self, batch, smoothing):
        return predicted(self.logits(batch), batch, smoothing)

    @staticmethod
    def untrained(_shapes):
        """A random decoder expects the token that it reads, by far."""
        return None


class GptLayer(nn.Module):
    def __init__(self, width, inner, eps):
        super().__init__()
        parts = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps=eps), nn.LayerNorm(width, eps=eps)
        self.attn = nn.ModuleDict({"c_attn": nn.ModuleDict(parts),
                                   "c_proj": nn.Linear(width, width)})
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, inner),
                                  "c_proj": nn.Linear(inner, width)})

    def forward(self, x, mask):
        y = self.ln_1(x)
        q, k, v = (self.attn["c_attn"][name](y) for name in ("query", "key", "value"))
        x = x + self.attn["c_proj"](attend(q, k, v, mask))
        y = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + self.mlp["c_proj"](y)


class Gpt(nn.Module):
    EPSILON, DEVIATION = 1e-5, 0.02

    def __init__(self, shapes):
        super().__init__()
        tokens, width = shapes["wte"]
        inner = shapes["h0/mlp/c_fc/bias"][0]
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(shapes["wpe"][0], width)
        self.n_layers = count_layers(shapes, "/mlp/c_fc/bias")
        for i in range(self.n_layers):
            self.add_module(f"h{i}", GptLayer(width, inner, self.EPSILON))
        self.ln_f = nn.LayerNorm(width, eps=self.EPSILON)

    def loss(self, batch, smoothing):
        ids = batch["ids"]
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        mask = mask_of_later(ids.shape[1], x.dtype)
        for i in range(self.n_layers):
            x = self.get_submodule(f"h{i}")(x, mask)
        return predicted(self.ln_f(x) @ self.wte.weight.T, batch, smoothing)

    @classmethod
    def untrained(cls, shapes):
        tokens, width = shapes["wte"]
        return (math.log(tokens) + cls.DEVIATION ** 2 / 2 * width,
                cls.DEVIATION * math.sqrt(width) + math.exp(cls.DEVIATION * width) / tokens)


NETS = {"bert": Bert, "transformer": Transformer, "gpt": Gpt}  # by the first word of a model's name
