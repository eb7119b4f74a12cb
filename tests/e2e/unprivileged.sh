#!/usr/bin/env bash
# A server without root: a user without any capability, who owns a TAP interface that root created for him (attach = on). He starts
# it, it serves over one and several queues, is confined, and leaves the interface as it was. Also in a user namespace, as a rootless
# container does, and in one with a network namespace of its own, where nobody has to create anything.
. "$(dirname "$0")/lib.sh"
USER_ID=64198  # has no name and owns nothing else
DEVICE=c10mu0
chmod 711 "$TMP"
new_tap() { # OPTION...: of ip tuntap
    inside ip link del $DEVICE 2>/dev/null || true
    inside ip tuntap add dev $DEVICE mode tap "$@" && inside ip addr add 10.99.0.1/24 dev $DEVICE && inside ip link set $DEVICE up
}
conf() { # LINE...: of [port tap0]; CPU: lines of [cpu]
    write_conf
    sed -i "/^host_address/d; s/^device = .*/device = $DEVICE/; s,^hugetlbfs = .*,hugepage = none," "$TMP/conf"
    sed -i "s,^mount = .*,mount =,; s,^drain_s = .*,&\nuser = auto\nhttp =," "$TMP/conf"
    { printf '%s\n' '[cpu]' "workers_per_core = ${WORKERS:-1}"; sed "/^driver = tap/r /dev/fd/3" "$TMP/conf" 3< <(printf '%s\n' "$@"); } >"$TMP/conf.new"
    mv "$TMP/conf.new" "$TMP/conf"
}
SERVES=$C10M
cat >"$TMP/as_user" <<SH
#!/bin/sh
exec setpriv --reuid $USER_ID --regid $USER_ID --clear-groups --inh-caps=-all --ambient-caps=-all "$SERVES" "\$@"
SH
chmod 755 "$TMP/as_user"
C10M=$TMP/as_user
install -d -o $USER_ID -g $USER_ID "$TMP/run"
export RUNTIME_DIRECTORY=$TMP/run
head -c 10000000 /dev/urandom >"$TMP/site/ten"
head -c 1000003 /dev/urandom >"$TMP/odd"
page() { inside curl -sf -m 5 http://10.99.0.2/ | grep -q hello; }
download() { inside curl -sS -m 120 http://10.99.0.2/ten | cmp - "$TMP/site/ten"; }
uploads() { inside timeout 120 python3 "$HERE/echo_file.py" 10.99.0.2 "$TMP/odd"; }
threads_are() { # FIELD VALUE: of every thread.
    local t
    for t in /proc/"$SERVER"/task/*; do
        [ "$(awk -v f="$1:" '$1 == f { print $2 }' "$t/status")" = "$2" ] || { cat "$t/comm"; grep "^$1" "$t/status"; return 1; }
    done
}
state() { inside sh -c "ip -d link show $DEVICE; ip addr show $DEVICE" | grep -vE 'link/ether|state|inet6|valid_lft|numqueues' | tr -d '\n'; }
checksums_right() {
    inside nstat -asz IpInHdrErrors IpExtInCsumErrors TcpInCsumErrors UdpInCsumErrors | awk '!/^#/ { print; n++; s += $2 } END { exit n != 4 || s != 0 }'
}
entry() { "$SERVES" cat -s "$TMP/run/control.sock" "$@"; }
port() { entry "ports/tap0/${2:-counters}" | awk -v n="$1" '$1 == n { print $2 }'; }
balance_is_zero() { within 20 eval '[ "$(for c in $("$SERVES" ls -s "$TMP/run/control.sock" cores); do entry "cores/${c%/}/counters"; done | awk "\$1 == \"balance\" { print \$2 }" | sort -u)" = 0 ]'; }

second() { says 1 "device $DEVICE: the running server of process [0-9]+ has it" inside "$C10M" serve -c "$TMP/conf" -s control.run_dir="$TMP/run/b" -s control.mount= -s control.name=second$$ -s cpu.exclusive=off; }

cleanup_first() { rm -f /run/lock/c10m-$USER_ID.*; }

told() {
    inside "$SERVES" check -c "$TMP/conf" -s control.name=other$$ -s control.run_dir="$TMP/other" >"$TMP/said" 2>&1 || true
    grep -E "warning: .*core [0-9]+: the running server e2e$$ of user $USER_ID \(process [0-9]+\) has it" "$TMP/said" || { cat "$TMP/said"; return 1; }
}

# ---- refusals, before anything is opened
conf "attach = on"
refused() { says 1 "$1" inside "$C10M" "${2:-check}" -c "$TMP/conf"; }
claim "without the interface: check says how root creates it" refused "conf:[0-9]+: .*there is no interface $DEVICE: ip tuntap add dev $DEVICE mode tap user USER multi_queue"
claim "an interface of another user's" new_tap user 1 multi_queue
claim "... is refused at the start, with its place" refused "conf:[0-9]+: .*interface $DEVICE belongs to another user" serve
claim "... and stays" inside ip link show $DEVICE
claim "an interface of his own" new_tap user $USER_ID multi_queue
inside ip link set $DEVICE mtu 4000
claim "... whose MTU the port cannot take is refused" refused "mtu = 1500, and interface $DEVICE sends packets of 4000 bytes: ip link set $DEVICE mtu 1500"
inside ip link set $DEVICE mtu 1500
conf
claim "without attach it is refused, and the remedy said" refused "interface $DEVICE exists already, and c10m did not make it: choose another one, or attach = on"
conf "attach = on" "host_address = 10.99.0.1/24"
claim "an address for the kernel's side is not its business" says 2 "host_address: expected no address with attach = on" inside "$C10M" check --syntax -c "$TMP/conf"
inside ip link add va type veth peer name vb
DEVICE=va conf "attach = on"
claim "an interface that is no TAP is refused" refused "interface va is no TAP interface|belongs to another user|interface va: " serve
inside ip link del va

# ---- it serves
BEFORE=$(state)
for WORKERS in 1 3; do
    conf "attach = on"
    claim "$WORKERS worker(s): the server starts without root" start_server
    [ "$FAILED" = 0 ] || finish
    claim "... every thread is the user's" threads_are Uid $USER_ID
    claim "... and has no capability" eval 'threads_are CapPrm 0000000000000000 && threads_are CapEff 0000000000000000'
    claim "... and a filter of system calls" threads_are Seccomp 2
    claim "... it has a queue for each worker" eval '[ "$(ls "/proc/$SERVER/fd" -l | grep -c /dev/net/tun)" = $WORKERS ]'
    claim "... a page" page
    claim "... 10 MB arrive exactly" download
    claim "... 1 MB up and down again arrives exactly" uploads
    claim "... the kernel found no wrong checksum" checksums_right
    claim "... every packet is accounted for" balance_is_zero
    claim "... the link is up" eval '[ "$(port status link)" = up ]'
    inside ip link set $DEVICE down
    claim "... and down when root takes it down" within 20 eval '[ "$(port status link) $(port reason link)" = "down set_down" ]'
    inside ip link set $DEVICE up
    claim "... and serves again when it is up" within 60 page
    claim "... the server stops" stop_server
    claim "... and leaves the interface as it was" eval '[ "$(state)" = "$BEFORE" ] || { echo "$BEFORE"; state; false; }'
    claim "... and no mount" eval '! grep -q " $TMP/" /proc/mounts'
done
WORKERS=1
conf "attach = on"
claim "a server starts" start_server
claim "... and a second one on its interface is refused" second
claim "... root is told that its core has a server of this user" told
lock() { ls /run/lock/c10m-$USER_ID.$DEVICE@*; }
killed() { kill -9 "$SERVER" && ! wait "$SERVER" && SERVER= && lock; }
claim "it is killed, and leaves its lock" killed
claim "... which clean would remove" says 0 "would remove lock /run/lock/c10m-$USER_ID.$DEVICE@" "$C10M" clean --dry-run -c "$TMP/conf"
claim "... and does" eval 'lock && says 0 "removed lock /run/lock/c10m-$USER_ID.$DEVICE@" "$C10M" clean -c "$TMP/conf" && ! lock'
claim "it is started again on the same interface" eval 'start_server && page'
clean_keeps() { "$C10M" clean -c "$TMP/conf" -s control.name=other$$ -s control.run_dir="$TMP/run/other" -s control.mount=; lock; }
claim "... and clean of another one leaves its lock" clean_keeps
claim "... and stops" stop_server
claim "an interface without multi_queue" new_tap user $USER_ID
WORKERS=3
conf "attach = on"
claim "... serves three workers by one queue" eval 'start_server && page && download && [ "$(ls "/proc/$SERVER/fd" -l | grep -c /dev/net/tun)" = 1 ]'
claim "... and a second server is refused" second
claim "... and stops" stop_server

# ---- user namespaces
sed -i "s,\"$SERVES\",unshare --user --map-root-user &," "$TMP/as_user"
WORKERS=1
conf "attach = on"
sed -i "s,^user = .*,user = root," "$TMP/conf"
if inside "$TMP/as_user" version >"$TMP/out" 2>&1; then
    claim "in a user namespace, as its root: the server starts" start_server
    claim "... a page" page
    claim "... and stops" stop_server
    inside ip link del $DEVICE
    sed -i "s/--user --map-root-user/& --net/" "$TMP/as_user"
    sed -i "/^attach = on/d; s,^address = .*,&\nhost_address = 10.99.0.1/24," "$TMP/conf"
    inside() { if [ "$1" = curl ]; then nsenter --user="/proc/$SERVER/ns/user" --net="/proc/$SERVER/ns/net" "$@"; else nsenter --net=/run/netns/"$NS" "$@"; fi; }
    claim "with a network namespace of its own, where it creates the interface: the server starts" start_server
    claim "... a page" page
    claim "... and stops" stop_server
else
    echo "skip user namespaces: $(cat "$TMP/out")"
fi
finish
