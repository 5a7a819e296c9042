#!/usr/bin/env bash
# checkpoints.sh MINIPOD: a run whose saves go wrong (a rank is killed at a file operation, a disk is
# full, a byte of what was saved flips) ends with the weights of one whose saves went well: it goes on
# from the newest checkpoint that is whole, and says what is wrong with those that are not.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
run=(train --model mlp --data glyphs:8x8x1:60+30 --batch 12 --steps 8 --eval-every 0 --checkpoint-every 2
    --keep 3 --progress off --quiet)

weights() { grep -o '"weights_hash": [^,]*' "$1/run.json"; }
kept() { find "$1/checkpoint" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' '; }
same_weights() { [ "$(weights "$1")" = "$(weights good)" ] || fail "$2: $(weights "$1"), good $(weights good)"; }

# trains NAME WORD...: on two ranks into NAME; 0 where all went well
trains() {
    local name=$1
    shift
    timeout 60 mpirun -n 2 --bind-to none "$minipod" "${run[@]}" --out "$name" "$@" >out 2>err
}
# warns WHAT REGEX: the one line of standard error
warns() {
    without_banner err >lines
    if [ "$(wc -l <lines)" -ne 1 ] || ! grep -Eq "^minipod: warning: $2" lines; then fail "$1: $(cat err)"; fi
}

trains good || fail "a good run: $(cat err)"
all='latest step-000000004 step-000000006 step-000000008 '
[ "$(kept good)" = "$all" ] || fail "a good run kept $(kept good)"
trains sync --checkpoint sync || fail "sync: $(cat err)"
same_weights sync sync
for name in index.h5 shard-0000.h5 shard-0001.h5; do
    cmp good/checkpoint/step-000000004/$name sync/checkpoint/step-000000004/$name >out 2>&1 ||
        [ $name = index.h5 ] || fail "sync: $(cat out)" # the index has the settings
done

# ---- killed at a file operation ------------------------------------------------------------------

