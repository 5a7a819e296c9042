#!/usr/bin/env bash
# kills.sh MINIPOD: training whose ranks are killed ends as if nothing had happened. Ranks are killed
# from outside, by a process that knows nothing of the launcher, at steps drawn from a seed and now and
# then as they start; by faults at exact steps; and stopped. What is compared is the hash of the
# weights with that of a run that nobody disturbed, which steps counted, and where the seconds went.
#   POD_KILLS=50 POD_KILL_RANKS='2 4 8' kills.sh MINIPOD    only those from outside, by hand; POD_KILL_SEED=2
#                                                           draws other ones
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
kills=${POD_KILLS:-2}
RANDOM=${POD_KILL_SEED:-1}
steps=$((kills > 6 ? 20 * kills : 120))
peace=$((kills > 6 ? 200 : 60)) # so many of them, the last, are done sooner than a killer looks again
every=7                                # steps between checkpoints
train=(--model mlp --data glyphs:8x8x1:600+40 --batch 24 --steps $steps --eval-every 0 --progress off
    --checkpoint-every $every)

# json FILE KEY: the first value under that key
json() { sed -n "s/.*\"$2\": *\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p" "$1" | head -1; }

# ---- who kills ---------------------------------------------------------------------------------

# The newest attempt's log of a rank, its process, and the last step in it; empty before it begins.
log_of() { find "$1/job" -name "attempt-*.rank-$(printf %04d "$2").jsonl" 2>/dev/null | sort | tail -1; }
pid_of() { sed -n '1s/.*"pid": *\([0-9]*\).*/\1/p' "$1"; }
step_of() { tail -n 2 "$1" | sed -n 's/^{"step":\([0-9]*\),.*}$/\1/p' | tail -1; }

# killer DIR RANKS N: N times a rank drawn at random, once it has done a step drawn at random from the
# next N-th part of them; one of four when it has only begun.
killer() {
    local dir=$1 n=$2 part=$(((steps - peace) / $3 + 1)) i rank log step at last=
    for ((i = 0; i < $3; i++)); do
        rank=$((RANDOM % n))
        at=$((RANDOM % 4 > 0 ? i * (steps - peace) / $3 + RANDOM % part : 0))
        step=
        while :; do
            log=$(log_of "$dir" $rank)
            if [ -n "$log" ] && [ "${log%.rank*}" != "$last" ] && [ -n "$(pid_of "$log")" ]; then
                step=$(step_of "$log")
                [ $at -gt 0 ] && [ "${step:-0}" -lt $at ] || break
            fi
            sleep 0.01
        done
        last=${log%.rank*} # one kill an attempt, which may take a moment to end
        kill -9 "$(pid_of "$log")" 2>/dev/null && echo "rank $rank behind step ${step:-0}" >>"$dir.kills"
    done
}

# ---- what must hold ----------------------------------------------------------------------------

