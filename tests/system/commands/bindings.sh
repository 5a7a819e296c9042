#!/usr/bin/env bash
# bindings.sh MINIPOD: ranks that are bound to fewer cores than there are, by taskset here, by a cpuset or Slurm
# elsewhere, have no more of them: what is told of cores, and the ideal step that goodput is held against.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
train=(train --model mlp --data glyphs:8x8x1:60+30 --batch 24 --steps 4)
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//') # the first that this test has
cores=$(lscpu -p=core,socket | grep -v '^#' | sort -u | wc -l)
printf 'name = made\nclock = wall\nphysical_cores = 2\npeak_f32_gflop_per_s = 100\npeak_bf16_gflop_per_s = 100\n' >made.conf

# on_one RANKS WORD...: of minipod, all ranks on one core
on_one() { taskset -c "$cpu" timeout 60 mpirun -n "$1" --bind-to none "$minipod" "${@:2}"; }

# at_work FILE N: by the record of a run that its ranks had N cores
at_work() { grep -q "^ *\"cores_at_work\": $2,\$" "$1" || fail "$1: $(grep cores "$1")"; }

on_one 3 "${train[@]}" --mesh 3x1 --eval-every 2 --machine made.conf --out one >out 2>err || fail "train: $(cat err)"
note='ranks share 1 core: '
[ "$cores" -eq 1 ] || note='ranks may run on 1 of them, and share it: '
grep -Eq "^  physical cores  *$cores  *$note" out || fail "train: $(grep 'physical cores' out)"
grep -q ' samples, 1 evaluation$' out || fail "train: $(grep 'accuracy' out)"
grep -q 'ideal step .*(100.0 GFLOP/s of a core x 1)$' out || fail "train: $(grep 'ideal step' out)"
at_work one/run.json 1
at_work one/goodput.json 1
"$minipod" goodput one >out 2>err || fail "goodput: $(cat err)"
grep -Eq '^# (no_core: could have run|3 ranks share 1 core: )' out || fail "goodput: $(cat out)"

if [ "$(nproc)" -ge 2 ] && [ "$cores" -ge 2 ]; then
    timeout 60 mpirun -n 2 --bind-to none "$minipod" "${train[@]}" --mesh 2x1 --machine made.conf --out two >out 2>err ||
        fail "train: $(cat err)"
    at_work two/run.json 2
    ! grep -q 'ranks share' out || fail "two ranks on two cores: $(grep 'ranks share' out)"
    # What mpirun binds ranks to is theirs.
    timeout 60 mpirun -n 1 --bind-to core "$minipod" "${train[@]}" --mesh 1x1 --machine made.conf --out bound >out 2>err ||
        fail "train: $(cat err)"
    at_work bound/run.json 1
    ! grep -q 'ranks share' out || fail "a bound rank: $(grep 'ranks share' out)"
    timeout 2 taskset -c "$cpu" "$minipod" calibrate -o host.conf >out 2>&1
    grep -q "warning: bound to 1 of $cores physical cores: " out || fail "calibrate: $(cat out)"
fi

on_one 2 coll -b 1K -e 1K -n 1 -w 1 --rounds 1 >out 2>err || fail "coll: $(cat err)"
grep -q "^# time: 1 iteration back to back after 1 not timed, the slowest rank's; one round$" out || fail "coll: $(grep '^# time' out)"
grep -q "^# 2 ranks share 1 core: times are" out || fail "coll: $(grep '^#' out)"
taskset -c "$cpu" timeout 60 "$minipod" launch --mpirun 'mpirun --bind-to none' -- "${train[@]}" --mesh auto --out launched >out 2>err ||
    fail "launch: $(cat err)"
at_work launched/run.json 1
grep -q '"ranks": 1,' launched/run.json || fail "launch: $(grep ranks launched/run.json)"

# Threads that make batches want more cores than a bound rank has.
if [ "$(nproc)" -ge 2 ] && [ "$cores" -ge 2 ]; then
    taskset -c "$cpu" "$minipod" train --model mlp --data glyphs:96x96x3:640+16 --image-size 4 --batch 64 --steps 10 \
        --input-threads 4 >out 2>err || fail "input: $(cat err)"
    grep -q '^ *input .*: each rank may run on 1 core: mpirun --bind-to none, then try more --input-threads$' out ||
        fail "input: $(grep input out)"
fi

# A quota of CPU time, where this test may set one: a rank for each CPU that it makes.
quota=/sys/fs/cgroup/cpu/minipod.$$
if mkdir "$quota" 2>/dev/null; then
    if echo 50000 2>/dev/null >"$quota/cpu.cfs_quota_us"; then
        (echo "$BASHPID" >"$quota/cgroup.procs" && exec timeout 100 "$minipod" launch -- "${train[@]}" --out quota) >out 2>err ||
            fail "quota: $(cat err)"
        grep -q '"ranks": 1,' quota/run.json || fail "quota: $(grep ranks quota/run.json)"
        grep -q '^  physical cores .* a quota allows the ranks of a host 0.5 of them: ' out || fail "quota: $(grep cores out)"
        (echo "$BASHPID" >"$quota/cgroup.procs" && exec timeout 100 "$minipod" coll --on local --mesh 2x1 --algo ring -b 1K -e 1K -n 1 -w 0) >out 2>err ||
            fail "quota, coll: $(cat err)"
        grep -q '^# cores: a quota allows the ranks of a host 0.5 of them: ' out || fail "quota, coll: $(grep '^#' out)"
    fi
    for _ in $(seq 100); do rmdir "$quota" 2>/dev/null && break || sleep 0.05; done # a daemon of MPI may live on
fi

[ "$failed" -eq 0 ] && echo "bindings: all as it should be"
exit "$failed"
