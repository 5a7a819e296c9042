#!/usr/bin/env bash
# simulate_files.sh MINIPOD: what simulate and scale leave for programs to read: keys, units, and files that do
# not overwrite each other.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
export MINIPOD_PROGRESS=off
simulate=("$minipod" simulate --machine tpu-v3 --mesh 2x2x2 --model mlp --batch 64)
scale=("$minipod" scale --machine tpu-v3 --model mlp --batch 64 --meshes 2x1x1,2x2x2)

"${simulate[@]}" --csv one.csv >out 2>err || fail "simulate: $(cat err)"
grep -q '^forward,' one.csv && ! grep -q '^ ' one.csv || fail "CSV: $(cat one.csv)"
"${scale[@]}" --csv all.csv >out 2>err || fail "scale: $(cat err)"
is_csv all.csv && grep -q '^mesh,cores,batch,clock,step_ms,samples_per_s,speedup,efficiency_pct,' all.csv || fail "CSV: $(cat all.csv)"
! grep -q -e '-0\.00$' -e '-0\.00[ ,]' all.csv out || fail "less than nothing: $(cat all.csv)"

# json FILE EXPRESSION: of Python, on `j`
json() {
    python3 -c "import json, sys; j = json.load(open(sys.argv[1])); sys.exit(not (eval(sys.argv[2])))" "$1" "$2" ||
        fail "$1: not $2: $(cat "$1")"
}
"${simulate[@]}" --json one.json --out one >out 2>err || fail "simulate: $(cat err)"
cmp -s <(grep -v wall_s one.json) <(grep -v wall_s one/simulate.json) || fail "--json and --out tell different things"
json one.json 'j["allreduce_in_flight_s"] >= j["allreduce_exposed_s"] > 0'
json one.json 'isinstance(j["memory_bytes_per_core"], int) and j["memory_bytes_per_core"] > 1e6'
json one.json '0 < j["core_step_s"] <= j["step_s"] * (1 + 1e-9)'
json one.json 'abs(j["allreduce_share"] * j["core_step_s"] - j["allreduce_exposed_s"]) < 1e-9 * j["core_step_s"]'
json one.json '0 < j["busiest_link_share"] <= 1 and "dimension" in j["busiest_link"]'
json one.json 'j["rerouted_messages_per_step"] == 0 and j["cores_simulated"] == j["ranks"] == 8'
"${simulate[@]}" --fault link:rank=0,dim=1 --json cut.json >out 2>err || fail "a link: $(cat err)"
json cut.json 'j["rerouted_messages_per_step"] > 0'
"$minipod" simulate --machine tpu-v3 --mesh 2x32x32 --model mlp --batch 4096 --json pod.json >out 2>err || fail "a pod: $(cat err)"
json pod.json 'j["cores_simulated"] < j["ranks"] == 2048'
"$minipod" simulate --machine tpu-v3 --model mlp --batch 64 --json alone.json >out 2>err || fail "one core: $(cat err)"
json alone.json 'j["busiest_link"] is None and j["busiest_link_share"] is None'

# What is not known is not 0.
target=(simulate --mesh 2x4x4 --model resnet50 --batch 4096 --to-target --json target.json)
"$minipod" "${target[@]}" --machine tpu-v3 >out 2>err || fail "to target: $(cat err)"
json target.json 'j["start_up_s"] is None and j["from_start_s"] is None and j["time_to_target_s"] > 0'
grep -q '^  start-up  *-  *s  *not known: --start-up' out || fail "start-up: $(cat out)"
"$minipod" "${target[@]}" --machine tpu-v3 --start-up 0 >out 2>err || fail "to target: $(cat err)"
json target.json 'j["start_up_s"] == 0 and j["from_start_s"] == j["time_to_target_s"]'
"$minipod" "${target[@]}" --machine multipod >out 2>err || fail "to target: $(cat err)"
json target.json 'j["start_up_s"] == 493'

