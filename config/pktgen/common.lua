-- common.lua: what the Pktgen scripts of this folder share. Change the addresses here.
-- The server is 198.18.0.2 and has the generator, 198.18.0.1, as its gateway (docs/load-testing.md).
local common = {
	port = "0",
	server_mac = "02:c1:0a:00:00:02",
	server = "198.18.0.2",
	generator = "198.18.0.1/24",
	seconds = 30,
}

-- Sends datagrams to one UDP port of the server, in frames of `bytes`, the FCS included.
function common.udp(to_port, bytes)
	local p = common.port
	pktgen.set_mac(p, "dst", common.server_mac)
	pktgen.set_ipaddr(p, "dst", common.server)
	pktgen.set_ipaddr(p, "src", common.generator)
	pktgen.set_proto(p, "udp")
	pktgen.set(p, "sport", 1024)
	pktgen.set(p, "dport", to_port)
	pktgen.set(p, "size", bytes)
	pktgen.set(p, "count", 0)
	pktgen.process(p, "on") -- answers the server's ARP requests
end

-- Frames sent and received by the port since the last clr().
function common.counts()
	local stats = pktgen.portStats(common.port, "port")[tonumber(common.port)]
	return stats.opackets, stats.ipackets
end

-- Sends for some seconds at a rate in percent of the line, waits for the last answers, and returns the counts.
function common.run(percent, seconds)
	pktgen.clr()
	pktgen.set(common.port, "rate", percent)
	pktgen.start(common.port)
	pktgen.delay(seconds * 1000)
	pktgen.stop(common.port)
	pktgen.delay(1000)
	return common.counts()
end

return common