# counted DIR: every rank does each step behind the one before, and each counts once: what an attempt
# did beyond the step that the next one went on from does not. Prints how many were lost.
counted() {
    find "$1/job" -name 'attempt-*.rank-*.jsonl' | sort | xargs awk -F'[:,]' -v steps=$steps '
        FNR == 1 { a = $6 + 0; begun = 0 }
        /^{"from"/ { from[a] = done = $2 + 0; begun = 1 }
        /^{"step"/ {
            if ($2 != done + 1 || !begun) { print FILENAME ": step " $2 " behind step " done; bad = 1 }
            done = $2 + 0
            if (done > reached[a]) reached[a] = done
        }
        END {
            for (i = 1; i <= a; i++) {
                if (!(i in from)) continue
                if (from[i] > at) { print "attempt " i " goes on from step " from[i] ", done are " at; bad = 1 }
                lost += at - from[i]
                at = reached[i] > from[i] ? reached[i] : from[i]
                all += at - from[i]
            }
            if (at != steps || all - lost != steps) { print at " of " steps ", " all " done, " lost " lost"; bad = 1 }
            if (!bad) print lost + 0
            exit bad
        }'
}

# closed DIR RANKS LOST: goodput.json counts the same steps; its categories sum to the wall time to the
# nanosecond, which is what goodput accounts for: from the launcher's begin to its end, within 0.1 %.
closed() {
    "$minipod" goodput "$1" --json "$1.json" >"$1.goodput" 2>&1 || { cat "$1.goodput"; return 1; }
    awk -F'[:,]' -v steps=$steps -v lost="$3" -v accounted="$(json "$1.json" total_elapsed_time)" '
        /"total_elapsed_time_ns"/ { wall = $2 }
        /"n_steps"/ { n = $2 }
        /"n_lost_steps"/ { n_lost = $2 }
        /"categories_ns"/ { within = 1; next }
        within && /}/ { within = 0 }
        within { sum += $2 }
        END {
            if (wall <= 0 || sum != wall) { printf "categories sum to %d, wall is %d\n", sum, wall; exit 1 }
            if (wall / 1e9 < 0.999999 * accounted || wall / 1e9 > 1.000001 * accounted) {
                printf "wall is %.6f s, goodput accounts for %.6f\n", wall / 1e9, accounted
                exit 1
            }
            if (n != steps || n_lost != lost) { print n " steps, " n_lost " lost; want " steps ", " lost; exit 1 }
        }' "$1/goodput.json" || return 1
    awk -F'[:,]' -v ranks="$2" -v accounted="$(json "$1.json" total_elapsed_time)" '
        /"schema"/ && !begun { begun = $NF + 0 }
        /"end_ns"/ { for (i = 1; i < NF; i++) if ($i ~ /"end_ns"/) ended = $(i + 1) + 0 }
        END {
            wall = (ended - begun) * ranks / 1e9
            if (accounted <= 0.999 * wall || accounted >= 1.001 * wall) {
                printf "%.3f rank-seconds are accounted for, of %.3f\n", accounted, wall
                exit 1
            }
        }' "$1/job/launch.jsonl"
}

# recorded DIR: steps.csv has each step once, mllog.txt is of one run
recorded() {
    grep '^[0-9]' "$1/steps.csv" | awk -F, -v steps=$steps '
        $1 != NR { print "steps.csv: row " NR " is of step " $1; bad = 1; exit }
        $2 < before { print "steps.csv: step " $1 " begins before the one before"; bad = 1 }
        { before = $2 }
        END { if (!bad && NR != steps) { print "steps.csv: " NR " of " steps " steps"; bad = 1 } exit bad }' || return 1
    for key in seed run_start run_stop; do
        [ "$(grep -c "\"key\": \"$key\"" "$1/mllog.txt")" -eq 1 ] || { echo "mllog.txt: not one $key"; return 1; }
    done
    [ -z "$(find "$1" -name '*part')" ] || { echo "left: $(find "$1" -name '*part')"; return 1; }
}

# same DIR RANKS WHAT: it ended as the undisturbed run did
same() {
    local got lost
    got=$(json "$1/run.json" weights_hash)
    [ -n "$want" ] && [ "$got" = "$want" ] || fail "$3: weights $got, want $want: $(tail -3 "$1.err")"
    if lost=$(counted "$1"); then
        closed "$1" "$2" "$lost" || fail "$3: seconds"
        recorded "$1" || fail "$3: records"
    else
        fail "$3: $lost"
    fi
    echo "$3: $(find "$1/job" -name '*.rank-0000.jsonl' | wc -l) attempts, $lost steps lost"
}

undisturbed() {
    on_ranks "$1" train "${train[@]}" --out "ref$1" >ref.out 2>&1 || fail "$1 ranks: cannot train: $(tail -3 ref.out)"
    want=$(json "ref$1/run.json" weights_hash)
}

# launch DIR RANKS WORD...
launch() {
    local dir=$1
    "$minipod" launch -n "$2" --restarts $((kills + 5)) --backoff 0.1 -- train "${train[@]}" --out "$dir" "${@:3}" \
        >"$dir.out" 2>"$dir.err" || fail "$dir: exit $?: $(tail -3 "$dir.err")"
}

# ---- the cases ---------------------------------------------------------------------------------

for n in ${POD_KILL_RANKS:-4 2}; do
    undisturbed "$n"
    killer "killed$n" "$n" "$kills" &
    killing=$!
    launch "killed$n" "$n"
    kill $killing 2>/dev/null
    wait $killing 2>/dev/null
    [ "$(wc -l <"killed$n.kills")" -eq "$kills" ] || fail "$n ranks: $(wc -l <"killed$n.kills") kills of $kills"
    same "killed$n" "$n" "$n ranks, $kills kills"
done

[ -z "${POD_KILL_RANKS:-}" ] || exit $failed

# Exact steps, the first among them; and a rank that hangs, which the watchdog finds.
undisturbed 2
launch faults 2 --watchdog 2 --fault 'kill:rank=1,step=1;kill:rank=0,step=50;hang:rank=1,step=100'
same faults 2 'faults at steps 1, 50, 100'
grep -q 'attempt 2: rank 0 was killed by signal 9; it took .* s, to step 49; attempt 3 in .* from step [0-9]*, if' faults.err ||
    fail "the second attempt: $(grep 'attempt 2:' faults.err)"
grep -q 'attempt 3: rank 1 did not arrive in .* step 100, for .*; it took .* s, to step 99; attempt 4 in .* from step [0-9]*, if' faults.err ||
    fail "the third attempt: $(grep 'attempt 3:' faults.err)"

# An attempt that ends before it begins has no part in the times of the run that a later one begins.
cat >late <<'END'
#!/usr/bin/env bash
[ -e late.tried ] || { touch late.tried; sleep 2; kill -9 $$; }
exec mpirun "$@"
END
chmod +x late
MINIPOD_MPIRUN="$PWD/late --bind-to none" launch begun 2 --fault 'kill:rank=0,step=50'
[ -e begun/job/attempt-003.rank-0000.jsonl ] && recorded begun || fail "begun late: $(cat begun.err)"

# Asked to stop it saves where it is, and goes on from there when it is told to. Then mpirun dies.
"$minipod" launch -n 2 -- train "${train[@]}" --out stopped --fault 'slow:rank=0,factor=20,until=40' >stopped.out 2>stopped.err &
pid=$!
until grep -q '"step":20,' stopped/job/attempt-001.rank-0000.jsonl 2>/dev/null; do sleep 0.02; done
kill -TERM $pid
wait $pid || fail "asked to stop: exit $?: $(tail -3 stopped.err)"
grep -q '"reason": "stopped"' stopped/job/launch.jsonl || fail "not stopped: $(tail -1 stopped/job/launch.jsonl)"
launch stopped 2 --resume auto --fault 'slow:rank=0,factor=20,from=60,until=90' &
going=$!
until grep -q '"step":70,' stopped/job/attempt-002.rank-0000.jsonl 2>/dev/null; do sleep 0.02; done
mpirun=$(ps -o ppid= -p "$(pid_of "$(log_of stopped 0)")")
kill -9 $mpirun
wait $going
grep -q 'mpirun was killed by signal 9' stopped.err || fail "mpirun is not missed: $(cat stopped.err)"
[ "$(json stopped/run.json weights_hash)" = "$want" ] || fail "stopped and begun again: other weights: $(tail -3 stopped.err)"
counted stopped | grep -q '^[0-9]*$' || fail "stopped: $(counted stopped)"

# Killed behind its last step, before its results are written: they are written then.
rm stopped/run.json
launch stopped 2 --resume auto
[ "$(json stopped/run.json weights_hash)" = "$want" ] || fail "a finished job gone on with: $(tail -3 stopped.err)"

# With an option that is refused: the job is as it was.
cp -r stopped refused
"$minipod" launch -n 2 -- train "${train[@]}" --out refused --resume auto --batch 39 2>refused.err
[ $? -eq 2 ] && [ "$(without_banner refused.err | wc -l)" -eq 1 ] || fail "a bad batch: $(cat refused.err)"
diff -r stopped refused || fail "a launch that is refused changes the finished job"

# An older job's checkpoints are not gone on from, though the first attempt ends before it begins.
cat >second <<'END'
#!/usr/bin/env bash
[ -e tried ] || { touch tried; kill -9 $$; }
exec mpirun "$@"
END
chmod +x second
MINIPOD_MPIRUN="$PWD/second --bind-to none" launch stopped 2 --seed 2 --steps 20
[ "$(json stopped/run.json steps)" -eq 20 ] || fail "a new job is not done: $(tail -3 stopped.err)"
on_ranks 2 train "${train[@]}" --seed 2 --steps 20 --out other >other.out 2>&1 || fail "cannot train: $(tail -3 other.out)"
[ "$(json stopped/run.json weights_hash)" = "$(json other/run.json weights_hash)" ] ||
    fail "a new job went on from an older one: $(cat stopped.err)"

exit $failed