# A price, of a million samples or of the whole training; 3 M sequences on 16 chips of TPU v3 cost less than $32.
bert=(simulate --preset bert-v0.7-tpu-v3-32 --price 2 --json price.json)
"$minipod" "${bert[@]}" >out 2>err || fail "price: $(cat err)"
json price.json 'abs(j["price"] - 16 * 2 * 1e6 / j["samples_per_s"] / 3600) < 1e-6 and 3 * j["price"] < 32'
json price.json '3e6 / j["samples_per_s"] < 3600 and j["weights_sum_s"] > 0'
"$minipod" "${bert[@]}" --to-target >out 2>err || fail "price to target: $(cat err)"
json price.json 'j["from_start_s"] is None and abs(j["price"] - 16 * 2 * j["time_to_target_s"] / 3600) < 1e-6'
grep -q '^  price .* to target, without start-up, at 2 a chip and hour$' out || fail "price: $(cat out)"
"$minipod" "${bert[@]}" --to-target --start-up 60 >out 2>err || fail "price to target: $(cat err)"
grep -q '^  price .* from start to target, at 2 a chip and hour$' out || fail "price: $(cat out)"
json price.json 'j["samples"] == 2550000 and abs(j["price"] - 16 * 2 * j["from_start_s"] / 3600) < 1e-6'
"$minipod" "${target[@]}" --machine tpu-v3 >out 2>err || fail "to target: $(cat err)"
json target.json 'j["price"] is None'

"${scale[@]}" --json all.json >out 2>err || fail "scale: $(cat err)"
json all.json 'j["schema"] == "minipod.scale" and j["machine"] == "tpu-v3" and j["scaling"] == "strong"'
json all.json '[(p["mesh"], p["ranks"], p["clock"]) for p in j["rows"]] == [("2x1x1", 2, "virtual"), ("2x2x2", 8, "virtual")]'
json all.json 'abs(sum(j["rows"][1]["lost"].values()) + j["rows"][1]["efficiency"] - 1) < 1e-9'
json all.json "j['rows'][1]['step_s'] == $(sed -n 's/.*"step_s": \([^,]*\).*/\1/p' one.json)"

# Explained mesh by mesh, as simulate does it.
"${scale[@]}" --explain --json why.json >out 2>err || fail "scale --explain: $(cat err)"
"${simulate[@]}" --explain --json one.json >alone 2>err || fail "simulate --explain: $(cat err)"
json why.json '[p["explain"]["parts"] != [] for p in j["rows"]] == [True, True]'
json why.json 'j["rows"][1]["explain"] == json.load(open("one.json"))["explain"]'
[ "$(sed -n '/^# mesh 2x2x2, clock virtual, machine tpu-v3$/,$p' out | tail -n +2)" = "$(sed -n '/^# what each part/,$p' alone)" ] ||
    fail "scale --explain: $(cat out)"

# What it was of, whatever gave it.
printf 'bn-group = 2\n' >group.conf
MINIPOD_WIRE=bf16 "${scale[@]}" --conf group.conf --link-bandwidth 0.5 --noise 0.05 --optimizer lars --precision f32 \
    --fault slow:rank=1,factor=2 --csv what.csv --json what.json >out 2>err || fail "scale: $(cat err)"
for line in 'link-bandwidth 0.5' 'noise 0.05' 'optimizer lars' 'precision f32' 'fault slow:rank=1,factor=2' \
    'wire bf16, from the environment' 'bn-group 2, from a --conf file'; do
    grep -q -x -e "# --$line" out && grep -q -x -e "# --$line" what.csv || fail "scale: no --$line: $(head what.csv)"
done
[ "$(grep -c '^# --' out)" = 7 ] || fail "scale: others than those: $(cat out)"
json what.json 'j["options"]["link-bandwidth"] == 0.5 and j["options"]["wire"] == "bf16" and j["options"]["bn-group"] == 2'

