"""Runs: ranks, their folder, and the row they come to."""
import contextlib
import ctypes
import fcntl
import functools
import json
import math
import os
import re
import shutil
import signal
import subprocess

from .recipes import CHECKPOINT_SAMPLES, MODELS
from .rows import COLUMNS, BadInput, Failure, add_row, cell, read_rows

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
               "OMPI_MCA_mpi_yield_when_idle": "1"}
GO = signal.SIGUSR1  # mpirun passes it on, and train saves and ends
SAVING_S = 60        # that ranks have for that
USAGE = 2            # minipod's exit code
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


def go_with(parent):
    """In a child: it is told to go when its parent is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, GO, 0, 0, 0)
    if os.getppid() != parent:  # was killed before
        os.kill(os.getpid(), GO)


def environment():
    """What runs see of it: rows do not tell apart what a variable makes different. MINIPOD_MAX_ISA
    makes runs slower alone."""
    ours = {name: text for name, text in os.environ.items()
            if not name.startswith("MINIPOD_") or name == "MINIPOD_MAX_ISA"}
    return {**ours, **ENVIRONMENT}


def call(words, keep=()):
    """Exit code and output. When we are told to go, or killed, ranks save what they have. A child
    has the files to keep, too."""
    with subprocess.Popen(words, env=environment(), text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=keep,
                          preexec_fn=functools.partial(go_with, os.getpid())) as child:
        try:
            output = child.communicate()[0]
        except BaseException:
            child.send_signal(GO)
            try:
                child.communicate(timeout=SAVING_S)
            except subprocess.TimeoutExpired:
                child.terminate()
            raise
    return child.returncode, output


@functools.cache
def most_samples(minipod, model, data, mesh, ranks, optimizer, memory):
    """What a core can take at once of a batch."""
    code, output = call([minipod, "explain", "memory", "--model", model, "--data", data, "--mesh",
                         mesh, "--batch", str(ranks), "--optimizer", optimizer, "--memory",
                         f"{math.ceil(memory * 2**20)}K", *MODELS[model]["shape"].split()])
    fits = re.search(r"^largest batch in .* \(([0-9]+) a core\)", output, re.MULTILINE)
    if code != 0 or not fits:
        raise BadInput(f"{model} on {data} within {memory:.3g} GiB a core: {output.strip()}")
    return int(fits.group(1))


def micro_steps(args, run):
    """So many that a core's share of the batch fits its part of the memory, whichever optimizer it
    is: batch norm's statistics are of a micro-step."""
    share = run.batch // args.ranks
    most = min(most_samples(args.minipod, run.model, args.data, run.mesh, args.ranks, optimizer,
                            args.memory) for optimizer in MODELS[run.model]["optimizers"])
    most = min(most, MODELS[run.model]["most"])
    return next(n for n in range(1, share + 1) if share % n == 0 and share // n <= most)


def row_of(args, run, accumulate, record):
    metric = record["metric"]
    first = next((e for e in record["evaluations"] if e[metric] >= args.target), None)
    is_whole = record["attempts"] == 1  # else its clock has run on between them
    values = run.key() + (
        accumulate, "diverged" if record["status"] == "E_NUMERIC" else "finished",
        record[f"best_eval_{metric}"], record["epochs_to_peak"], args.target,
        first and first["epochs"], first["time_s"] if first and is_whole else None,
        record["time_to_peak_s"] if is_whole else None,
        record["samples_per_s"], record["clock"], record["git"],
        record["host"]["cpu_model"] or "unknown")
    return {name: parse(cell(value)) for (name, parse), value in zip(COLUMNS.items(), values)}


class Held(Exception):
    """Another study does this run."""


@contextlib.contextmanager
def run_folder(args, run, accumulate):
    """Where the run keeps its checkpoints, for one study at a time, and the lock that says so. The
    job gets it, too: ranks of a study that was killed are still saving."""
    path = run.folder(args, accumulate)
    while True:
        os.makedirs(path, exist_ok=True)
        lock = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise Held from None
        if os.path.exists(path) and os.path.samestat(os.fstat(lock), os.stat(path)):
            break
        os.close(lock)  # it went before we had it
    try:
        yield path, lock
    finally:
        os.close(lock)


def drop(folder):
    """When the run is done; with the last one goes what is around it."""
    shutil.rmtree(folder)
    with contextlib.suppress(OSError):  # others are in it
        os.rmdir(os.path.dirname(folder))


def record_of(folder):
    """What the run in it came to; None when it has not ended."""
    path = os.path.join(folder, "run.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        record = json.load(f)
    ended = record["status"] == "E_NUMERIC" or (record["status"] == "OK" and not record["stopped"])
    return record if ended else None


def own_words(args, run, accumulate, folder, epochs):
    """What the study itself says of a run."""
    every = max(1, CHECKPOINT_SAMPLES // run.batch)
    return ["--data", args.data, "--accumulate", str(accumulate), "--out", folder, "--resume",
            "auto", "--checkpoint-every", str(every), *run.words(epochs)]


def call_train(args, run, accumulate, folder, epochs, keep=()):
    return call(["mpirun", "-n", str(args.ranks), "--bind-to", "none", args.minipod, "train",
                 *own_words(args, run, accumulate, folder, epochs), *run.rest], keep)


def train(args, run, accumulate, folder, lock):
    """The run's record. A loss that is not finite is a result. Failures are of this run; what train
    refuses without having begun or found a checkpoint it would refuse of the others, too."""
    record = record_of(folder)
    if record is not None:
        return record
    code, output = call_train(args, run, accumulate, folder, run.epochs, [lock])
    record = record_of(folder)
    if record is None or (code != 0 and record["status"] != "E_NUMERIC"):
        began = os.path.exists(os.path.join(folder, "checkpoint"))
        if not began:
            drop(folder)
        why = output.strip() if code != 0 else "it was stopped"
        kind = BadInput if code == USAGE and not began else Failure
        raise kind(f"{run.name()}: exit {code}: {why}")
    return record


def do_run(args, run):
    """Its row goes to the CSV before its folder goes."""
    accumulate = micro_steps(args, run)
    with run_folder(args, run, accumulate) as (folder, lock):
        if run.key() not in read_rows(args.csv):  # another study may have added to it
            row = row_of(args, run, accumulate, train(args, run, accumulate, folder, lock))
            add_row(args.csv, run.key(), row)
        drop(folder)
    return read_rows(args.csv)
