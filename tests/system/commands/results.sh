#!/usr/bin/env bash
# results.sh MINIPOD: `-` and /dev/stdout as a file of results are standard output, which has nothing else
# then: what is printed besides goes to standard error. Pipes are written as they are. What cannot be written
# is no success.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
export MINIPOD_MPIRUN='mpirun --bind-to none' MINIPOD_PROGRESS=off
train=(train --model mlp --data glyphs:8x8x1:60+30 --batch 12 --steps 3)

# is_alone FORM: all that is in `out`, in whole lines
is_alone() {
    [ -z "$(tail -c 1 out)" ] || return 1
    case $1 in
    csv) is_csv out ;;
    json) [ "$(head -c 1 out)" = '{' ] && [ "$(tail -1 out)" = '}' ] && [ "$(grep -c '^[{}]' out)" -eq 2 ] ;;
    esac
}
# results FORM WORD...: to standard output, by its one name as CSV and by the other as JSON; and what a person
# reads besides
results() {
    local form=$1 to=-
    shift
    [ "$form" = csv ] || to=/dev/stdout
    "$@" --"$form" $to >out 2>err || fail "$* --$form $to: exit $?: $(tail -3 err)"
    is_alone "$form" || fail "$* --$form $to: standard output: $(cat out)"
    [ -s err ] || fail "$* --$form $to: no table on standard error"
    [ ! -e ./- ] && [ ! -e ./-.minipod-part ] || fail "$* --$form: a file called -"
}

on_ranks 2 "${train[@]}" --mesh 2x1 --out run >out 2>err || fail "train: $(cat err)"
grep -Eq '^  all-reduce exposed +[0-9.]+ +ms +a step, mean over ranks$' out || fail "whose all-reduce: $(cat out)"
coll=("$minipod" coll --on local --mesh 2x2 --algo ring -b 1K -e 1K)
kernels=("$minipod" kernels gemm 16x16x16 --iters 1 --warmup-iters 0 --rounds 1)
simulate=("$minipod" simulate --machine tpu-v3 --mesh 2x2 --model mlp --batch 64)
for form in csv json; do
    results $form "${coll[@]}"
    results $form "${kernels[@]}"
    results $form "${simulate[@]}"
    results $form "$minipod" scale --machine tpu-v3 --meshes 1x1,2x2 --model mlp --batch 64
    results $form "$minipod" goodput run
    results $form "$minipod" "${train[@]}"
    results $form on_ranks 2 "${train[@]}" --mesh 2x1
    results $form "$minipod" eval --model mlp --data glyphs:8x8x1:60+30 --batch 12 --resume run
done
results csv "$minipod" simulate --job step=1,bytes=1G,seeds=2 --nodes 4 --mtbf 1000
results json "$minipod" data info glyphs:8x8x1:60+30
results csv "$minipod" launch -n 2 --restarts 0 -- "${train[@]}" --mesh 2x1

# Neither twice, nor beside each other.
"${coll[@]}" --csv - --json /dev/stdout >out 2>err
[ $? -eq 2 ] && [ "$(cat err)" = "minipod coll: json: '/dev/stdout' is standard output, which csv takes" ] ||
    fail "two on standard output: $(cat err)"
"${coll[@]}" --csv - --json coll.json >out 2>err || fail "one of two: $(cat err)"
is_alone csv && [ -s coll.json ] || fail "one of two: $(cat out)"

# refuses LINE WORD...: in one line, before any work
refuses() { is_refused "^minipod $2: $1\$" "$minipod" "${@:2}"; }
eval=(eval --resume run --batch 12)
results csv "$minipod" "${eval[@]}" --predictions pred.csv
"$minipod" "${eval[@]}" --predictions - >out 2>err || fail "predictions: $(cat err)"
is_alone csv && cmp -s out pred.csv && grep -q '^# minipod' err || fail "predictions to standard output: $(cat out err)"
[ ! -e ./- ] || fail "predictions: a file called -"
refuses "csv: '-' is standard output, which predictions takes" "${eval[@]}" --predictions - --csv -
refuses "json: 'x' is the file, which predictions takes" "${eval[@]}" --predictions x --json x
# Nor in place of a file that the command reads, though minipod wrote it.
printf '# minipod 0.1.0\njob,x\n' >jobs.csv
refuses "csv: 'jobs.csv' is the file, which jobs takes" goodput . --jobs jobs.csv --csv jobs.csv
printf '# minipod coll\n' >rules.txt
refuses "autotune: './rules.txt' is the file, which algo takes" coll --algo rules.txt --autotune ./rules.txt
rm jobs.csv rules.txt