# Training for real and the simulation beside it are of the same images.
mkdir ranks
cat >ranks/mpirun <<'END'
#!/bin/sh
echo "$* MINIPOD_TRUST=$MINIPOD_TRUST" >>started
[ "$(id -u)" -ne 0 ] || [ "$OMPI_ALLOW_RUN_AS_ROOT$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM" = 11 ] || exit 1
for word; do case $word in --out=*) out=${word#--out=} ;; esac; done
echo '{"schema": "minipod.run", "step_s": 1, "phase_share": {"forward": 0.5, "backward": 0.5, "reduce": 0, "update": 0}}' >"$out/run.json"
END
chmod +x ranks/mpirun
made_host >made.conf
real=(scale --machine made.conf --batch 64 --meshes 2,4 --on host --json real.json)
# trains DATA IMAGES WORD...: each mesh on that data, and the table says so
trains() {
    local data=$1 images=$2
    shift 2
    rm -f started
    env -u OMPI_ALLOW_RUN_AS_ROOT -u OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PATH="$work/ranks:$PATH" "$minipod" "${real[@]}" "$@" >out 2>err || fail "scale $*: $(cat err)"
    [ "$(grep -c -e " --data=$data " started)" = 2 ] || fail "scale $*: want 2 with $data: $(cat started)"
    grep -q "^# data: $images\$" out || fail "scale $*: no images $images: $(cat out)"
    json real.json "j['data'] == '$data'"
}
made='made, of the size it was published for; --data gives others'
trains glyphs:32x32x3 "glyphs:32x32x3, $made" --model resnet20
trains glyphs:224x224x3 "glyphs:224x224x3, $made" --model resnet50
trains glyphs:8x8x1 glyphs:8x8x1 --model resnet20 --data glyphs:8x8x1
json all.json 'j["data"] is None'
# What a file has is not typed, so that training does not warn of it.
echo 'trust = 0.5' >file.conf
trains glyphs:8x8x1 glyphs:8x8x1 --model resnet20 --data glyphs:8x8x1 --conf file.conf --rho 0.5
grep -q -e ' --rho=0.5 .*MINIPOD_TRUST=0.5$' started && ! grep -q -e '--trust' started || fail "scale: $(cat started)"

# refuses LINE COMMAND...
refuses() { is_refused "^$1\$" "${@:2}"; }
refuses "minipod simulate: json: './both' is the file, which csv takes" "${simulate[@]}" --csv both --json ./both
refuses "minipod scale: json: 'both' is the file, which csv takes" "${scale[@]}" --csv both --json both
[ ! -e both ] || fail "one of two was written"
echo text >afile
for command in simulate scale; do
    declare -n words=$command
    refuses "minipod $command: afile: exists and is no directory" "${words[@]}" --out afile
done

# A mesh that the machine does not have is told before the batch that does not fit it, and before anything ran.
large='mesh 2x64x64: tpu-v3 has 32 chips along dimension 1, found an extent of 64'
refuses "minipod simulate: $large" "$minipod" simulate --machine tpu-v3 --mesh 2x64x64 --model mlp --batch 4096
refuses "minipod scale: $large" "$minipod" scale --machine tpu-v3 --meshes 2x8x8,2x64x64 --model mlp --batch 4096
"$minipod" scale --machine tpu-v3 --meshes 2x1x1 --model mlp --batch 64 --algo shrub --out made >out 2>err
[ $? -eq 2 ] && grep -q shrub err || fail "scale: $(cat err)"
[ ! -e made ] || fail "what is refused leaves a folder"

for list in 2, ,2 2,,4; do
    refuses "minipod scale: meshes: an empty one in '$list'" "$minipod" scale --machine tpu-v3 --meshes "$list" --model mlp
done
refuses 'minipod scale: mesh: --meshes is given too, one of them must go' "${scale[@]}" --mesh 4
MINIPOD_MESH=4 "${scale[@]}" >out 2>err || fail "a mesh of train's: $(cat err)"

# What is below 0 in a table of losses is said where there is such a thing.
gain='^# below 0: a part takes less of the step'
! grep -q "$gain" out || fail "scale: a gain where there is none: $(cat out)"
"$minipod" scale --machine tpu-v3 --model mlp --scaling weak --batch 64 --meshes 2x1x1,2x2x2 --shard-update on >out 2>err ||
    fail "scale: $(cat err)"
grep -q -e '  -[0-9]' out && tail -1 out | grep -q "$gain" || fail "scale: a gain unexplained: $(cat out)"

# A matrix unit takes float32 at the rate that it is costed at.
"${simulate[@]}" --precision f32 --json wide.json >out 2>err || fail "f32: $(cat err)"
json wide.json 'j["precision"] == "f32" and 0 < j["program_goodput"] < 1 and j["ideal_step_s"] > 0'
grep -q '^  program goodput  *[0-9]' out || fail "f32: $(cat out)"

# A step that waits for input does so in the trace, too: as long as in the table.
"$minipod" simulate --machine tpu-v3 --mesh 2x2x2 --model mlp --batch 64 --input-rate 100 --out hungry --trace >out 2>err ||
    fail "input: $(cat err)"
json hungry/timeline.json 'abs(sum(e["dur"] for e in j["traceEvents"] if e.get("ph") == "X" and e["name"].startswith("step ")) - 640e3) < 1'
json hungry/timeline.json '639e3 < sum(e["dur"] for e in j["traceEvents"] if e.get("ph") == "X" and "WAIT_FOR_DATA" in e["name"]) < 640e3'

# What is drawn: links that are not there, and those that have failed, from both of their ends; points and
# the ideal.
mkdir bin
printf '#!/bin/sh\necho GNUPLOT\ntee script\necho "</svg>"\n' >bin/gnuplot
chmod +x bin/gnuplot
PATH=$work/bin:$PATH
# layers STYLE: how many panels have it
layers() { grep -c "$1" script; }
"$minipod" simulate --machine tpu-v3 --mesh 2x3x2 --model mlp --batch 96 --fault link:rank=2,dim=1 --out cut >out 2>err ||
    fail "cut: $(cat err)"
[ "$(layers "fc 'blue'")" = 2 ] && [ "$(layers "fc 'grey70'")" = 4 ] || fail "links.svg: $(cat script)"
failed_at=$(awk '/^plot/ { block = 0; next } /^e$/ { block++; next } block == 2 && /^[0-9]/' script | tr '\n' ';')
[ "$failed_at" = '1 0;2 0;' ] || fail "links.svg: failed at $failed_at: $(cat script)"
"$minipod" simulate --machine tpu-v3 --mesh 2x32x32 --model mlp --batch 4096 --out whole >out 2>err || fail "whole: $(cat err)"
[ "$(layers "fc 'blue'")" = 0 ] && [ "$(layers "fc 'grey70'")" = 0 ] || fail "links.svg: of a whole pod: $(cat script)"
# What the present one does not write is not an earlier one's.
"${simulate[@]}" --out again --trace >out 2>err || fail "again: $(cat err)"
[ -e again/links.svg ] && [ -e again/timeline.json ] || fail "again: $(ls again)"
"$minipod" simulate --machine tpu-v3 --model mlp --batch 64 --out again >out 2>err || fail "again: $(cat err)"
[ "$(ls again | tr '\n' ' ')" = 'links.csv simulate.json ' ] || fail "an earlier simulation's files: $(ls again)"
# Nor is it of a training.
"$minipod" train --model mlp --data glyphs:8x8x1:60+30 --batch 12 --steps 3 --trace --out trained >out 2>err ||
    fail "train: $(cat err)"
cp trained/timeline.json steps.json
for i in 1 2; do
    "$minipod" simulate --machine tpu-v3 --model mlp --batch 64 --out trained >out 2>err || fail "trained: $(cat err)"
    cmp -s steps.json trained/timeline.json || fail "simulation $i: a training's timeline.json: $(ls trained)"
done
"${scale[@]}" --out all >out 2>err || fail "scale: $(cat err)"
[ "$(layers "title 'ideal', '-' .* with linespoints pt 7")" = 2 ] || fail "scale.svg: $(cat script)"

# One that ends well and draws nothing leaves no empty plot.
printf '#!/bin/sh\nexec cat >script\n' >bin/gnuplot
"$minipod" simulate --machine tpu-v3 --mesh 2x3x2 --model mlp --batch 96 --out nothing >out 2>err
[ $? -eq 2 ] && [ "$(cat err)" = 'minipod simulate: nothing/links.svg: cannot write: gnuplot drew nothing' ] ||
    fail "nothing drawn: $(cat err)"
[ "$(ls nothing | tr '\n' ' ')" = 'links.csv simulate.json ' ] || fail "nothing drawn: $(ls nothing)"

exit $failed
