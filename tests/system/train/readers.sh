#!/usr/bin/env bash
# readers.sh MINIPOD MLLOG_CHECK: what a run leaves can be read by others (h5ls, h5dump, any JSON or CSV
# reader, h5py), and the same training gives the same weights: twice, resumed, and from a file.
mllog_check=$(realpath "$2")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
set_of=glyphs:8x8x1:96+40
run=(--model resnet8 --batch 24 --augment crop+flip --crop-pad 1 --label-smoothing 0.1 --lr 0.02
    --lr-schedule constant --momentum 0.9 --progress off --quiet)

# trains NAME RANKS WORD...: into NAME/
trains() {
    local name=$1 ranks=$2
    shift 2
    timeout 120 mpirun -n "$ranks" --bind-to none "$minipod" train "${run[@]}" --out "$name" "$@" \
        >"$name.out" 2>"$name.err" || fail "$name: $(cat "$name.err" "$name.out")"
}

json_value() { grep -o "\"$2\": [^,]*" "$1" | head -n 1 | sed 's/^[^:]*: //'; }
hash_of() { json_value "$1/run.json" weights_hash; }
same_hash() {
    case $(hash_of "$2") in
    '""' | '' | null) fail "$2 has no hash" ;;
    "$(hash_of "$1")") ;;
    *) fail "weights of $1: $(hash_of "$1"), of $2: $(hash_of "$2")" ;;
    esac
}

# ---- the same weights ------------------------------------------------------------------------

"$minipod" data make $set_of -o set.h5 --json set.json >info || fail "data make: $(cat info)"
trains straight 4 --data $set_of --mesh 2x2 --steps 8 --trace --profile --csv run.csv --json run.json
grep -q "backward *conv2d_dw .*GFLOP/s\|backward  *conv2d_dw " straight.out || fail "no profile: $(cat straight.out)"
mkdir again && cp straight/timeline.json again # an older run's
trains again 4 --data $set_of --mesh 2x2 --steps 8
[ -e again/timeline.json ] && fail "an older run's timeline.json stands beside the new records"
trains from_file 4 --data set.h5 --mesh 2x2 --steps 8 --data-cache 0
trains half 4 --data $set_of --mesh 2x2 --steps 5
trains resumed 4 --data $set_of --mesh 2x2 --steps 8 --resume half
cp -r half going_on # the same job, in its own folder
trains going_on 4 --data $set_of --mesh 2x2 --steps 8 --resume auto
for name in again from_file resumed going_on; do same_hash straight $name; done
if [ "$(hash_of half)" = "$(hash_of straight)" ]; then fail "three more steps changed no weight"; fi
diff straight/run.json run.json || fail "--json differs from run.json"
for name in straight resumed going_on; do
    "$mllog_check" $name/mllog.txt || fail "$name: the log does not pass"
done
find . -name '*part' | grep . && fail "files are left half"

# ---- the accuracy again ----------------------------------------------------------------------

want=$(json_value straight/run.json eval_accuracy)
eval=(eval --model resnet8 --batch 24 --data set.h5 --resume straight --progress off)
"$minipod" "${eval[@]}" --json eval1.json --csv eval1.csv --predictions 1.csv >out 2>&1 || fail "eval: $(cat out)"
on_ranks 3 "${eval[@]}" --batch 25 --predictions 25.csv >out 2>&1 || fail "eval of 25 on 3 ranks: $(cat out)"
on_ranks 3 "${eval[@]}" --json eval3.json --predictions 3.csv >out 2>&1 || fail "eval on 3 ranks: $(cat out)"
for json in eval1.json eval3.json; do
    [ "$(json_value $json accuracy | tr -d ' }')" = "$want" ] ||
        fail "$json: accuracy $(json_value $json accuracy), train said $want"
done

# Evaluated as it was trained, whatever the defaults are, but for what is said; here by averages.
"$minipod" train --model mlp --data glyphs:8x8x1:96+40 --seed 5 --batch 24 --steps 24 --precision f32 --ema 0.9 \
    --optimizer rmsprop --lr 0.01 --out averaged --progress off >out 2>&1 || fail "with averages: $(cat out)"
