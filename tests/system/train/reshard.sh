#!/usr/bin/env bash
# reshard.sh MINIPOD: a checkpoint does not tell how many ranks wrote it, nor who held what. Runs that
# go on from one of an update on parts and from one of a whole update end alike, on any number of
# ranks, whichever way they update; with norms of the weights and without.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
run=(train --model mlp --data glyphs:8x8x1:60+30 --batch 12 --lr 0.01
    --lr-schedule constant --precision f32 --wire exact --bucket 2K --progress off)

# trains NAME RANKS WORD...
trains() {
    local name=$1 ranks=$2
    shift 2
    on_ranks "$ranks" "${run[@]}" --optimizer "$optimizer" --out "$name" "$@" >out 2>&1 ||
        fail "$name: $(cat out)"
}

weights() { grep -o '"weights_hash": [^,]*' "$1/run.json"; }
state_bytes() { grep -o '"optimizer_state_bytes": [0-9]*' "$1/run.json" | grep -o '[0-9]*$'; }

for optimizer in adamw lamb; do
    rm -rf parts whole a b c
    trains parts 4 --steps 6 --shard-update
    trains whole 4 --steps 6
    [ "$(weights parts)" = "$(weights whole)" ] ||
        fail "$optimizer, after 6 steps: $(weights parts), $(weights whole)"
    [ "$(state_bytes parts)" -lt $(($(state_bytes whole) / 3)) ] ||
        fail "$optimizer: $(state_bytes parts) bytes of state on a core of 4," \
            "whole $(state_bytes whole)"
    for ranks in 1 2 3; do
        trains a $ranks --steps 10 --resume parts
        trains b $ranks --steps 10 --resume whole --shard-update
        trains c $ranks --steps 10 --resume parts --shard-update
        [ "$(weights a)" = "$(weights b)" ] && [ "$(weights a)" = "$(weights c)" ] ||
            fail "$optimizer on $ranks ranks: $(weights a), $(weights b), $(weights c)"
        [ "$(weights a)" != "$(weights parts)" ] ||
            fail "$optimizer on $ranks ranks: nothing was trained"
    done
done
exit $failed
