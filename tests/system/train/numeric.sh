#!/usr/bin/env bash
# numeric.sh MINIPOD MLLOG_CHECK: a loss that is not finite ends the run with exit 1 and one line that
# names step, instruction and rank. Logs and records are whole and say so; what an earlier run saved in
# the same folder is put aside as it was.
mllog_check=$(realpath "$2")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
small=(--model mlp --data glyphs:8x8x1:60+30 --batch 12 --progress off)
diverge=("${small[@]}" --lr 1e6 --lr-schedule constant --steps 50)
place='step [0-9]*: the first output that is not finite is that of [a-z0-9_]* .[a-z0-9/]*. '
place+='(instruction [0-9]*, [a-z]*, kernel [a-z0-9_]*) on rank [0-9]'

json_value() { grep -o "\"$2\": [^,]*" "$1" | head -n 1 | sed 's/^[^:]*: //'; }

# records NAME: what a failed run left in NAME/
records() {
    local n_rows n_done
    [ "$(find "$1" -name '*part')" = "" ] || fail "$1: $(find "$1" -name '*part') is left"
    "$mllog_check" "$1/mllog.txt" || fail "$1: the log does not pass"
    tail -n 1 "$1/mllog.txt" | grep -q '"run_stop".*"status": "aborted"' ||
        fail "$1: the log ends with $(tail -n 1 "$1/mllog.txt")"
    [ "$(json_value "$1/run.json" status)" = '"E_NUMERIC"' ] || fail "$1: run.json hides the failure"
    json_value "$1/run.json" failure | grep -q 'not finite' || fail "$1: run.json gives no reason"
    n_done=$(json_value "$1/run.json" steps)
    n_rows=$(grep -c '^[0-9]' "$1/steps.csv")
    # Every step that was done, and the one that failed in training.
    case $((n_rows - n_done)) in
    0 | 1) ;;
    *) fail "$1: $n_rows rows in steps.csv, $n_done steps done" ;;
    esac
    [ "$(json_value "$1/goodput.json" runtime_goodput)" = 0 ] || fail "$1: lost steps count as kept"
    if command -v python3 >/dev/null; then
        python3 - "$1" <<'PY' || fail "$1: records"
import json, sys
folder = sys.argv[1]
run, goodput = (json.load(open(f"{folder}/{name}.json")) for name in ("run", "goodput"))
assert sum(goodput["categories_ns"].values()) == goodput["total_elapsed_time_ns"], "categories"
assert goodput["categories_ns"]["WASTED_PROGRESS_FROM_DISRUPTION"] > 0, "nothing is wasted"
for line in open(f"{folder}/mllog.txt"):
    assert line.startswith(":::MLLOG "), line
    json.loads(line[len(":::MLLOG "):])
PY
    fi
}

# diverges NAME RANKS PATTERN WORD...
diverges() {
    local name=$1 ranks=$2 pattern=$3 text code
    shift 3
    if [ "$ranks" -eq 0 ]; then
        timeout 60 "$minipod" train --out "$name" "$@" >out 2>err
    else
        timeout 60 mpirun -n "$ranks" --bind-to none "$minipod" train --out "$name" "$@" >out 2>err
    fi
    code=$?
    text=$(without_banner err)
    [ $code -eq 1 ] || fail "$name: exit $code, want 1: $text"
    grep -q "^minipod train: $pattern" <<<"$text" || fail "$name: want '$pattern', found '$text'"
    [ "$(grep -c . <<<"$text")" -eq 1 ] || fail "$name: more than one line: $text"
    records "$name"
}

# A good run first: its checkpoint must survive what follows in the same folder.
"$minipod" train "${small[@]}" --steps 3 --out f32_alone >out 2>&1 || fail "a good run: $(cat out)"
sums() { (cd "$1" && find . -type f -exec cksum {} + | sort); }
saved=$(sums f32_alone/checkpoint)
for precision in f32 bf16; do
    diverges ${precision}_alone 0 "$place" "${diverge[@]}" --precision $precision
    diverges ${precision}_ranks 4 "$place" "${diverge[@]}" --precision $precision
done
grep -q ' \./latest$' <<<"$saved" || fail "a good run saved nothing"
[ "$(sums f32_alone/checkpoint.old)" = "$saved" ] || fail "the earlier checkpoint is gone"
[ -z "$(find bf16_alone/checkpoint f32_ranks/checkpoint f32_alone/checkpoint -type f)" ] || fail "a lost run was saved"

# An evaluation may be the first to meet it.
diverges eval_alone 0 "evaluation after $place" "${diverge[@]}" --eval-every 0.2
diverges eval_ranks 4 "evaluation after $place" "${diverge[@]}" --eval-every 0.2
exit "$failed"