averaged=(eval --batch 24 --resume averaged --progress off)
for with in "" "--ema 0" "--ema 0 --seed 6"; do
    # shellcheck disable=SC2086 # words
    on_ranks 2 "${averaged[@]}" $with --json "eval$with.json" >out 2>err || fail "eval $with: $(cat out err)"
done
# In full, and of which checkpoint: the best of the run's folder.
"$minipod" "${averaged[@]}" --data glyphs:8x8x1:96+37 --json full.json >out 2>err || fail "eval of 37: $(cat err)"
awk -v a="$(json_value full.json accuracy)" 'BEGIN { n = a * 37; off = n - int(n + 0.5)
    exit !(n > 0.5 && n < 36.5 && off < 1e-9 && off > -1e-9) }' || fail "no accuracy of 37 samples: $(cat full.json)"
grep -q '^  "checkpoint": "averaged/checkpoint/step-000000024",$' full.json && grep -q '^  "step": 24,$' full.json ||
    fail "of which checkpoint: $(cat full.json)"
loss() { printf '%.6f' "$(json_value "$1" "$2")"; }
[ "$(loss eval.json loss)" = "$(loss averaged/run.json eval_loss)" ] ||
    fail "not as it was trained: $(cat eval.json), train said $(loss averaged/run.json eval_loss)"
grep -q 'as it was trained: --model mlp --data glyphs:8x8x1:96+40 .*--precision f32 --seed 5 --ema 0.9$' <("$minipod" "${averaged[@]}" 2>&1) ||
    fail "what of the checkpoint is used is not said"
[ "$(loss eval.json loss)" != "$(loss 'eval--ema 0.json' loss)" ] || fail "--ema 0 evaluates the averages"
[ "$(loss 'eval--ema 0.json' loss)" != "$(loss 'eval--ema 0 --seed 6.json' loss)" ] || fail "--seed makes no other data"
"$minipod" train --model mlp --data glyphs:8x8x1:96+40 --seed 5 --batch 24 --steps 30 --precision f32 \
    --optimizer rmsprop --lr 0.01 --ema 0 --out without --resume averaged --progress off >out 2>&1 || fail "without: $(cat out)"
grep -q 'averaged: its moving averages of the weights (--ema 0.9) end here: this run has none' out ||
    fail "averages end unseen: $(cat out)"

# From another folder: the checkpoint's own path leads nowhere there, and is only then told of.
"$minipod" train --model mlp --data set.h5 --batch 24 --steps 2 --out moved --progress off >out 2>&1 || fail "moved: $(cat out)"
mkdir -p elsewhere
cd elsewhere || exit 1
moved=(eval --batch 24 --resume ../moved --progress off)
"$minipod" "${moved[@]}" >out 2>err
[ $? -eq 2 ] && [ "$(cat err)" = "minipod eval: set.h5: No such file or directory; the checkpoint has a path from where training ran: --data FILE says where it is" ] ||
    fail "a relative path: $(cat out err)"
on_ranks 2 "${moved[@]}" >out 2>err
[ "$(without_banner err | grep -c 'set.h5: No such file or directory; the checkpoint has a path from')" -eq 1 ] ||
    fail "a relative path on 2 ranks: $(cat out err)"
"$minipod" "${moved[@]}" --data typed.h5 >out 2>err
[ $? -eq 2 ] && [ "$(cat err)" = "minipod eval: typed.h5: No such file or directory" ] || fail "a typed path: $(cat err)"
"$minipod" "${moved[@]}" --data ../set.h5 >out 2>err || fail "moved: $(cat err)"
cd "$work" || exit 1

for csv in 1.csv 3.csv 25.csv; do
    awk -F , -v want="$want" 'NR > 1 { bad += $1 != NR - 2 || NF != 15; right += $2 == $3 }
        END { exit bad || NR != 41 || right / 40 < want - 1e-4 || right / 40 > want + 1e-4 }' $csv ||
        fail "$csv: not the 40 samples of an accuracy of $want: $(head -n 3 $csv)"
done
"$minipod" "${eval[@]}" --predictions absent/1.csv >out 2>&1 && fail "predictions in a folder that is absent"
grep -q '^minipod eval: absent/1.csv: ' out || fail "predictions in a folder that is absent: $(cat out)"

# ---- HDF5 ------------------------------------------------------------------------------------

