# Sourced by the system tests: a folder of their own, the program, and ranks.
#   minipod, work    the program; the folder, which goes away at the end
#   fail TEXT...     says what went wrong and makes the script end with 1
#   on_ranks N ...   the program on N ranks
#   is_refused PATTERN COMMAND...   that command ends with 2 and one line on standard error that matches, and
#                    prints nothing; leaves out and err
#   made_host        prints a machine file
#   is_csv FILE      whether it is a table as "Result files" in doc/usage.md has it; says why not
# shellcheck shell=bash
set -u
minipod=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/config
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx # as CMakeLists.txt, POD_MPI_ENVIRONMENT
failed=0

fail() {
    echo "FAILED: $*"
    failed=1
}

on_ranks() {
    local n=$1
    shift
    mpirun -n "$n" --bind-to none "$minipod" "$@"
}

is_refused() {
    local code
    "${@:2}" >out 2>err
    code=$?
    [ $code -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] && grep -q -e "$1" err ||
        fail "${*:2}: exit $code, want 2 and '$1': $(cat out err | head -c 600)"
}

# What remains of standard error without the lines that mpirun adds for an exit code that is not 0 (now
# and then one of its event loop, which lost a race as the ranks went), and those of the address sanitizer for memory that a case makes sure is not there.
without_banner() {
    tr -d '\0' <"$1" | sed 's/^ \(rank [0-9]*: \|minipod \)/\1/' | grep -v -e '^-*$' \
        -e 'WARNING: AddressSanitizer failed to allocate' \
        -e '^Primary job  terminated' -e '^a non-zero exit code' \
        -e '^\(mpirun\|prterun\) \(detected\|has exited\|noticed\)' -e '^the job to be terminated' \
        -e '^thus causing the job to be terminated' -e '^signal [0-9]* (' \
        -e '^"abort"\. This may have caused' -e '^terminated by signals sent by prterun' \
        -e '^ *Process name:' -e '^ *Exit code:' -e '^  Proc: ' -e '^  Errorcode: ' \
        -e '^MPI_ABORT was invoked' -e '^with errorcode' -e '^NOTE: invoking MPI_ABORT' \
        -e '^You may or may not see' -e '^exactly when Open MPI kills' -e '^\[warn\] Epoll' -e '\] PMIX ERROR: '
}

# A host's machine file, whose figures are made up.
made_host() {
    cat <<END
name = made
clock = wall
physical_cores = 2
peak_f32_gflop_per_s = 100
peak_bf16_gflop_per_s = 100
copy_l2_gb_per_s = 50
copy_memory_gb_per_s = 10
instr_overhead_us = 0.1
tile_gb_per_s = 20
crowded = 1.25
crowded_memory = 1.25
share_gb_per_s = 10
glyph_pixel_ns = 5
glyph_byte_ns = 5
link_gb_per_s = 5
link_latency_us = 1
reduce_gb_per_s = 50
sync_us = 1
op_time = matmul_bias bf16 ref 784x64 512x64 51380224 970000 500
END
}

# Names that a program can type, each once, then rows of as many cells, none of which is "-".
is_csv() {
    awk 'function bad(what) { print FILENAME ":" FNR ": " what ": " line; failed = 1; exit }
        { line = $0 } /^#/ { next } { gsub(/"([^"]|"")*"/, "quoted"); n = split($0, cell, ",") }
        !columns { columns = n
            for (i = 1; i <= n; i++) if (cell[i] !~ /^[a-z][a-z0-9_]*$/ || seen[cell[i]]++) bad("name " cell[i])
            next }
        n != columns { bad(n " cells, want " columns) }
        { rows++; for (i = 1; i <= n; i++) if (cell[i] == "-" || cell[i] ~ /#/) bad("cell " i) }
        END { if (!failed && !rows) print FILENAME ": no rows"; exit failed || !rows }' "$1"
}
