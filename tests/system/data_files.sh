#!/usr/bin/env bash
# data_files.sh MINIPOD: files of data sets, by whomever they were written or are being written, and
# what is given as one and is something else.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# says PATTERN WORD...: exit 2 and one line that matches
says() {
    local pattern=$1 code
    shift
    "$minipod" "$@" >out 2>err
    code=$?
    [ $code -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -e "$pattern" err ||
        fail "${*:0:200}: exit $code, want 2 and '$pattern': $(head -c 600 err)"
}

# ---- one writer at a time ----

make=(data make glyphs:32x32x3:4000+100 -o one.h5)
busy='one.h5: cannot write: another process is writing it$'
"$minipod" "${make[@]}" --quiet >first 2>&1 &
writer=$!
until [ -s one.h5.part ] || ! kill -0 $writer; do sleep 0.02; done
kill -STOP $writer # it cannot end before it is asked
says "$busy" "${make[@]}"
says "$busy" simulate --mesh 2x2x2 --model mlp --batch 64 --csv one.h5
kill -CONT $writer
wait $writer || fail "the first of two writers: $(cat first)"
[ ! -e one.h5.part ] && "$minipod" data info one.h5 >out 2>&1 || fail "two writers: $(ls) $(cat out)"
rm one.h5
"$minipod" "${make[@]}" --quiet >first 2>&1 &
writer=$!
until [ -s one.h5.part ] || ! kill -0 $writer; do sleep 0.02; done
kill -KILL $writer
wait $writer 2>/dev/null
"$minipod" data make glyphs:8x8x1:60+30 -o one.h5 >out 2>&1 && [ ! -e one.h5.part ] ||
    fail "after a writer was killed: $(cat out)"

exit $failed
