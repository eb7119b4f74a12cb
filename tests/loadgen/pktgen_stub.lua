-- pktgen_stub.lua SCRIPT LIMIT [CAPACITY]: runs a script of Pktgen without Pktgen. `pktgen` here is a port whose other
-- end echoes up to LIMIT percent of the line rate and loses the rest. A call that Pktgen's Lua interface lacks is an
-- error. Prints what the script prints, then the last settings as NAME VALUE.
local script, limit = arg[1], tonumber(arg[2])
local LINE = 1000 -- frames a second at 100 %
local set, sending, sent, received = {}, false, 0, 0
local sequence = {}

pktgen = {}
function pktgen.set(port, name, value)
	local known = { count = 1, size = 1, rate = 1, burst = 1, sport = 1, dport = 1, prime = 1, seq_cnt = 1 }
	assert(port == "0" and known[name], "set " .. tostring(name))
	set[name] = value
end
function pktgen.set_mac(port, which, mac)
	assert(port == "0" and which == "dst" and mac:match("^%x%x:%x%x:%x%x:%x%x:%x%x:%x%x$"))
	set.mac = mac
end
function pktgen.set_ipaddr(port, which, address)
	assert(port == "0" and (which == "dst" or (which == "src" and address:match("/%d+$"))), "the source needs its prefix")
	set[which] = address
end
function pktgen.set_proto(port, protocol)
	assert(protocol == "udp" or protocol == "tcp" or protocol == "icmp")
	set.protocol = protocol
end
function pktgen.process(port, switch) set.process = switch end
function pktgen.pcap(port, switch) set.pcap = switch end
function pktgen.seqTable(number, port, packet)
	assert(number == #sequence and number < 16, "Pktgen has 16 packets in a sequence, from 0 on")
	for _, name in ipairs({ "eth_dst_addr", "eth_src_addr", "ip_dst_addr", "ip_src_addr", "sport", "dport", "ethType", "ipProto", "vlanid", "pktSize" }) do
		assert(packet[name], name)
	end
	sequence[#sequence + 1] = packet.pktSize
end
function pktgen.clr() sent, received = 0, 0 end
function pktgen.start(port) sending = true end
function pktgen.stop(port) sending = false end
function pktgen.delay(ms)
	if sending then
		local frames = math.floor(LINE * set.rate / 100 * ms / 1000)
		sent = sent + frames
		received = received + math.min(frames, math.floor(LINE * limit / 100 * ms / 1000))
	end
end
function pktgen.portStats(port, kind)
	assert(kind == "port")
	return { [tonumber(port)] = { opackets = sent, ipackets = received } }
end

dofile(script)
for name, value in pairs(set) do
	print("SET", name, value)
end
print("SEQUENCE", table.concat(sequence, " "))
