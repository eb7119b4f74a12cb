-- Sends the frames of a capture (make-captures) again and again: pktgen ... -- -s 0:syn.pcap -f flood.lua
-- What the server makes of them is in its counters (docs/load-testing.md).
package.path = package.path .. ";?.lua;config/pktgen/?.lua"
local common = require("common")

pktgen.pcap(common.port, "on")
pktgen.process(common.port, "on")
pktgen.set(common.port, "count", 0)
local sent, received = common.run(100, common.seconds)
pktgen.pcap(common.port, "off")
print(string.format("sent %d, received %d", sent, received))
