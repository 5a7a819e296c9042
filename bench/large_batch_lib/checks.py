"""What can be refused before the first run: nobody waits hours for it."""
import errno
import math
import os
import re
import shutil
import tempfile

from .recipes import MODELS
from .rows import BadInput
from .runs import call, call_train, micro_steps, own_words

# Which option of the study says what an option of minipod train would. The others that the study
# passes are its recipes', or belong to how it keeps its runs.
SAID_BY = {"model": "--models", "data": "--data", "batch": "--batches",
           "optimizer": "--optimizers", "epochs": "--epochs", "steps": "--epochs",
           "seed": "--seeds", "mesh": "--mesh", "accumulate": "--memory", "target": "--target",
           "out": "--csv", "resume": "--csv", "csv": "--csv"}
ENDS_AT_ONCE = ("help", "version")
LETTERS = {"-h": "help"}


def option_of(word):
    """The name of the option that a word of a command line is, however it is spelled, or ""."""
    if word.startswith("--"):
        return word[2:].split("=", 1)[0].replace("_", "-")
    return LETTERS.get(word, "")


def check_rest(args, runs):
    """Options that the study sets itself would make rows that lie."""
    own = {}
    for run in runs:
        for word in own_words(args, run, 1, "", run.epochs):
            own.setdefault(option_of(word), run)
    for word in args.rest:
        name = option_of(word)
        if name in SAID_BY:
            raise BadInput(f"--{name} behind --: is the study's own, {SAID_BY[name]} says it")
        if name and name in own:
            run = own[name]
            raise BadInput(f"--{name} behind --: is the study's own, as it trains {run.model} with "
                           f"{run.optimizer}")
        if name in ENDS_AT_ONCE:
            raise BadInput(f"--{name} behind --: trains nothing")


def check_programs(args):
    for name, program in ("argument --minipod", args.minipod), ("ranks", "mpirun"):
        if not shutil.which(program):
            raise BadInput(f"{name}: there is no program '{program}'")


def check_result(path):
    """As minipod's --csv: nothing makes a folder on the way."""
    try:
        folder = os.path.dirname(path) or "."
        os.stat(os.path.join(folder, ""))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as e:
        raise BadInput(f"{path}: cannot write: {e.strerror}") from None


def samples_to_train(args):
    """Infinity for a text, whose samples depend on their length: train refuses a batch beyond them."""
    code, output = call([args.minipod, "data", "info", args.data])
    if code == 0 and re.search(r"^kind +text$", output, re.MULTILINE):
        return math.inf
    found = re.search(r"^train +([0-9]+)$", output, re.MULTILINE)
    if code != 0 or not found:
        raise BadInput(f"argument --data: {output.strip()}")
    return int(found.group(1))


def check_length(args, run, n_train):
    """As pod_setup_schedule."""
    if n_train == math.inf:
        return
    if run.batch > n_train:
        raise BadInput(f"argument --batches: {run.batch} is more than the {n_train} training "
                       f"samples of {args.data}")
    steps = n_train // run.batch
    if math.floor(run.epochs * steps + 0.5) < 1:
        raise BadInput(f"argument --epochs: {run.epochs:g} epochs of {steps} steps, at a batch of "
                       f"{run.batch}, are no step")


NO_STEP = re.compile("^minipod train: epochs: 0 epochs of [0-9]+ steps are no step$", re.MULTILINE)


def check_words(args, run):
    """Asks train for no epochs at all, which it finds out when all options have been good."""
    with tempfile.TemporaryDirectory(prefix="large-batch-", dir=os.path.dirname(args.csv) or ".") \
            as folder:
        code, output = call_train(args, run, micro_steps(args, run),
                                  os.path.join(folder, "run"), 0)
    if NO_STEP.search(output):
        return
    said = re.search("^minipod train: (.*)$", output, re.MULTILINE)
    why = said.group(1) if said else output.strip() or f"exit {code}"
    raise BadInput(f"behind --: {run.model} with {run.optimizer}: minipod train: {why}")


def check_runs(args, runs):
    if not runs:
        return
    check_programs(args)
    n_train = samples_to_train(args)
    for run in runs:
        check_length(args, run, n_train)
    for run in runs:
        micro_steps(args, run)  # says so where the memory is too little
    if args.rest:
        for run in {(run.model, run.optimizer): run for run in runs}.values():
            check_words(args, run)


def recipes_for(model):
    return f"{model} has recipes for {', '.join(MODELS[model]['optimizers'])}"


def check_recipes(models, optimizers, asked):
    """Each model and each optimizer that is asked for trains something."""
    for name in asked.get("optimizer", ()):
        if not any(name in MODELS[model]["optimizers"] for model in models):
            raise BadInput(f"argument --optimizers: {name}: {'; '.join(map(recipes_for, models))}")
    for model in asked.get("model", ()):
        if not any(name in MODELS[model]["optimizers"] for name in optimizers):
            raise BadInput(f"argument --optimizers: {','.join(optimizers)}: {recipes_for(model)}")
