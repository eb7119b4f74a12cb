-- IMIX: datagrams to the echo service in frames of 64, 594 and 1,518 bytes, in the ratio 7 : 4 : 1.
package.path = package.path .. ";?.lua;config/pktgen/?.lua"
local common = require("common")

local sizes = { 64, 594, 64, 594, 64, 1518, 64, 594, 64, 594, 64, 64 }

common.udp(7, 64)
for i, bytes in ipairs(sizes) do
	pktgen.seqTable(i - 1, common.port, {
		["eth_dst_addr"] = common.server_mac,
		["eth_src_addr"] = "02:c1:0a:00:00:01",
		["ip_dst_addr"] = common.server,
		["ip_src_addr"] = common.generator,
		["sport"] = 1023 + i,
		["dport"] = 7,
		["ethType"] = "ipv4",
		["ipProto"] = "udp",
		["vlanid"] = 1,
		["pktSize"] = bytes,
	})
end
pktgen.set(common.port, "seq_cnt", #sizes)
local sent, received = common.run(100, common.seconds)
pktgen.set(common.port, "seq_cnt", 0)
print(string.format("sent %d, received %d, lost %d", sent, received, sent - received))
