#!/bin/sh
# The proxy's container: a packet filter first, then Squid. REFUSED holds the host's own addresses
# and networks.
set -eu

four="0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12
192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4"
six="::/127 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2002::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8"
# The host's networks come first: Squid ignores a network that follows one within it.
for network in ${REFUSED:-}; do
    case $network in *:*) six="$network $six" ;; *) four="$network $four" ;; esac
done

# Without IPv6 here Squid can neither reach such an address nor read one.
[ -s /proc/net/if_inet6 ] || six=""
printf '%s\n' $four $six > /run/refused.conf
# An upstream proxy may be in a network that is otherwise refused.
PEER=""
[ -z "${PARENT:-}" ] || PEER="ip daddr ${PARENT%:*} tcp dport ${PARENT##*:} accept"
SIX=$(echo ${six:-::1} | tr ' ' ',')
nft -f - <<RULES
table inet studio {
    set four { type ipv4_addr; flags interval; auto-merge; elements = { $(echo $four | tr ' ' ',') } }
    set six { type ipv6_addr; flags interval; auto-merge; elements = { ${SIX} } }
    chain out {
        type filter hook output priority 0; policy accept;
        ct state established,related accept
        oifname "lo" accept
        udp dport 53 accept
        tcp dport 53 accept
        ${PEER}
        ip daddr @four reject
        ip6 daddr @six reject
    }
    chain sandboxes { accept; }
    chain in {
        type filter hook input priority 0; policy drop;
        ct state established,related accept
        iifname "lo" accept
        ip saddr 198.18.0.0/15 tcp dport 3128 jump sandboxes
    }
    chain forward { type filter hook forward priority 0; policy drop; }
}
RULES
# No sandbox takes more than its share of the connections that Squid can hold and accept; what goes
# beyond waits: the sandbox's kernel repeats it after a second. What is refused by the rate is not
# counted as open. A kernel that cannot count connections limits none.
nft -f - <<RULES || echo "The kernel cannot count a sandbox's connections: they are not limited." >&2
flush chain inet studio sandboxes
table inet studio {
    set recent { type ipv4_addr; size 65536; flags dynamic,timeout; timeout 1m; }
    set open { type ipv4_addr; size 65536; flags dynamic; }
    chain sandboxes {
        update @recent { ip saddr limit rate over 100/second burst 200 packets } drop
        add @open { ip saddr ct count over 64 } drop
        accept
    }
}
RULES
config=/opt/studio/proxy/squid.conf
if [ -n "${PARENT:-}" ]; then
    config=/run/squid.conf
    cat /opt/studio/proxy/squid.conf - > $config <<PEER
cache_peer ${PARENT%:*} parent ${PARENT##*:} 0 no-query default
never_direct allow all
PEER
fi
# The application holds a lock for as long as it lives. Whatever ends it releases the lock, and
# that ends this container; so does the end of Squid.
{ squid -N -f $config; kill $$; } &
exec flock --shared /run/studio/lock true
