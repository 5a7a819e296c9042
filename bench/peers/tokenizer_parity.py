#!/usr/bin/env python3
"""Compares minipod's tokenizer with that of Hugging Face's `tokenizers` on text files and on hostile Unicode.

Each line of each file is tokenized by both: by `minipod data import text`, whose file is read with h5py, and by
BertNormalizer, BertPreTokenizer and WordPiece of `tokenizers`, uncased and cased. The hostile text, made here, has
each code point of Unicode alone, between letters, and before marks and punctuation; its vocabulary has all
characters, so that the ids tell the normalized text.

The original algorithm (google-research/bert) and the library differ in four kinds of text. minipod follows the
original. A line that differs must become equal to the library when these kinds are taken out of it, and must be
equal to the original algorithm, which is written down here, as it is (without what Python's tables lack):

  ext_e       U+2B820 to U+2B91F: the original splits them like other ideographs, the library does not
  other       private-use characters, which the library drops, and those that its tables, of Unicode 8.0, do not
              have: it knows no category of them
  changed     the six characters (CHANGED) whose category in Unicode is another since 8.0: likewise
  long        words of 101 to 200 characters: the library makes them [UNK]
  special     "[MASK]" and the like, written in a text: the library makes them special tokens

  tokenizer_parity.py --vocab bert-base-uncased-vocab.txt --cased-vocab bert-base-cased-vocab.txt books/*.md

Exit code 0: no other difference. 1: there are some; the first are printed. 2: wrong usage. 77: `tokenizers`,
h5py or perl is missing.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import unicodedata

try:
    import h5py
    import tokenizers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
except ImportError as e:
    print(f"SKIPPED: {e}")
    sys.exit(77)
if not shutil.which("perl"):
    print("SKIPPED: perl, which knows the version of each character, is not here")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MOST_SHOWN = 10
LINES_AT_ONCE = 4096
CODES_PER_LINE = 4
LIBRARY_CHARS, ORIGINAL_CHARS = 100, 200
CHANGED = "\u166d\u1734\u1885\u1886\ua9bd\U000111c9"
ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
CJK = ((0x4e00, 0x9fff), (0x3400, 0x4dbf), (0x20000, 0x2a6df), (0x2a700, 0x2b73f), (0x2b740, 0x2b81f),
       (0x2b820, 0x2ceaf), (0xf900, 0xfaff), (0x2f800, 0x2fa1f))


def minipod_ids(minipod, path, vocab, cased, folder):
    """The ids of each line of a file that has any."""
    out = os.path.join(folder, "set.h5")
    command = [minipod, "data", "import", "text", path, "-o", out, "--vocab", vocab, "--documents", "file",
               "--test-share", "0.0001", "--progress", "off", "--cased", "on" if cased else "off"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tokenizer_parity.py: {' '.join(command)}: {done.stderr}")
    with h5py.File(out) as f:
        values, offsets = f["train/tokens/values"][:].tolist(), f["train/tokens/offsets"][:].tolist()
    return [values[a:b] for a, b in zip(offsets, offsets[1:])]


def vocabulary(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return {token.rstrip("\n"): i for i, token in enumerate(f)}


def library(vocab, cased, most_chars, special):
    t = Tokenizer(models.WordPiece(vocabulary(vocab), unk_token="[UNK]", max_input_chars_per_word=most_chars))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=not cased,
                                              lowercase=not cased)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if special:
        t.add_special_tokens(SPECIAL)
    return t


def encode(t, lines):
    found = []
    for first in range(0, len(lines), LINES_AT_ONCE):  # an encoding holds much more than its ids
        found += [e.ids for e in t.encode_batch_fast(lines[first:first + LINES_AT_ONCE], add_special_tokens=False)]
    return found


class Kinds:
    """Takes the four kinds out of lines."""

    def __init__(self):
        known = "\n".join(f"{c:x}" for c in range(0x110000) if not 0xd800 <= c <= 0xdfff)
        script = r"chomp; print qq($_\n) if chr(hex) =~ /\p{Present_In: 8.0}/ and chr(hex) !~ /\p{Co}/"
        done = subprocess.run(["perl", "-ne", script], input=known, capture_output=True, text=True, check=True)
        known = {chr(int(c, 16)) for c in done.stdout.split()}
        self.other = {chr(c) for c in range(0x110000)} - known

    @staticmethod
    def is_ext_e(c):
        return "\U0002b820" <= c <= "\U0002b91f"

    def neutral(self, line):
        return "".join(f" {c} " if self.is_ext_e(c) else c for c in line if c not in self.other and c not in CHANGED)

    def of(self, line, cased):
        found = []
        if any(map(self.is_ext_e, line)):
            found.append("ext_e")
        if any(c in self.other for c in line):
            found.append("other")
        if any(c in CHANGED for c in line):
            found.append("changed")
        if any(len(word) > LIBRARY_CHARS for word in line.split()):
            found.append("long")
        if any(s in line for s in SPECIAL):
            found.append("special")
        return found


def original_words(line, cased):
    """BasicTokenizer of google-research/bert, but for the lower case of a last sigma."""
    text = ""
    for c in line:
        category = unicodedata.category(c)
        if c in "\t\n\r" or category == "Zs":
            text += " "
        elif c not in "\0\ufffd" and category not in ("Cc", "Cf"):
            is_cjk = any(a <= ord(c) <= b for a, b in CJK)
            text += f" {c} " if is_cjk else c
    words = []
    for word in text.split():
        if not cased:
            word = unicodedata.normalize("NFD", "".join(c.lower() for c in word))
            word = "".join(c for c in word if unicodedata.category(c) != "Mn")
        for c in word:
            if c in ASCII_PUNCTUATION or unicodedata.category(c).startswith("P"):
                words += [c, ""]
            elif words and not words[-1].startswith(" "):
                words[-1] += c
            else:
                words.append(c)
        words.append(" ")
    return [w for w in words if w.strip()]


def original(ids, line, cased):
    """WordpieceTokenizer of google-research/bert."""
    out = []
    for word in original_words(line, cased):
        start, pieces = 0, []
        while start < len(word) and pieces is not None and len(word) <= ORIGINAL_CHARS:
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in ids:
                    pieces.append(ids[piece])
                    start = end
                    break
            else:
                pieces = None
        out += pieces or [ids["[UNK]"]]
    return out


def hostile(folder):
    """Writes the text and the vocabulary; returns their paths."""
    text, vocab = os.path.join(folder, "hostile.txt"), os.path.join(folder, "characters.txt")
    codes = [c for c in range(0x110000) if not 0xd800 <= c <= 0xdfff and c != 0x0a]
    with open(text, "w", encoding="utf-8", newline="\n") as f:
        for c in map(chr, codes):
            f.write(f"{c} Ab{c}Cd .{c}\u0301e\u0323{c}" + ("\n" if ord(c) % CODES_PER_LINE == 0 else " "))
        for line in EXTRA:
            f.write(line + "\n")
    kept = [chr(c) for c in codes if unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs", "Cc", "Cf", "Zs", "Zl", "Zp")]
    with open(vocab, "w", encoding="utf-8", newline="\n") as f:
        for token in SPECIAL + kept + ["##" + c for c in kept]:
            f.write(token + "\n")
    return text, vocab


EXTRA = [
    "Kantō lǜshi – naïve café Ångström ÅNGSTRÖM ﬁne ǅungla İstanbul ΣΊΣΥΦΟΣ ŒUVRE",
    "漢字とかな 한국어 中文abc def中 𠀀𪜀𫝀𫠠𬺰 豈 丽",
    "a\u0000b\ufffdc\u200bd\u00ade\ufefff\u2028g\u2029h\u00a0i\u3000j\u0085k",
    "e\u0301\u0323\u0307 \u0344 \u1fee o\u0302\u0323 \u0f73\u0f71 \ud7a3 \u1100\u1161\u11a8 q\u0307\u0323",
    "\u302e\u0323a\u302f\u1b44\u302ea\u0315\u0300\u05ae\u0062",
    "don't stop-now... (yes) [no] {x} <y> a_b a^b `c` ~d $5 €6 £7 +8 =9 |10 «q» „r“ ¿s? ¡t!",
    "x" * 100, "x" * 101, "x" * 200, "x" * 201, "é" * 100, "é" * 101, "é" * 200, "é" * 201, "-" * 300,
    "[MASK] is [CLS][SEP] and [UNK] or [PAD]", "##ing # # ##", "[mask]",
    "👩‍👩‍👧‍👦 🏳️‍🌈 ☃️ 1️⃣ 🇩🇪", "ﷺ ㈱ ½ ² ⅷ ™ ℃ Ω K Å", "\u0600\u06dd١٢٣ שָׁלוֹם مَرْحَبًا",
    "नमस्ते ಕನ್ನಡ ไทย ພາສາລາວ မြန်မာ ᮘᮞ", "ß ẞ ſ ŉ ǰ ΐ և ᾀ ᾈ Ⅷ ⓐ Ⓐ",
]


def compare(name, got, want, lines, kinds, vocab, cased, minipod, folder):
    """Prints a row; returns the number of differences that no kind explains."""
    differing = [i for i, ids in enumerate(want) if got[i] != ids]
    counts = {}
    for i in differing:
        for kind in kinds.of(lines[i], cased):
            counts[kind] = counts.get(kind, 0) + 1
    bad = []
    if differing:
        neutral = [kinds.neutral(lines[i]) for i in differing]
        path = os.path.join(folder, "neutral.txt")
        ours = numbered(minipod, neutral, path, vocab, cased, folder)
        theirs = encode(library(vocab, cased, ORIGINAL_CHARS, False), neutral)
        for k, i in enumerate(differing):
            if ours[k] != theirs[k] or not kinds.of(lines[i], cased):
                bad.append((i, neutral[k], ours[k], theirs[k]))
        ids = vocabulary(vocab)
        lacked = ["".join(c for c in lines[i] if unicodedata.category(c) != "Cn") for i in differing]
        ours = numbered(minipod, lacked, path, vocab, cased, folder)
        for k, i in enumerate(differing):
            want = original(ids, lacked[k].replace("\n", " "), cased)
            if ours[k] != want:
                bad.append((i, "original: " + lacked[k], ours[k], want))
    explained = " ".join(f"{k} {n}" for k, n in sorted(counts.items())) or "-"
    print(f"{name:44s} {'cased' if cased else 'uncased':8s} {len(lines):8d} {len(differing):8d} {len(bad):8d}  {explained}")
    for i, line, ours, theirs in bad[:MOST_SHOWN]:
        print(f"  line {i + 1}: {ascii(line[:100])}\n    minipod {ours[:40]}\n    library {theirs[:40]}")
    return len(bad)


def numbered(minipod, lines, path, vocab, cased, folder):
    """The ids of each line; behind a "[" no line is without a word."""
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        for line in lines:
            f.write("[ " + line.replace("\n", " ") + "\n")
    return [row[1:] for row in minipod_ids(minipod, path, vocab, cased, folder)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--minipod", default=os.path.join(HERE, "../../build/release/bench/minipod"))
    p.add_argument("--vocab", required=True, help="uncased vocabulary")
    p.add_argument("--cased-vocab", help="cased vocabulary; without it only uncased")
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    kinds, bad = Kinds(), 0
    print(f"# tokenizers {tokenizers.__version__}; Python's Unicode {unicodedata.unidata_version}")
    print(f"# {'file':42s} {'case':8s} {'lines':>8s} {'differ':>8s} {'unknown':>8s}  kinds")
    with tempfile.TemporaryDirectory() as folder:
        text, characters = hostile(folder)
        for cased, vocab in ((False, a.vocab), (True, a.cased_vocab)):
            for path in a.files + [text] if vocab else []:
                used = characters if path == text else vocab
                with open(path, encoding="utf-8", errors="ignore", newline="\n") as f:
                    lines = f.read().split("\n")
                ours = numbered(a.minipod, lines, os.path.join(folder, "lines.txt"), used, cased, folder)
                theirs = encode(library(used, cased, LIBRARY_CHARS, True), lines)
                bad += compare(os.path.basename(path), ours, theirs, lines, kinds, used, cased, a.minipod, folder)
    print(f"# differences that no kind explains: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
