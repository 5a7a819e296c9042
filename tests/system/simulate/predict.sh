#!/bin/bash
# predict.sh MINIPOD: a run beside its simulation. Whether the table closes, not whether it is true: the machine
# file is made up.
# shellcheck source=../common.sh
source "${BASH_SOURCE%/*}/../common.sh"

made_host >made.conf

# Which rates of kernels are not of the machine file. OpenBLAS is rated by the kernels that it loaded here.
{ cat made.conf; printf 'kernel_rate = gemm.bf16.large %s 123.4\n' blas blas.avx2; } >rated.conf
"$minipod" explain kernels --model mlp --machine rated.conf >out 2>err || fail "explain kernels: $(cat err)"
grep -q '^# rates: of the machine file; \*: built in, where the file has none$' out &&
    grep -Eq '^  gemm.bf16.large +blas +123.4 ' out && grep -Eq '^  gemm.f32.large +blas +[0-9.]+\* ' out ||
    fail "whose rates: $(grep -e rates -e ' blas ' out)"
"$minipod" explain kernels --model mlp --machine made.conf >out 2>err && ! grep -q '[0-9]\* ' out ||
    fail "no rates in the file: $(cat out err)"

# The phases and the rest are the step; a phase is its instructions, those of the run within their spread.
closes() {
    awk -F, '
        function off(a, b) { return a > b ? a - b : b - a }
        /^#/ || $1 == "part" { next }
        $2 == "" && $1 == "step" { step_m = $5; step_p = $6; n++; next }
        $2 == "" { parts_m += $5; parts_p += $6; phase[$1] = $6; next }
        { instr[$1] += $6; n_instr++ }
        END {
            if (n != 1 || n_instr < 10) { print "rows are missing: " n " steps, " n_instr " instructions"; exit 1 }
            if (off(step_m, parts_m) > 0.001) { print "measured " step_m " ms, its parts " parts_m; exit 1 }
            if (off(step_p, parts_p) > 0.001) { print "predicted " step_p " ms, its parts " parts_p; exit 1 }
            if (step_m <= 0 || step_p <= 0) { print "a step takes no time"; exit 1 }
            for (p in instr)
                if (off(instr[p], phase[p]) > 0.02) { print p ": " phase[p] " ms, its instructions " instr[p]; exit 1 }
        }' "$1"
}

for ranks in 1 2 3; do
    on_ranks $ranks predict --machine made.conf --model mlp --data glyphs:28x28x1 --batch $((32 * ranks)) --steps 12 \
        --csv table.csv --json table.json >out 2>err || fail "$ranks ranks: $(cat err)"
    closes table.csv >why || fail "$ranks ranks: $(cat why)"
    grep -q "^# samples/s: measured " out || fail "$ranks ranks: no samples/s"
    grep -q '^# other: what .* so that a measured one may be below 0$' out || fail "$ranks ranks: what other is"
    grep -q "^# $ranks rank$([ $ranks -eq 1 ] || echo s), " out || fail "$ranks ranks: $(grep '^# .*rank' out)"
    python3 - table.json $ranks <<'END' || fail "$ranks ranks: $(cat table.json)"
import json, sys
j = json.load(open(sys.argv[1]))
sides = j["measured"], j["predicted"]
assert j["schema"] == "minipod.predict" and j["ranks"] == int(sys.argv[2]) and j["steps_measured"] == 7
assert [side["clock"] for side in sides] == ["wall", "virtual"]
assert all(abs(sum(side["phase_s"].values()) - side["step_s"]) < 1e-9 for side in sides)
assert all(i["measured_s"] >= 0 and i["predicted_s"] >= 0 for i in j["instructions"]) and j["instructions"]
END
    notes=$(grep -c "^# threads that make batches share the ranks' cores: other$" out)
    awk '$1 == "other" { found = 1; exit ($6 > 0) != '"$notes"' } END { if (!found) exit 1 }' out ||
        fail "$ranks ranks: $(cat out)"
    grep -q "machine made" out || fail "$ranks ranks: a simulated time without its machine"
done

# What runs instead of the algorithm that was asked for is said before the first step, as train says it.
for command in train "predict --machine made.conf"; do
    # shellcheck disable=SC2086
    on_ranks 2 $command --model mlp --data glyphs:28x28x1 --batch 32 --steps 2 --mesh 2 --algo torus2d >out 2>err ||
        fail "$command: $(cat err)"
    [ "$(grep -c '^minipod: warning: algo: torus2d refuses (.*): allreduce of [0-9]* bytes goes by [a-z0-9]* (the largest of [0-9]* that go by no rule)$' err)" -eq 1 ] ||
        fail "$command: no warning that torus2d refuses: $(cat err)"
done

# A program with tiles and micro-steps.
"$minipod" predict --machine made.conf --model resnet8 --data glyphs:32x32x3 --batch 32 --accumulate 2 --steps 7 \
    --csv table.csv >out 2>err || fail "resnet8: $(cat err)"
closes table.csv >why || fail "resnet8: $(cat why)"

refuses() {
    local want=$1
    shift
    "$minipod" predict --model mlp --data glyphs:28x28x1 --batch 32 --steps 2 "$@" >out 2>err
    [ $? -eq 2 ] && grep -q "$want" err || fail "$*: $(cat err)"
}
refuses 'steps: predict measures some, found 0' --machine made.conf --steps 0
refuses 'is not this host' --machine tpu-v3
refuses 'run minipod calibrate' --machine host
sed '/^op_time/d' made.conf >no_times.conf
refuses 'no op_time' --machine no_times.conf
! grep -q training err || fail "trained before the machine file was refused: $(cat err)"
sed '/^link_gb/d' made.conf >no_link.conf
refuses 'no link_gb_per_s' --machine no_link.conf
exit $failed
