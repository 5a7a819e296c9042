#!/usr/bin/env bash
# straggler.sh MINIPOD: real ranks that outnumber the cores, one of them made slower: `goodput` names it
# and nobody else, and says that the others wait for it.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# run NAME RANKS STEPS WORD...
run() {
    local name=$1 ranks=$2 steps=$3
    shift 3
    on_ranks "$ranks" train --model resnet8 --batch $((16 * ranks)) --steps "$steps" --eval-every 0 \
        --progress off --quiet --out "$name" "$@" >out 2>err || fail "$name: $(cat err)"
    "$minipod" goodput "$name" >report 2>err || fail "$name: $(cat err)"
}
# named RANK...: those and no others are slow
named() {
    local found
    found=$(awk '/^#/ { table = /medians; own/ || (table && NF) } table && / slow/ && !/^#/ { printf "%s ", $1 }' report)
    [ "$found" = "$*${1:+ }" ] || fail "slow are '$*', found '$found': $(cat report)"
}

run bf16 4 240 --precision bf16 --fault slow:rank=2,factor=2
named 2
grep -q ' waits .* for rank 2' report || fail "nobody waits for rank 2: $(cat report)"
run f32 8 60 --precision f32 --fault slow:rank=5,factor=2
named 5
run none 4 60
named
grep -q '^# no straggler: ' report || fail "no word of it: $(cat report)"
exit $failed
