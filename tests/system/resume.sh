#!/usr/bin/env bash
# resume.sh MINIPOD: a job that is gone on with is one job. What its earlier attempts found is not found
# again nor forgotten, who is refused takes nothing from it, and what does not fit is told.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
export MINIPOD_MPIRUN='mpirun --bind-to none'
small=(train --model mlp --data glyphs:8x8x1:512+64 --batch 64 --lr-schedule constant --progress off)

field() { sed -n "s/^  \"$2\": \(.*[^,]\),*\$/\1/p" "$1/run.json"; }
# same_field NAME RUN WANT: as of another run
same_field() { [ "$(field "$2" "$1")" = "$(field "$3" "$1")" ] || fail "$2: $1 $(field "$2" "$1"), want $(field "$3" "$1")"; }

# ---- a second run beside one -----------------------------------------------------------------------

"$minipod" "${small[@]}" --eval-every 0 --steps 1000000 --lr 0.001 --out beside >out 2>err &
job=$!
log=beside/job/attempt-001.rank-0000.jsonl
for ((i = 0; i < 1000; i++)); do
    ! grep -q '"step":5,' $log 2>/dev/null || break
    sleep 0.02
done
for ((i = 0; i < 2; i++)); do
    "$minipod" "${small[@]}" --steps 30 --out beside >second 2>&1
    [ $? -eq 2 ] || fail "beside: the second run ends with $?"
    grep -q 'another process is writing it$' second || fail "beside: $(cat second)"
    [ -d beside/checkpoint ] || fail "beside: the second run took the folder of checkpoints"
done
kill -USR1 $job
wait $job || fail "beside: the first run: $(cat err)"
grep -q '^step-' beside/checkpoint/latest || fail "beside: the first run saved nothing"

# What a refused run made goes with it, and nothing else.
"$minipod" "${small[@]}" --steps 3 --batch 1000 --out made >out 2>err
[ $? -eq 2 ] || fail "made: exit $?"
[ ! -e made ] || fail "made: $(find made)"
mkdir -p there/checkpoint
"$minipod" "${small[@]}" --steps 3 --batch 1000 --out there >out 2>err
[ -d there/checkpoint ] || fail "there: the folder of checkpoints went"

[ "$failed" -eq 0 ] && echo "resume: all as it should be"
exit "$failed"
