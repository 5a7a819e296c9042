#!/usr/bin/env bash
# live_goodput.sh MINIPOD: goodput.json while training goes on is whole whenever it is read, is of now,
# and closes; the attempt behind a kill carries on from the one before. At the end it is of all ranks
# and sums to the wall clock.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not here"
    exit 0
fi
train=(train --model resnet8 --data glyphs:12x12x1:960+40 --batch 40 --mesh 2 --steps 400 --progress off
    --eval-every 100 --checkpoint-every 30 --out run)

# reads PID ATTEMPT: what goodput.json tells until that process ends, every 50 ms.
reads() {
    python3 - "$1" "$2" <<'PY'
import json, os, sys, time
pid, attempt = int(sys.argv[1]), int(sys.argv[2])

def lives():
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"

seen = []
while lives():
    time.sleep(0.05)
    try:
        g = json.load(open("run/goodput.json"))
    except FileNotFoundError:
        continue
    if not g["running"] or g["attempt"] != attempt or seen and g == seen[-1]:
        continue
    assert sum(g["categories_ns"].values()) == g["total_elapsed_time_ns"], g
    assert min(g["categories_ns"].values()) >= 0 and g["accounted_ranks"] == 1, g
    assert g["accounted_until_ns"] - g["begun_ns"] == g["total_elapsed_time_ns"], g
    assert -1 < time.time() - g["accounted_until_ns"] * 1e-9 < 20, "is not of now"
    assert g["max_productive_step"] == g["kept_step"] <= g["step"], g
    assert g["attempts"] == attempt and g["disruption_count"] == attempt - 1, g
    saved = g["n_steps"] > 0
    assert (g["runtime_goodput"] is not None) == saved == ("runtime_note" not in g), g
    assert all(0 <= x <= 1 if saved else x is None for x in g["interval_goodput"].values()), g
    if seen:
        assert g["accounted_until_ns"] - seen[-1]["accounted_until_ns"] >= 1e9, "more than once a second"
        assert g["step"] >= seen[-1]["step"] and g["kept_step"] >= seen[-1]["kept_step"], g
    seen.append(g)
# The second attempt may take little more than a second.
assert len(seen) >= 3 - attempt, f"{len(seen)} files in all"
assert attempt > 1 or seen[-1]["kept_step"] > seen[0]["kept_step"], "nothing was kept meanwhile"
assert seen[-1]["runtime_goodput"] > 0, seen[-1]
PY
}

began=$(date +%s%N)
on_ranks 2 "${train[@]}" --fault 'slow:rank=0,factor=5;kill:rank=1,step=300' >out 2>&1 &
reads $! 1 || fail "attempt 1: $(tail -n 3 out)"
wait $! && fail "a rank was killed, and mpirun ended with 0"
on_ranks 2 "${train[@]}" --resume auto >out 2>&1 &
reads $! 2 || fail "attempt 2: $(tail -n 3 out)"
wait $! || fail "attempt 2: $(cat out)"
ended=$(date +%s%N)

python3 - "$began" "$ended" <<'PY' || fail "goodput.json at the end"
import json, sys
began, ended = map(int, sys.argv[1:])
g = json.load(open("run/goodput.json"))
run = json.load(open("run/run.json"))
assert not g["running"] and g["accounted_ranks"] == 2 and g["attempts"] == 2, g
assert g["n_steps"] == g["max_productive_step"] == 400, g
assert g["n_lost_steps"] > 0 and g["n_unsaved_steps"] == 0 and g["disruption_count"] == 1, g
assert sum(g["categories_ns"].values()) == g["total_elapsed_time_ns"], g
assert g["total_elapsed_time_ns"] == 2 * (g["accounted_until_ns"] - g["begun_ns"]), g
assert began < g["begun_ns"] and g["accounted_until_ns"] < ended, g
assert g["categories_ns"]["INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION"] > 0, g
assert abs(run["runtime_goodput"] - g["runtime_goodput"]) < 1e-12, run["runtime_goodput"]
PY
exit "$failed"
