-- RFC 2544 26.1, throughput: for each frame size the highest rate at which no frame is lost. The echo service returns
-- each frame, so that one port sends and receives. A binary search of ten trials of ten seconds finds the rate, which a
-- trial of 60 seconds confirms (RFC 2544 24). Rates are in percent of the line.
package.path = package.path .. ";?.lua;config/pktgen/?.lua"
local common = require("common")

local sizes = { 64, 128, 256, 512, 1024, 1280, 1518 }
local trials, trial_seconds, confirm_seconds = 10, 10, 60

local function lost(percent, seconds)
	local sent, received = common.run(percent, seconds)
	print(string.format("    %7.3f %%, %d s: sent %d, lost %d", percent, seconds, sent, sent - received))
	return sent == 0 or sent > received
end

-- The highest rate without loss, or nil if not even the lowest rate tried is without.
local function search()
	if not lost(100, trial_seconds) then
		return 100
	end
	local good, bad = 0, 100
	for _ = 1, trials do
		local middle = (good + bad) / 2
		if lost(middle, trial_seconds) then
			bad = middle
		else
			good = middle
		end
	end
	return good > 0 and good or nil
end

for _, bytes in ipairs(sizes) do
	common.udp(7, bytes)
	print(string.format("%d bytes", bytes))
	local rate = search()
	-- A rate that does not hold for the whole confirmation is lowered by a hundredth until one does.
	while rate and rate > 1 and lost(rate, confirm_seconds) do
		rate = rate * 0.99
	end
	print(string.format("RESULT %d bytes: %s", bytes, rate and rate > 1 and string.format("%.3f %%", rate) or "none"))
end
