-- SPDX-License-Identifier: Apache-2.0
-- question: Which CUDA graphs were made, and what did each cost?
-- column pid id: of the process that made it
-- column graph id: handle of the executable graph, which means something only in its process
-- column nodes count: in the graph
-- column capture_ns ns: begin to end of the capture
-- column instantiate_ns ns: in cuGraphInstantiate
-- column upload_ns ns: in cuGraphUpload
-- column first_replay_ns ns: in the first launch
-- caveat: Host time of the calls, not time on the device.
SELECT p.pid, g.graph_id AS graph, g.nodes, g.capture_ns, g.instantiate_ns, g.upload_ns, g.first_replay_ns
FROM graph g LEFT JOIN process p ON p.run = g.run AND p.id = g.process
WHERE g.run = :run
ORDER BY g.id;
