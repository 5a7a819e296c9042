#!/usr/bin/env python3
"""Compares minipod's BLEU with sacrebleu's on sentences that are wrong in ways of a translation model.

References are a column of TSV files; hypotheses are made of them: words dropped, doubled, swapped, replaced, changed
in case or joined to marks. Texts that 13a treats specially (numbers before a full stop, entities, hyphens, marks of
Unicode) are mixed in. Scores must agree to 0.01, cased and lower case, for the whole and for parts of 1, 10 and 100
sentences. minipod's second tokenization has its peer in tensor2tensor; here it is compared with its five lines.

  bleu_parity.py --bleu build/dev/tests/bleu_score tatoeba-en-de/test.tsv

Exit code 0: equal. 1: different. 2: wrong usage. 77: sacrebleu is missing.
"""
import argparse
import collections
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata

try:
    import sacrebleu
except ImportError as e:
    print(f"SKIPPED: {e}")
    sys.exit(77)

SPECIAL = ["It was 1990.", "In 3.14, or 1,000; 5-6 (7)!", "&quot;Yes&quot; &amp;lt; &lt;b&gt; <skipped>x", "well-known 3-fold a.b,c",
           "„Gut“, sagte er – 5 € … ½", "U.S. e.g. 10:30", "...", "a", "", "$5 +7 =8 ~x ^y `z`", "don't 'quote' (a)[b]{c}",
           "3. und 4, 5", "١٢.٣ ،", "x\u00a0y\u2009z", "1.,2", "-5 - 6-7 8--9"]
BOUND = 0.01


def spoil(line, rng):
    words = line.split(" ")
    for _ in range(rng.randrange(4)):
        i = rng.randrange(len(words))
        change = rng.randrange(6)
        if change == 0 and len(words) > 1:
            del words[i]
        elif change == 1:
            words.insert(i, words[i])
        elif change == 2:
            words[i], words[0] = words[0], words[i]
        elif change == 3:
            words[i] = rng.choice(["Tom", "the", "3.", "is,", "nicht"])
        elif change == 4:
            words[i] = words[i].swapcase()
        else:
            words[i] += rng.choice([".", ",", "-", "!", "%"])
    return " ".join(words)


def minipod(program, hypotheses, references, tokens, case):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("h", "r")]
        for path, lines in zip(paths, (hypotheses, references)):
            with open(path, "w", encoding="utf-8", newline="\n") as f:
                f.writelines(line + "\n" for line in lines)
        done = subprocess.run([program, *paths, tokens, case], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


P = "".join(re.escape(c) for c in map(chr, range(sys.maxunicode)) if unicodedata.category(c).startswith("P"))
S = "".join(re.escape(c) for c in map(chr, range(sys.maxunicode)) if unicodedata.category(c).startswith("S"))


def t2t_words(line):
    line = re.sub(f"([^\\d])([{P}])", r"\1 \2 ", line)
    line = re.sub(f"([{P}])([^\\d])", r" \1 \2", line)
    return re.sub(f"([{S}])", r" \1 ", line).split()


def t2t(hypotheses, references):
    matches, possible, lengths = [0] * 4, [0] * 4, [0, 0]
    for h, r in zip(map(t2t_words, hypotheses), map(t2t_words, references)):
        lengths[0] += len(h)
        lengths[1] += len(r)
        for n in range(4):
            grams = [collections.Counter(tuple(x[i:i + n + 1]) for i in range(len(x) - n)) for x in (h, r)]
            matches[n] += sum((grams[0] & grams[1]).values())
            possible[n] += sum(grams[0].values())
    if not matches[0] or not all(possible):
        return 0.0
    smooth, logs = 1, 0.0
    for m, p in zip(matches, possible):
        smooth *= 1 if m else 2
        logs += math.log(m / p if m else 1 / (smooth * p))
    return 100 * math.exp(logs / 4) * min(1, math.exp(1 - lengths[1] / lengths[0]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bleu", required=True, help="the program bleu_score of the tests")
    p.add_argument("--column", type=int, default=2)
    p.add_argument("--pairs", type=int, default=2000)
    p.add_argument("files", nargs="+")
    a = p.parse_args()
    rng, references = random.Random(1), []
    for path in a.files:
        with open(path, encoding="utf-8", newline="\n") as f:
            references += [line.rstrip("\n").split("\t")[a.column - 1] for line in f]
    references = (references + SPECIAL * 3)[-a.pairs:]
    rng.shuffle(references)
    hypotheses = [spoil(line, rng) for line in references]
    worst, n = 0.0, 0
    print(f"# sacrebleu {sacrebleu.__version__}, {len(references)} pairs")
    print("# tokens case   sentences  from  minipod     peer")
    for size in (len(references), 100, 10, 1):
        for first in range(0, len(references) - size + 1, max(size, len(references) // 100)):
            h, r = hypotheses[first:first + size], references[first:first + size]
            for case in ("mixed", "lc"):
                want = sacrebleu.corpus_bleu(h, [r], lowercase=case == "lc", force=True).score
                got = minipod(a.bleu, h, r, "13a", case)
                worst, n = max(worst, abs(got - want)), n + 1
                if size == len(references) or abs(got - want) > BOUND:
                    print(f"  13a    {case:6s} {size:9d} {first:5d} {got:8.4f} {want:8.4f}")
            want, got = t2t(h, r), minipod(a.bleu, h, r, "t2t", "mixed")
            worst, n = max(worst, abs(got - want)), n + 1
            if size == len(references) or abs(got - want) > BOUND:
                print(f"  t2t    mixed  {size:9d} {first:5d} {got:8.4f} {want:8.4f}")
    print(f"# {n} scores, the largest difference {worst:.6f}")
    return 1 if worst > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