# The machine file, too; its measuring takes minutes.
for to in - /dev/stdout; do
    timeout 2 "$minipod" calibrate -o $to >out 2>err
    [ ! -s out ] && grep -q '^measuring one core of ' err && [ ! -e ./- ] && [ ! -e ./-.minipod-part ] ||
        fail "calibrate -o $to: $(cat out err; ls ./-*)"
done
refuses "csv: '-' is standard output, which output takes" calibrate -o - --csv -

# Half files have a name of their own: FILE.part is a person's.
for file in half.csv half.json half.h5; do echo mine >$file.part; done
"${simulate[@]}" --csv half.csv --json half.json >out 2>err && "$minipod" data make glyphs:8x8x1:60+30 -o half.h5 >out 2>err ||
    fail "beside a FILE.part: $(cat err)"
for file in half.csv half.json half.h5; do [ "$(cat $file.part)" = mine ] || fail "$file.part is gone"; done

# A result replaces nothing but one of its kind: no file that the command reads, by whatever name, no note.
"$minipod" data make glyphs:8x8x1:60+30 -o own.h5 >out 2>&1 || fail "a data set: $(cat out)"
of_file=(train --model mlp --data own.h5 --batch 12 --steps 3)
"$minipod" "${of_file[@]}" --out of-file >out 2>err || fail "train: $(cat err)"
ln own.h5 other
echo 'model = mlp' >c1.conf
"$minipod" explain machine --machine tpu-v3 >pod.conf || fail "a machine file"
echo 'allreduce:0-:ring' >rules.conf
echo 'job,s,what' >jobs.csv
echo notes >notes.html
mkdir -p "$XDG_CONFIG_HOME/minipod" && cp pod.conf "$XDG_CONFIG_HOME/minipod/host.conf"
host=$XDG_CONFIG_HOME/minipod/host.conf
checkpoint=run/checkpoint/$(cut -d ' ' -f 1 run/checkpoint/latest)
kept() { find run of-file own.h5 ./*.conf "$host" jobs.csv notes.html -type f ! -name mine.\* -exec cksum {} + | sort; }
before=$(kept)
other_kind() { # OPTION FILE WORD...
    local option=$1 file=$2
    shift 2
    "$minipod" "$@" --"$option" "$file" >out 2>err
    [ $? -eq 2 ] && [ ! -s out ] && grep -q "^minipod $1: $option: '$file' is there and is not .*: move it away, or take another name\$" err ||
        fail "$* --$option $file: $(cat out err)"
}
for form in csv json; do
    for file in own.h5 other c1.conf "$host" run/run.json run/steps.csv run/goodput.json run/mllog.txt; do
        [ $form-$file = csv-run/run.json ] || other_kind $form $file "${eval[@]}" --data own.h5 --conf c1.conf
        other_kind $form $file goodput run
    done
    for file in run/job/attempt-001.rank-0001.jsonl run/checkpoint/latest "$checkpoint"/{index.h5,manifest.json,shard-0000.h5}; do
        other_kind $form "$file" "${train[@]}" --resume run --out beside
    done
    other_kind $form pod.conf "${simulate[@]:1}" --machine pod.conf
    other_kind $form rules.conf "${coll[@]:1}" --algo @rules.conf
    other_kind $form jobs.csv goodput run --jobs jobs.csv
done
other_kind predictions own.h5 eval --resume of-file
other_kind json own.h5 data info own.h5
other_kind autotune rules.conf "${coll[@]:1}" --algo @rules.conf
other_kind csv "$host" calibrate
other_kind output notes.html data make glyphs:8x8x1:6+3
other_kind output notes.html report run
other_kind prometheus run/goodput.json goodput run
refuses "json: 'made.h5' is the file, which output takes" data make glyphs:8x8x1:60+30 -o made.h5 --json made.h5
refuses "json: 'run/run.json' is a file of the run in run" "${train[@]}" --resume run --out beside --json run/run.json
for again in 1 2; do # of its kind, and beside a run
    "$minipod" "${coll[@]:1}" --csv twice.csv --json twice.json >out 2>&1 && "$minipod" data make glyphs:8x8x1:6+3 -o twice.h5 >out 2>&1 &&
        "$minipod" data info twice.h5 --json info.json >out 2>&1 || fail "$again: over its own: $(cat out)"
    "$minipod" "${eval[@]}" --csv run/mine.csv --json "$checkpoint/mine.json" >out 2>err || fail "beside a run: $again: $(cat err)"
done
# Nor does it take the name of a file that goes into --out.
refuses "json: './of-file/run.json' is a file of the run in of-file" "${of_file[@]}" --out of-file --json ./of-file/run.json
refuses "csv: 'new/steps.csv' is a file of the run in new" "${of_file[@]}" --out new --csv new/steps.csv
refuses "json: 'pod/scale.svg' is a file of the run in pod" \
    scale --machine tpu-v3 --meshes 1x1,2x2 --model mlp --batch 64 --out pod --json pod/scale.svg
[ "$before" = "$(kept)" ] || fail "a file that is read has changed"
rm "$host"
# Into the folder of --out, or one above it, that is yet to be made.
comes_with() {
    "$minipod" "$@" >out 2>err && [ -s new/t.csv ] && [ -s new/sub/x.json ] || fail "$*: exit $?: $(cat err)"
    rm -r new
    refuses "json: 'new/./mine' is the file, which csv takes" "$@" --csv new/mine --json new/./mine
    refuses "new/other/t.csv: cannot write: No such file or directory" "$@" --csv new/other/t.csv
    [ ! -e new ] || fail "$1: a refused result has made the folder of --out"
}
to_new=(--out new/sub --csv new/t.csv --json ./new/sub/x.json)
comes_with "${of_file[@]}" "${to_new[@]}"
comes_with simulate --job step=1,bytes=1G,seeds=2 --nodes 4 --mtbf 1000 "${to_new[@]}"
mkdir pod
"${simulate[@]}" --out pod --csv pod/mine.csv --trace >out 2>err && [ -s pod/mine.csv ] || fail "beside: $(cat err)"
for file in pod/*; do # all that it leaves is known
    [ "$file" = pod/mine.csv ] || refuses "csv: '$file' is .*" "${simulate[@]:1}" --out pod --csv "$file"
done
"$minipod" "${of_file[@]}" --out of-file --json of-file/mine.json >out 2>err || fail "beside: $(cat err)"

# What a run takes of memory is what explain says of it: pixels of a file, which the cache may take, included.
"$minipod" data make glyphs:16x16x3:500+60 -o memory.h5 >out 2>err
memory_of() { sed -n 's/.*"memory_bytes_per_core": \([0-9]*\).*/\1/p' memory.json; }
of_set=(--model mlp --batch 20 --data memory.h5)
"$minipod" train "${of_set[@]}" --steps 1 --json memory.json >out 2>err || fail "memory: $(cat err)"
kept=$(memory_of)
"$minipod" explain memory "${of_set[@]}" | grep -Eq "^ *total +$kept " || fail "memory: $kept, $("$minipod" explain memory "${of_set[@]}")"
"$minipod" train "${of_set[@]}" --steps 1 --json memory.json --data-cache 1K >out 2>err
[ $((kept - $(memory_of))) -eq $((560 * 16 * 16 * 3)) ] || fail "memory: $kept with pixels, $(memory_of) without"

# A pipe by its name, and one that bash makes; the table stays where it is.
mkfifo pipe
cat pipe >taken &
"${coll[@]}" --csv pipe >out 2>err || fail "a pipe: $(cat err)"
wait $!
grep -q '^# minipod' out && mv taken out && is_alone csv || fail "a pipe: $(cat out)"
"${coll[@]}" --csv >(cat >taken) >out 2>err || fail "a pipe of bash: $(cat err)"
"${coll[@]}" --csv /dev/null >out 2>err || fail "/dev/null: $(cat err)"
[ -c /dev/null ] && [ ! -s err ] || fail "/dev/null: $(cat err)"

# A reader may leave early. Training saves and stops, and says why; what runs in one go comes to its end.
endless=(train --model mlp --data glyphs:8x8x1:60+30 --batch 12 --steps 1000000 --lr 0.001)
"$minipod" "${endless[@]}" --out unread 2>err | head -n 1 >out
[ "${PIPESTATUS[0]}" -eq 0 ] && [ -e unread/checkpoint/latest ] || fail "train | head: $(cat err)"
[ "$(grep -c '^minipod: standard output has no reader any more: stopping after this step$' err)" -eq 1 ] || fail "train | head: $(cat err)"
"${coll[@]}" --csv unread.csv 2>err | head -n 1 >out
[ "${PIPESTATUS[0]}" -eq 0 ] && [ ! -s err ] && grep -q '^# minipod' unread.csv && ! ls unread.csv?* 2>>err ||
    fail "coll | head: $(cat err)"

# A full disk, whatever it is that was printed; and a reader who has gone is no failure.
full() {
    "$minipod" "$@" >/dev/full 2>err
    local code=$?
    [ $code -eq 1 ] && [ "$(grep -c '^minipod: standard output: cannot write: ' err)" -eq 1 ] ||
        fail "$* on a full disk: exit $code: $(cat err)"
}
if [ -w /dev/full ]; then
    full "${simulate[@]:1}"
    full scale --machine tpu-v3 --meshes 1x1,2x2 --model mlp --batch 64
    full explain machine --machine tpu-v3
    full explain schedule --mesh 4x4
    full "${coll[@]:1}"
    full "${kernels[@]:1}"
    full "${train[@]}"
    full goodput run
    full data info glyphs:8x8x1:60+30
    full --version
    full simulate --help-all
    # Nor is a file that can be opened and not written in full the fault of what was asked for.
    full_file() {
        local form=$1
        shift
        "$minipod" "$@" --"$form" /dev/full >out 2>err
        local code=$?
        [ $code -eq 1 ] && [ "$(cat err)" = "minipod $1: /dev/full: cannot write: No space left on device" ] ||
            fail "$* --$form on a full disk: exit $code: $(cat err)"
        [ $form != csv ] && return
        "$minipod" "$@" --csv nowhere/file >out 2>err
        [ $? -eq 2 ] || fail "$* --csv nowhere: $(cat err)"
    }
    full_file csv "${simulate[@]:1}"
    full_file csv scale --machine tpu-v3 --meshes 1x1,2x2 --model mlp --batch 64
    full_file csv "${coll[@]:1}"
    full_file csv "${kernels[@]:1}"
    full_file csv eval --model mlp --data glyphs:8x8x1:60+30 --batch 12 --resume run
    full_file csv goodput run
    full_file json "${train[@]}"
    full_file json "${coll[@]:1}"
    full_file json data info glyphs:8x8x1:60+30
    full_file csv simulate --job step=1,bytes=1G,seeds=2 --nodes 4 --mtbf 1000
    full_file autotune "${coll[@]:1:5}" -n 2 -b 1K -e 1K
    full_file prometheus goodput run
    # Nor a file of a run's folder.
    for file in steps.csv mllog.txt; do
        mkdir full && ln -s /dev/full full/$file
        "$minipod" "${train[@]}" --out full >out 2>err
        code=$?
        [ $code -eq 1 ] && grep -q "^minipod train: full/$file: cannot write: No space left on device\$" err ||
            fail "$file on a full disk: exit $code: $(cat err)"
        rm -r full
    done
    "$minipod" simulate --mesh 2y2 >/dev/full 2>err
    [ $? -eq 2 ] || fail "a wrong mesh on a full disk: $(cat err)"
fi

# No room for a data set: HDF5 crashed at exit, and of samples that all fit its cache it told nothing.
# no_set KIB PATTERN SAMPLES: the one line matches, and nothing stays there
no_set() {
    (
        trap '' XFSZ
        ulimit -f "$1"
        exec "$minipod" data make "glyphs:$3" -o set.h5
    ) 2>&1 >out | cat >err
    code=${PIPESTATUS[0]}
    [ "$code" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "^minipod data: set.h5.minipod-part: $2 (File too large)\$" err &&
        [ ! -e set.h5 ] && [ ! -e set.h5.minipod-part ] || fail "no room for a data set: exit $code: $(cat err)"
}
no_set 256 "dataset '/train/images': rows [0-9]* to [0-9]* cannot be written" 32x32x3:4000+100
no_set 40 'cannot be written' 16x16x1:300+40
no_set 0 'cannot be made' 16x16x1:300+40
# no_room KIB FILE WORD...: no room for it in a folder; nothing of it stays there
no_room() {
    local kib=$1 file=$2
    shift 2
    rm -rf folder
    (
        trap '' XFSZ
        ulimit -f "$kib"
        "$minipod" "$@" --out folder >out 2>err
        echo $? >code
    )
    [ "$(cat code)" -eq 1 ] && grep -q "^minipod $1: folder/$file: cannot write: " err ||
        fail "no room for $file: exit $(cat code): $(cat err)"
    for left in "folder/$file" folder/*.minipod-part; do
        [ ! -e "$left" ] || fail "no room for $file: $left is left"
    done
}
pod=(simulate --machine tpu-v3 --mesh 2x8x8 --model mlp --batch 4096)
job=(simulate --job step=1,bytes=1G,seeds=2 --nodes 4 --mtbf 1000)
no_room 4 links.csv "${pod[@]}"
no_room 128 timeline.json simulate --machine tpu-v3 --mesh 2x2 --model resnet50 --batch 64 --trace
no_room 4 job.json "${job[@]}"
if command -v gnuplot >/dev/null; then
    no_room 16 links.svg "${pod[@]}"
    no_room 16 scale.svg scale --machine tpu-v3 --meshes 1x1,2x2 --model mlp --batch 64
    no_room 16 job.svg "${job[@]}"
fi
(
    trap '' PIPE
    sleep 0.2
    "$minipod" simulate --help 2>err
    echo $? >code
) | true
[ "$(cat code)" -eq 0 ] && [ ! -s err ] || fail "a reader who has gone: exit $(cat code): $(cat err)"

exit $failed