# holds WHAT PATTERN COMMAND...
holds() {
    local pattern=$1
    shift
    "$@" >out 2>err || fail "$*: $(cat err)"
    [ -s err ] && fail "$*: $(cat err)"
    grep -q -e "$pattern" out || fail "$*: no '$pattern' in $(head -c 600 out)"
}
checkpoint=straight/checkpoint/step-000000008/index.h5
if command -v h5ls >/dev/null && command -v h5dump >/dev/null; then
    holds '^/train/images  *Dataset {96/*[^,]*, 8, 8, 1}' h5ls -r set.h5
    holds 'ATTRIBUTE "class_names"' h5dump -H set.h5
    holds '"ring", "fork"' h5dump -a class_names set.h5
    holds 'DATASPACE  SIMPLE { ( 40 )' h5dump -d /test/labels set.h5
    holds 'ATTRIBUTE "optimizer"' h5dump -H $checkpoint
    holds '(0): 8$' h5dump -a step $checkpoint
    holds '^/weights/logits.*Dataset {.*10}' h5ls -r $checkpoint
    holds '^/state/.*Dataset' h5ls -r $checkpoint
else
    echo "skipped: h5ls and h5dump are not here (package hdf5-tools)"
fi

# ---- JSON and CSV ----------------------------------------------------------------------------

if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not here"
    exit "$failed"
fi
python3 - <<'PY' || fail "what other readers found"
import csv, json, os, re, shutil, zlib

def load(path):
    def no_constant(name):
        raise ValueError(f"{path}: {name} is no JSON")
    return json.load(open(path), parse_constant=no_constant)

run, goodput, trace = (load(f"straight/{n}.json") for n in ("run", "goodput", "timeline"))
wanted = """schema version git clock machine model mesh ranks global_batch seed step_s samples_per_s
    allreduce_share allreduce_exposed_s memory_bytes_per_core program_goodput ideal_step_s
    eval_accuracy target epochs time_to_target_s time_to_peak_s weights_hash arguments settings host picks""".split()
missing = [key for key in wanted if key not in run]
assert not missing, f"run.json lacks {missing}"
assert run["clock"] == "wall" and run["ranks"] == 4 and run["mesh"] == "2x2", run
assert run["steps"] == 8 and run["epochs"] == 2 and run["global_batch"] == 24, run
assert run["step_s"] > 0 and 0 <= run["allreduce_share"] <= 1 and run["samples_per_s"] > 0
assert run["target"] is None and run["time_to_target_s"] is None and run["failure"] is None
evals = run["evaluations"]
assert [e["epochs"] for e in evals] == [1, 2] and [e["steps"] for e in evals] == [4, 8], evals
assert 0 < evals[0]["time_s"] < evals[1]["time_s"] < run["run_s"], evals
peak = max(evals, key=lambda e: e["accuracy"]) # the first of equals
assert run["best_eval_accuracy"] == peak["accuracy"] and run["time_to_peak_s"] == peak["time_s"], run
assert run["epochs_to_peak"] == peak["epochs"] and run["eval_loss"] == evals[1]["loss"], run
assert re.fullmatch("[0-9a-f]{16}", run["weights_hash"])
assert run["host"]["cpu_features"] and run["host"]["hostname"], run["host"]
assert {"op", "kernel", "instructions"} <= set(run["picks"][0]), run["picks"][0]
assert run["arguments"]["batch"] == 24 and "seed" not in run["arguments"], run["arguments"]
settings = run["settings"]
assert settings["seed"] == 1 and settings["batch"] == 24 and settings["bucket"] == 4 << 20, settings
assert settings["lr"] == 0.02 and settings["fusion"] is True and settings["trust"] is None, settings
assert settings["augment"] == "crop+flip" and settings["image-size"] == "", settings

categories = goodput["categories_ns"]
assert all(isinstance(ns, int) and ns >= 0 for ns in categories.values()), categories
assert sum(categories.values()) == goodput["total_elapsed_time_ns"], "categories and wall time"
assert categories["PRODUCTIVE_STEPS"] > 0 and categories["EVALUATION"] > 0, categories
assert categories["WASTED_PROGRESS_FROM_DISRUPTION"] == 0, categories

