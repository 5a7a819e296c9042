#!/usr/bin/env bash
# overhead.sh MINIPOD TREE: what a step costs in five forms, in a tiny form: every form has its row, those
# that save have steps that did; the rounds in JSON; a failed run and bad options are named in one line.
# shellcheck source-path=SCRIPTDIR source=../common.sh
tree=$2
. "$(dirname "$0")/../common.sh"
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not here"
    exit 0
fi
tiny=(--ranks 2 --rounds 2 --steps 12 --every 4)
job=(-- --model mlp --data glyphs:8x8x1:64+16 --batch 16)

"$tree/bench/overhead" --minipod "$minipod" "${tiny[@]}" --json o.json "${job[@]}" >out 2>err ||
    fail "exit $?: $(cat out err)"
for form in bare log trace async sync; do
    [ "$(grep -cE "^ +$form +[0-9.]+ +[0-9.]+ \([0-9.]+-[0-9.]+\)" out)" -eq 1 ] || fail "$form: $(cat out)"
done
# Of 12 steps the first two and the last are left out; checkpoints come after 4 and 8 (and 12).
python3 - o.json <<'END' || fail "o.json"
import json, sys
rounds = json.load(open(sys.argv[1]))["rounds"]
assert len(rounds) == 2
for runs in rounds:
    for form, run in runs.items():
        n, saves = len(run["steps"]), sum(saved for _, saved in run["steps"])
        want = {"bare": (0, 0), "async": (9, 2), "sync": (9, 2)}.get(form, (9, 0))
        assert (n, saves) == want, (form, n, saves)
        assert all(ms > 0 for ms, _ in run["steps"]) and run["step_ms"] > 0
END

refused() { # EXIT PATTERN WORD...
    local want=$1 pattern=$2
    shift 2
    "$tree/bench/overhead" --minipod "$minipod" "$@" >out 2>err
    code=$?
    [ "$code" -eq "$want" ] && tail -n 1 err | grep -q -e "$pattern" || fail "$*: exit $code: $(cat err)"
}
refused 2 "'fast' is none of bare, log" --forms fast
refused 2 "steps 6: need more than 12" --steps 6
refused 2 "0 is less than 1" --rounds 0
refused 2 "--cpus 4000: taskset: " --cpus 4000
refused 2 "--minipod /nosuch: no such program" --minipod /nosuch
refused 2 "--json nosuch/o.json: there is no folder nosuch" --json nosuch/o.json
"$tree/bench/overhead" --minipod "$minipod" "${tiny[@]}" -- --model none >out 2>err
[ $? -eq 1 ] && grep -q "bench/overhead: bare: exit 2: .*none" err || fail "a failed run: $(cat err)"
exit "$failed"
