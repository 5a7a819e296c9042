#!/usr/bin/env bash
# quickstart.sh MINIPOD QUICKSTART: what is typed wrong ends bench/quickstart behind the build, before
# anything is measured. Packages and build are left out, and neither calibrate nor mpirun is the real one.
quickstart=$(realpath "$2")
# shellcheck source=tests/system/common.sh
. "$(dirname "$0")/../common.sh"
mkdir -p bench tests build/release/bench models bin
cp "$quickstart" bench/quickstart
ln -s "$(dirname "$quickstart")/../models/conf" models/conf
sed '/^install_packages()/,$d' "$(dirname "$quickstart")/../tests/setup.sh" >tests/setup.sh
echo 'install_packages() { :; }; build_program() { :; }' >>tests/setup.sh
cat >build/release/bench/minipod <<END
#!/usr/bin/env bash
[ "\$1" != calibrate ] || { echo "\$*" >measured; echo 'a row'; exit \$(cat measures 2>/dev/null || echo 0); }
exec "$minipod" "\$@"
END
printf '#!/usr/bin/env bash\necho "$*" >started\n' >bin/mpirun
chmod +x build/release/bench/minipod bin/mpirun
export PATH=$work/bin:$PATH

# refuses PATTERN WORD...: in one line on standard error, and nothing is measured
refuses() {
    local pattern=$1 code
    shift
    rm -f measured started
    bench/quickstart "$@" >out 2>err
    code=$?
    [ $code -eq 2 ] || fail "$*: exit $code, want 2: $(cat out err)"
    [ "$(wc -l <err)" -eq 1 ] && grep -q -e "$pattern" err || fail "$*: no '$pattern' in: $(cat err)"
    [ ! -e measured ] && [ ! -e started ] || fail "$*: was measured or begun"
}
refuses '--mistyped: there is no such option' --mistyped 3
refuses "lr: 'fast' is not a finite number" --lr fast
refuses '--seed: a value is missing' --seed
bench/quickstart --seed 2 --csv mine.csv >out 2>err || fail "exit $?: $(cat out err)"
[ "$(cat measured)" = 'calibrate --only peak' ] && [ ! -e mine.csv ] && [ ! -s err ] || fail "not measured, or more: $(cat out err)"
grep -q 'minipod train --mesh 2x2 --conf .* --out runs/quickstart --seed 2 --csv mine.csv$' started ||
    fail "started as: $(cat started)"
! grep -q 'a row' out || fail "prints rates: $(cat out)"
echo 2 >measures
bench/quickstart >out 2>err && [ -e started ] && grep -q 'a row' err && grep -q 'not measured' out ||
    fail "no peak: $(cat out err)"
[ ! -e runs ] || fail "the check leaves $(find runs)"
exit $failed
