#!/usr/bin/env bash
# machines.sh MINIPOD: machine files of one's own for the simulator. What no machine can be is refused in one
# line that names the file and the key, and what the clock cannot count is no result.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
export MINIPOD_PROGRESS=off
"$minipod" explain machine --machine tpu-v3 >tpu.conf || fail "explain machine"

# with EDIT WORD...: simulates 8 cores of the machine file changed by sed; out, err
with() {
    sed -E "$1" tpu.conf >own.conf
    shift
    "$minipod" simulate --machine own.conf --mesh 2x2x2 --model mlp --batch 64 "$@" >out 2>err
}
# refuses LINE EDIT WORD...
refuses() { is_refused "^minipod simulate: $1\$" with "${@:2}"; }
line_of() { grep -n "^$1 " tpu.conf | cut -d: -f1; }
# out_of KEY VALUE RANGE: a value that no machine has
out_of() { refuses "own.conf:$(line_of "$1"): $1: $2 is not within $3" "s/^$1 .*/$1 = $2/"; }

with '' || fail "a copy of tpu-v3: $(cat err)"
out_of memory_share 69.5 '0.001 to 1'
out_of vector_share 1000 '0.001 to 1'
out_of link_gb_per_s 0 '0.001 to 1e+09'
out_of link_gb_per_s 1e-300 '0.001 to 1e+09'
out_of vector_gop_per_s 1e-9 '0.001 to 1e+09'
out_of link_latency_us -1 '0 to 1e+09'
with 's/^(link_latency_us|instr_overhead_us) .*/\1 = 0/' || fail "no latency: $(cat err)"

# without KEY: which is not taken to be the best there is
without() { refuses "own.conf: a machine with clock = virtual also needs $1" "/^$1 /d"; }
for key in link_latency_us instr_overhead_us memory_gib chips_x chips_y wraps_x wraps_y cores_per_chip \
    link_gb_per_s matrix_side; do
    without $key
done
refuses 'own.conf: a machine with clock = virtual also needs core_gb_per_s, core_latency_us' '/^core_/d'

# A shipped file comes with the sources of its numbers, and is the same machine when it is read again.
values() { sed 's/ *;.*//; /^#/d' "$1" | sort; }
grep -q '^link_gb_per_s = 70 *; \[1\]' tpu.conf || fail "no source: $(cat tpu.conf)"

# What may be left out is said, and what is assumed then; what is said is a comment of the file.
says_without() {
    "$minipod" explain machine --machine "$1" >own.out 2>err || fail "explain machine: $(cat err)"
    [ "$(grep -c "^# without $2\(, or with 0\)\?: " own.out)" -eq 1 ] || fail "$1 without $2: $(cat own.out)"
    "$minipod" explain machine --machine ./own.out >again.out
    cmp -s <(values own.out) <(values again.out) && cmp -s <(grep '^# without' own.out) <(grep '^# without' again.out) ||
        fail "$1: another machine: $(cat own.out)"
}
says_without tpu-v3 on_chip_mib
says_without tpu-v3 message_us
says_without tpu-v3 start_up_s
with 's/^link_latency_us .*/&\nmessage_us = 0/' || fail "message_us = 0: $(cat err)"
says_without ./own.conf 'message_us, or with 0'
"$minipod" explain machine --machine multipod | grep -q 'without start_up_s' && fail "multipod has a start-up"
"$minipod" explain machine --machine tpu-v4 | grep -q 'without on_chip_mib' && fail "tpu-v4 has on-chip memory"
"$minipod" explain machine --machine tpu-v3 | grep -q -e 'without sync_us' -e 'without wraps' && fail "of a host"

# So it is of a host whose ranks send messages, but for the latency of these.
printf 'name = mine\nclock = wall\nlink_gb_per_s = 5\nlink_latency_us = 0\nshare_gb_per_s = 3\n' >host.conf
says_without host.conf wraps_x
says_without host.conf sync_us
! grep -q -e 'without share_gb' -e 'without on_chip' own.out || fail "host.conf: $(cat own.out)"
sed -i /latency/d host.conf
"$minipod" explain machine --machine host.conf >out 2>err
[ $? -eq 2 ] && [ "$(cat err)" = 'minipod explain: host.conf: a machine with link_gb_per_s also needs link_latency_us' ] ||
    fail "no latency: $(cat out err)"

slow='s/^instr_overhead_us .*/instr_overhead_us = 1e9/'
with "$slow" || fail "slow instructions: $(cat err)"
refuses 'simulated step 0 ends beyond the 53 days that the clock counts' "$slow" --fault slow:rank=3,factor=1e6
refuses 'input-rate: 1e-09 samples/s make a batch in more than the 53 days that the clock counts' '' \
    --input-rate 1e-9


# The peaks alone: what else the file has of this CPU stays, and a higher peak does.
peak() { "$minipod" calibrate --only peak "$@" >out 2>err; }
peak || fail "calibrate --only peak: $(cat err)"
[ "$(grep -c ' peak ' out)" -eq "$(grep -c GFLOP out)" ] && grep -q 'the file has the peaks alone: .* minipod calibrate measures$' out ||
    fail "measured more than peaks: $(cat out)"
! grep -q -e '^kernel_rate' -e '^op_time' config/minipod/host.conf || fail "knows more: $(cat config/minipod/host.conf)"
"$minipod" explain kernels --model mlp | grep -q 'rates: built in' || fail "rates without any in the file"
"$minipod" simulate --mesh 2 --model mlp --batch 64 >out 2>err
[ $? -eq 2 ] && grep -q 'no op_time.*: run minipod calibrate' err || fail "simulated by peaks alone: $(cat out err)"
{
    grep -v '^peak' config/minipod/host.conf
    made_host | grep -e '^op_time' -e '^sync'
    echo 'peak_f32_gflop_per_s = 99999'
    echo 'kernel_rate = gemm.f32.large blas 123'
} >full.conf
cp full.conf before.conf
peak -o full.conf || fail "calibrate --only peak -o full.conf: $(cat err)"
grep -v '^#' before.conf | while read -r line; do grep -qxF "$line" full.conf || echo "$line"; done >lost
[ ! -s lost ] && grep -q '^peak_bf16' full.conf || fail "lost: $(cat lost)"
sed -i 's/^cpu_model.*/cpu_model = Another/' full.conf
cp full.conf before.conf
peak -o full.conf
[ $? -eq 2 ] && grep -q 'full.conf: is of a Another, this is a .*: --only peak would mix' err && cmp -s full.conf before.conf ||
    fail "another CPU's file: $(cat err)"
exit $failed
