#!/usr/bin/env bash
# two_hosts.sh MINIPOD HANG: a job over two hosts from a hostfile. Shared memory within each
# and TCP between give right results, and the losses of one host; a rank that dies on one ends both, and one
# that hangs is named, whether another of its host sees it or it is alone there.
#
#     here ---- bridge ---- node1   a host has a network, a name, processes and a /dev/shm of its own:
#                    \----- node2   namespaces of this machine, gone with the first process of this script
#
# mpirun is started here; its agent is to the hosts what ssh is elsewhere.

isolated=(unshare --net --mount --uts --pid --fork --kill-child --mount-proc)
[ "$(id -u)" -eq 0 ] || isolated+=(--map-root-user)
if [ -z "${IN_TWO_HOSTS:-}" ]; then
    missing=
    for tool in unshare nsenter ip mount hostname; do
        command -v $tool >/dev/null || missing="no $tool"
    done
    if [ -z "$missing" ]; then
        missing=$("${isolated[@]}" sh -ec 'hostname node0
            mount -t tmpfs shm /dev/shm
            ip link add br0 type bridge
            ip link add v0 type veth peer name eth0' 2>&1) && missing=
    fi
    if [ -n "$missing" ]; then
        echo "skipped: two hosts: $(head -n 1 <<<"$missing")"
        exit 0
    fi
    IN_TWO_HOSTS=1 exec "${isolated[@]}" "$0" "$@"
fi

hang=$(realpath "$2")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"

# ---- the hosts ----------------------------------------------------------------------------------

on_host() { # NAME COMMAND...
    local pid
    pid=$(cat "$work/$1.pid")
    shift
    nsenter --target "$pid" --net --uts --mount --pid="/proc/$pid/ns/pid_for_children" "$@"
}

make_host() { # NAME ADDRESS
    # shellcheck disable=SC2016
    unshare --net --uts --mount --pid --fork --mount-proc sh -ec 'hostname "$1"
        mount -t tmpfs shm /dev/shm
        mount -t tmpfs session "$2/session"
        touch "$2/$1.up"
        while sleep 0.2; do :; done # and reaps whom a daemon leaves' sh "$1" "$work" &
    echo $! >"$1.pid"
    for ((i = 0; i < 500; i++)); do
        [ ! -e "$1.up" ] || break
        sleep 0.01
    done
    ip link add "to_$1" type veth peer name eth0 netns "$(cat "$1.pid")" &&
        ip link set "to_$1" master br0 up &&
        on_host "$1" ip link set lo up &&
        on_host "$1" ip addr add "$2/24" dev eth0 &&
        on_host "$1" ip link set eth0 up || fail "$1: cannot be made"
}

mkdir session
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.0.1/24 dev br0
ip link set br0 up
make_host node1 10.77.0.11
make_host node2 10.77.0.12
printf 'node1 slots=2\nnode2 slots=2\n' >hosts
# As with ssh, nothing of this environment comes along.
{
    printf '#!/usr/bin/env bash\nwork=%q\n' "$work"
    declare -f on_host
    # shellcheck disable=SC2016
    echo 'on_host "$1" env -i PATH="$PATH" sh -c "${*:2}"'
} >agent
chmod +x agent
export OMPI_MCA_plm_rsh_agent=$work/agent OMPI_MCA_orte_tmpdir_base=$work/session OMPI_MCA_btl=tcp,self,vader

on_hosts() { # [OPTION OF MPIRUN]... PROGRAM ARGUMENT..., $ranks of it or 4
    timeout -k 2 120 mpirun --hostfile hosts -n "${ranks:-4}" --bind-to none -x XDG_CONFIG_HOME \
        ${ASAN_OPTIONS:+-x ASAN_OPTIONS} "$@"
}

# ---- collectives and training -----------------------------------------------------------------

all=(coll --mesh 2x2 --algo all -b 1K -e 1M -f 32 -n 2 -w 1 --rounds 2 --buffers hot --progress off)
for by in slot node; do
    on_hosts --map-by $by "$minipod" "${all[@]}" >$by 2>err || fail "by $by: exit $?: $(without_banner err)"
    [ "$(grep -v '^#' $by | awk 'NF > 5 { print $9 }' | sort -u)" = 0 ] || fail "by $by: wrong: $(cat $by)"
    [ "$(grep -c ' mpi  *2x2 ' $by)" = 3 ] || fail "by $by: mpi is not there at 3 sizes"
    grep -q '^# host node1, ' $by || fail "by $by: $(grep '^# host' $by)"
done
# Slot by slot two ranks of a node follow one another; in turns a node has none that do.
grep -q '^# direct refuses: the group spans more than one node$' slot || fail "by slot: $(grep refuses slot)"
[ "$(grep -c ' hierarchical  *2x2 ' slot)" = 3 ] || fail "by slot: hierarchical refuses"
grep -q '^# hierarchical refuses: no ranks share memory$' node || fail "by node: $(grep refuses node)"
on_hosts "$minipod" coll --on shm -b 1K -e 1K >out 2>err && fail "--on shm takes two hosts"
grep -q 'on: shm is of one node, found 4 ranks on several' err || fail "--on shm: $(without_banner err)"

cores=$(lscpu -p=core,socket | grep -v '^#' | sort -u | wc -l)
has_cores() { # FILE HOSTS RANKS-OF-A-HOST: what a run's table says of them
    local note='$' held=$(($(nproc) < cores ? $2 * $(nproc) : $2 * cores))
    [ $(($2 * $3)) -le $held ] || note="  *ranks share $held cores*: "
    [ $(($2 * $3)) -le $held ] || [ $held -eq $(($2 * cores)) ] || note="  *ranks may run on $held of them, and share (it|those): "
    grep -Eq "^  physical cores  *$(($2 * cores)) *$note" "$1" || fail "$2 hosts: $(grep 'physical cores' "$1")"
}

losses() { grep -o 'loss .* accuracy [0-9.]*' "$1"; }
# Whatever the order in which the hosts' ranks are summed, the bits of an exact sum are the same.
train=(train --model mlp --mesh 2x2 --steps 20 --precision f32 --wire exact)
on_hosts --map-by slot "$minipod" "${train[@]}" >two 2>err || fail "train: exit $?: $(without_banner err)"
on_hosts --host node1:4 "$minipod" "${train[@]}" >one 2>err || fail "train: exit $?: $(without_banner err)"
has_cores two 2 2
has_cores one 1 4
[ -n "$(losses one)" ] && [ "$(losses one)" = "$(losses two)" ] ||
    fail "train: $(losses two) on two hosts, $(losses one) on one"

# ---- a rank dies on the second host -------------------------------------------------------------

what_is_left() { # NAME: processes but the first and those that look, files in shared memory and of the session
    # shellcheck disable=SC2016
    on_host "$1" sh -c 'for p in /proc/[0-9]*; do
            read -r name <"$p/comm" && case $name in sh | sleep) ;; *) echo "$name" ;; esac
        done
        find /dev/shm "$1/session" -type f' sh "$work" 2>/dev/null
}