# What rank 0 does last is to point to the new checkpoint: then that is the one.
for at in 0:1 0:4 0:12 0:18 0:20 0:23 1:3 1:8; do
    fault=kill:rank=${at%:*},step=6,write=${at#*:}
    trains killed --fault "$fault" && fail "$fault: the run ended well"
    grep -q '^step-000000004 ' killed/checkpoint/latest || fail "$fault: at $(cat killed/checkpoint/latest)"
    trains killed --fault "$fault" --resume auto || fail "$fault: then $(cat err)"
    without_banner err | grep . && fail "$fault: then a line on standard error"
    same_weights killed "$fault"
    [ "$(kept killed)" = "$all" ] || fail "$fault: kept $(kept killed)"
    rm -r killed
done

# ---- a full disk --------------------------------------------------------------------------------

for fault in rank=0,step=4 rank=1,step=4,write=3 rank=0,step=4,write=14; do
    trains full --fault diskfull:$fault || fail "diskfull:$fault: $(cat err)"
    warns "diskfull:$fault" 'a checkpoint was not saved: .*step-000000004.part.*: No space left on device$'
    same_weights full "$fault"
    [ "$(kept full)" = 'latest step-000000002 step-000000006 step-000000008 ' ] || fail "$fault: kept $(kept full)"
    rm -r full
done

# The last save is what the run ends with: one line tells it.
trains full --fault diskfull:rank=1,step=8 && fail "a full disk at the end: the run ended well"
without_banner err >lines
if [ "$(wc -l <lines)" -ne 1 ] ||
    ! grep -q '^minipod train: the last checkpoint was not saved: rank 1: .*step-000000008.part.*: No space left on device$' lines; then
    fail "a full disk at the end: $(cat err)"
fi
rm -r full

# A checkpoint that 'latest' does not point to is not gone on from; launch names the one that is.
MINIPOD_MPIRUN='mpirun --bind-to none' "$minipod" launch -n 2 --backoff 0.1 -- "${run[@]}" --out behind \
    --checkpoint sync --fault 'diskfull:rank=0,step=4,write=22;kill:rank=0,step=5' >out 2>err ||
    fail "a disk full at 'latest': $(cat err)"
grep -q 'that of step 4 is whole, and .latest. not moved to it$' err || fail "'latest' was moved: $(cat err)"
grep -q '^{"from":2,' behind/job/attempt-002.rank-0000.jsonl || fail "goes not on from step 2"
grep -q 'attempt 2 in 0.1 s from step 2, if' err || fail "names another step: $(cat err)"
same_weights behind "a disk full at 'latest'"

# ---- a byte flips -------------------------------------------------------------------------------

trains flipped --checkpoint sync --fault 'corrupt-checkpoint:step=6,rank=1,byte=5000;kill:rank=0,step=8' &&
    fail "corrupt: the run ended well"
trains flipped --resume auto || fail "corrupt: then $(cat err)"
warns corrupt 'flipped/checkpoint/step-000000006/shard-0001.h5: damaged: its CRC-32 is [0-9a-f]{8}, .*; the checkpoint before it is tried$'
same_weights flipped corrupt

# flip FILE: its middle byte
flip() {
    local at=$(($(stat -c %s "$1") / 2)) byte
    byte=$(od -An -tu1 -j $at -N 1 "$1")
    printf '%b' "\\0$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}
for name in index.h5 manifest.json shard-0000.h5; do
    cp -r good flip && flip flip/checkpoint/step-000000008/$name
    trains rest --resume flip --steps 7 || fail "$name: $(cat err)"
    warns $name "flip/checkpoint/step-000000008/$name: "
    "$minipod" eval --model mlp --batch 12 --data glyphs:8x8x1:60+30 --resume flip --csv flip.csv >out 2>err ||
        fail "eval, $name: $(cat err)"
    grep -q ',6,30,' flip.csv || fail "eval, $name: not of step 6: $(cat flip.csv)"
    rm -r flip rest
done

# ---- of another version --------------------------------------------------------------------------

# of_version N FOLDER: its manifest says so, and vouches for that
of_version() {
    local at=$2/manifest.json crc
    head -c -33 "$at" | sed "s/\"version\": 2,/\"version\": $1,/" >body
    crc=$(gzip -c body | tail -c 8 | od -An -tx4 -N 4 --endian=little | tr -d ' ')
    { cat body && printf '  "manifest_crc32": "%s"\n}\n' "$crc"; } >"$at"
}
cp -r good other
of_version 2 other/checkpoint/step-000000008
cmp good/checkpoint/step-000000008/manifest.json other/checkpoint/step-000000008/manifest.json || fail "a manifest as it was"
for version in 1 3; do
    of_version $version other/checkpoint/step-000000008
    said="other/checkpoint/step-000000008/manifest.json: checkpoint of version $version, need 2"
    timeout 60 "$minipod" "${run[@]}" --steps 9 --out rest --resume other/checkpoint/step-000000008 >out 2>err
    [ $? -eq 2 ] && [ "$(cat err)" = "minipod train: $said" ] || fail "version $version, by name: $(cat err)"
    trains other --resume auto --steps 7 || fail "version $version: $(cat err)"
    warns "version $version" "$said; the checkpoint before it is tried\$"
    grep -q '^{"from":6,' "$(ls other/job/*.rank-0000.jsonl | tail -1)" || fail "version $version: goes not on from step 6"
    rm -r other && cp -r good other
done
for step in 4 6 8; do of_version 1 other/checkpoint/step-00000000$step; done
cp -r other before
timeout 60 "$minipod" "${run[@]}" --steps 9 --out other --resume auto >out 2>err
[ $? -eq 2 ] || fail "all of version 1: exit $?"
tail -1 err | grep -q '^minipod train: other/checkpoint: none of 3 checkpoints is whole; the last one: .*: checkpoint of version 1, need 2$' ||
    fail "all of version 1: $(cat err)"
diff -r before other || fail "all of version 1: a run that is refused changes its folder"

[ "$failed" -eq 0 ] && echo "checkpoints: all as it should be"
exit "$failed"
