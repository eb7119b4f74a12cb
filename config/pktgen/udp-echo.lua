-- UDP echo: datagrams in frames of 64 bytes to the server's echo service. Each one has to come back.
package.path = package.path .. ";?.lua;config/pktgen/?.lua"
local common = require("common")

common.udp(7, 64)
local sent, received = common.run(100, common.seconds)
print(string.format("sent %d, received %d, lost %d: %.0f answers a second", sent, received, sent - received, received / common.seconds))