for carrier in shm mpi; do
    began=$SECONDS
    on_hosts --map-by slot "$hang" dies $carrier 0 0 >out 2>&1 && fail "$carrier killed: exit 0"
    [ $((SECONDS - began)) -le 10 ] || fail "$carrier killed: took $((SECONDS - began)) s"
    grep -Eq '^rank [013]: .*waiting for .*rank 2.* in allreduce ring 400K #2[01]$' out ||
        fail "$carrier killed: nobody names rank 2 and the collective: $(cat out)"
    for host in node1 node2; do
        for ((i = 0; i < 20; i++)); do # daemons end a little after mpirun
            left=$(what_is_left $host)
            [ -n "$left" ] || break
            sleep 0.1
        done
        [ -z "$left" ] || fail "$carrier killed: left on $host: $left"
    done
done

# ---- a rank hangs on the second host ------------------------------------------------------------

for ranks in 2 4; do
    by=slot
    [ $ranks = 4 ] || by=node
    on_hosts --map-by $by "$hang" begin shm 0 2 >out 2>&1
    [ $? = 1 ] || fail "hang of $ranks ranks: exit $?"
    [ "$(grep -c 'did not arrive' out)" = 1 ] || fail "hang of $ranks ranks: not one line: $(cat out)"
    grep -q "rank $((ranks / 2)) did not arrive in allreduce ring 400K #20, step 20, for 2 s: ending the job" out ||
        fail "hang of $ranks ranks: rank $((ranks / 2)) is not named: $(cat out)"
done
unset ranks

[ "$failed" -eq 0 ] && echo "two_hosts: all as it should be"
exit "$failed"