events = trace["traceEvents"]
spans = [e for e in events if e["ph"] == "X" and "args" in e] # instructions
assert {e["pid"] for e in spans} == {0, 1, 2, 3}, "ranks of the trace"
assert all(e["dur"] >= 0 and e["name"] and e["cat"] for e in spans)
assert max(e["args"]["step"] for e in spans) == 8, "steps count from 1"
named = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert named == {0, 1, 2, 3}, named
assert {"forward", "backward", "update", "reduce"} <= {e["cat"] for e in spans}

def table(path):
    lines = [line for line in open(path) if not line.startswith("#")]
    rows = list(csv.reader(lines))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1, f"{path} is not rectangular"
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in rows[0]), f"{path}: {rows[0]}"
    assert "-" not in {cell for row in rows for cell in row}, f"{path} has cells that are -"
    return rows

steps = table("straight/steps.csv")
assert [row[0] for row in steps[1:]] == [str(i) for i in range(1, 9)], "steps of steps.csv"
for row in steps[1:]:
    at = dict(zip(steps[0], map(float, row)))
    parts = sum(at[k + "_s"] for k in ("input", "forward", "backward", "reduce", "update", "other"))
    assert abs(parts - at["total_s"]) < 1e-7, f"step {row[0]}: parts {parts}, total {at['total']}"
assert [row[0] for row in table("resumed/steps.csv")[1:]] == ["6", "7", "8"], "steps after a resume"
whole = table("going_on/steps.csv")
assert [row[0] for row in whole[1:]] == [str(i) for i in range(1, 9)], "steps of a job that went on"
assert [row[-2:] for row in whole] == [row[-2:] for row in steps], "loss and accuracy of a job that went on"
assert dict((r[0], r[1]) for r in table("run.csv"))["model"] == "resnet8"
assert table("eval1.csv")[0][0] == "model"
info = load("set.json")
assert load("eval3.json")["schema"] == "minipod.eval" and isinstance(info, dict)

try:
    import h5py
except ImportError:
    print("skipped: python3-h5py is not here")
else:
    import numpy
    folder = "straight/checkpoint/" + open("straight/checkpoint/latest").read().split()[0]
    arrays = lambda f: {name: f[name][()] for name in names(f)}
    def names(f):
        found = []
        f.visititems(lambda name, x: found.append(name) if isinstance(x, h5py.Dataset) else None)
        return found
    with h5py.File(f"{folder}/index.h5") as f:
        assert f.attrs["step"] == 8 and f.attrs["ranks"] == 4 and f.attrs["mesh"] == b"2x2"
        assert f.attrs["epoch"] == 2 and b"batch = 24\n" in f.attrs["settings"], dict(f.attrs)
        assert b"allreduce = " in f.attrs["picks"], f.attrs["picks"]
        whole = arrays(f)
        weights = sum(x.size for name, x in whole.items() if name.startswith("weights/"))
        assert weights >= run["parameters"], (weights, run["parameters"])
        assert all(numpy.isfinite(x).all() for x in whole.values()), "a shard is not seen"
    # What ranks wrote is what the index shows, each element once.
    seen = {name: numpy.full(x.size, numpy.nan, numpy.float32) for name, x in whole.items()}
    for rank in range(4):
        with h5py.File(f"{folder}/shard-{rank:04}.h5") as f:
            for name, x in arrays(f).items():
                first = f[name].attrs["first"]
                assert numpy.isnan(seen[name][first:first + x.size]).all(), f"{name} twice"
                seen[name][first:first + x.size] = x
    for name, x in whole.items():
        assert numpy.array_equal(x.ravel(), seen[name]), name
    manifest = load(f"{folder}/manifest.json")
    for entry in manifest["files"]:
        data = open(f"{folder}/{entry['name']}", "rb").read()
        assert len(data) == entry["bytes"], entry
        assert f"{zlib.crc32(data):08x}" == entry["crc32"], entry
    # Without a shard its elements are NaN.
    shutil.copytree(folder, "less")
    os.remove("less/shard-0002.h5")
    with h5py.File("less/index.h5") as f:
        n_missing = sum(int(numpy.isnan(x).sum()) for x in arrays(f).values())
    with h5py.File(f"{folder}/shard-0002.h5") as f:
        assert n_missing == sum(x.size for x in arrays(f).values()) > 0, n_missing
    with h5py.File("set.h5") as f:
        assert f["train/images"].shape == (96, 8, 8, 1) and f["train/labels"][...].max() == 9
PY
exit "$failed"
