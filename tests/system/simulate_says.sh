#!/usr/bin/env bash
# simulate_says.sh MINIPOD: what a simulation says of itself: the settings in force, what was given, who is slow
# and what would help, in the table, the CSV and the JSON.
# shellcheck source=tests/system/common.sh
. "$(dirname "$0")/common.sh"
pod=(simulate --machine tpu-v3 --mesh 2x4x4 --model resnet20 --batch 512)

# says PATTERN WORD...: ends with 0 and prints that on standard output
says() {
    local pattern=$1
    shift
    "$minipod" "$@" >out 2>err || fail "$*: exit $?: $(head -c 300 err)"
    grep -q -E -e "$pattern" out || fail "$*: no '$pattern' in: $(head -c 3000 out)"
}

# has FILE PATTERN: the last command left that in the file
has() {
    grep -q -E -e "$2" "$1" || fail "$1: no '$2' in: $(head -c 3000 "$1")"
}

# step FILE: the step of a simulation's JSON, in picoseconds
step() {
    awk '/"step_s"/ { printf "%.0f\n", $2 * 1e12 }' "$1"
}

# ---- the bucket in force is that of the help, and typing it changes nothing
"$minipod" simulate --help >help
has help 'a simulated pod.s, unless given: 32M'
says '^  bucket +33554432 +bytes +32M: .*by default' "${pod[@]}" --json default.json
has default.json '"bucket_bytes": 33554432'
says '^  bucket +33554432 +bytes +32M: [a-z -]*$' "${pod[@]}" --bucket 32M --json typed.json
[ "$(step default.json)" = "$(step typed.json)" ] || fail "--bucket 32M is not the default"
says '^  bucket +65536 ' "${pod[@]}" --bucket 64K --json small.json
[ "$(step default.json)" != "$(step small.json)" ] || fail "a small bucket takes the same time"

exit $failed
