"""The CSV: a row for each run that has ended."""
import csv
import fcntl
import io
import math
import os
import re

class BadInput(Exception):
    """Exit 2."""


class Failure(Exception):
    """Exit 1."""


def text(cell):
    if not cell:
        raise ValueError("is empty")
    return cell


def whole(cell):
    if not re.fullmatch(r"[1-9][0-9]{0,14}", cell):
        raise ValueError(f"'{cell}' is no whole number from 1 on")
    return int(cell)


def real(cell):
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"'{cell}' is no number from 0 on")
    return value


def maybe(cell):  # what a run did not reach
    return real(cell) if cell else None


def outcome(cell):
    if cell not in ("finished", "diverged"):
        raise ValueError(f"'{cell}' is neither finished nor diverged")
    return cell


COLUMNS = {"model": text, "data": text, "mesh": text, "ranks": whole, "batch": whole,
           "optimizer": text, "recipe": text, "lr": real, "warmup": real, "epochs": real,
           "options": str, "seed": whole,  # so far the key
           "accumulate": whole, "outcome": outcome, "peak_accuracy": maybe, "epochs_to_peak": maybe,
           "target": real, "epochs_to_target": maybe, "time_to_target_s": maybe,
           "time_to_peak_s": maybe, "samples_per_s": maybe, "clock": text, "git": text,
           "machine": text}
N_KEYS = list(COLUMNS).index("seed") + 1


def key_of(row):
    """As Run.key; the first columns are in its order."""
    return tuple(f"{v:.6g}" if isinstance(v, float) else v for v in list(row.values())[:N_KEYS])


def read_line(path, number, cells):
    if len(cells) != len(COLUMNS):
        raise BadInput(f"{path}: line {number}: {len(cells)} cells, need {len(COLUMNS)}")
    row = {}
    for (name, parse), cell in zip(COLUMNS.items(), cells):
        try:
            row[name] = parse(cell)
        except ValueError as e:
            raise BadInput(f"{path}: line {number}: {name} {e}") from None
    return row


def read_rows(path):
    """By key. A file that is not there has none."""
    rows = {}
    if not os.path.exists(path):
        return rows
    if not os.path.isfile(path):
        raise BadInput(f"{path}: is no file to keep rows in")
    try:
        with open(path, encoding="utf-8", newline="") as f:
            lines = list(csv.reader(f, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise BadInput(f"{path}: cannot be read: {getattr(e, 'strerror', e)}") from None
    if not lines or lines[0] != list(COLUMNS):
        raise BadInput(f"{path}: line 1 is not the header of a large-batch study")
    for number, cells in enumerate(lines[1:], 2):
        row = read_line(path, number, cells)
        if key_of(row) in rows:
            raise BadInput(f"{path}: line {number}: {row['model']}, batch {row['batch']}, "
                           f"{row['optimizer']}, seed {row['seed']} is there twice")
        rows[key_of(row)] = row
    return rows


def cell(value):
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def write_rows(path, rows):
    """All or nothing: whoever is killed meanwhile leaves the file as it was."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([cell(v) for v in row.values()] for row in rows.values())
    part = path + ".minipod-part"
    with open(part, "w", encoding="utf-8") as f:
        f.write(out.getvalue())
        f.flush()
        os.fsync(f.fileno())
    os.replace(part, path)


def add_row(path, key, row):
    """Studies that share the file take turns."""
    turn = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        write_rows(path, {**read_rows(path), key: row})
    finally:
        os.close(turn)
