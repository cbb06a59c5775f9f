import { setTimeout as sleep } from 'node:timers/promises';
import { startModelServer } from '@uswarm/dev-servers';
import { createSearchServer, type WebSearch } from '@uswarm/searxng-client';
import { listen, parseSigningKey, silentLogger } from '@uswarm/service-kit';
import { monotonicMs, type Observation } from './observations.js';
import { createPlanScript, type PlannedRequest } from './plan.js';

// The servers outside uswarm: the scripted model server, and the MCP server with the tool. They report what they see.

/** Milliseconds that the tool works. */
const TOOL_MS = 25;
const UNLIMITED = 1_000_000;

const report = (observation: Observation): void => void process.send?.(observation);

const requests = new Map<number, PlannedRequest>();
const model = await startModelServer({
  script: createPlanScript((request, index) => {
    requests.set(index, request);
    report({ what: 'asked', at: monotonicMs(), turn: request.plan.id, results: request.results });
  }),
  onEnd(index, complete) {
    const request = requests.get(index);
    requests.delete(index);
    if (request === undefined) return;
    const { plan, results } = request;
    report({ what: complete ? 'answered' : 'cut', at: monotonicMs(), turn: plan.id, results });
  },
});

const search: WebSearch = {
  async search(args) {
    const query = String(args.query);
    const from = monotonicMs();
    await sleep(TOOL_MS);
    const result = { title: query, url: 'https://example.com/', snippet: 'A finding. '.repeat(20), engine: 'bench' };
    report({ what: 'searched', from, at: monotonicMs(), query });
    return { status: 'ok', results: [result, result, result], unresponsive_engines: [], notes: [] };
  },
};
const tools = createSearchServer({
  search,
  keys: [parseSigningKey(process.env['SVC_MCP_SIGNING_KEY'] ?? '')],
  logger: silentLogger,
  limits: { perMinute: UNLIMITED, concurrent: UNLIMITED },
  allowedHosts: ['127.0.0.1'],
});
const http = await listen(tools.handler, { host: '127.0.0.1', port: 0 });

// A message requests the number of tokens that the model server has sent.
process.on('message', () => process.send?.({ tokens: model.usageCounted.completionTokens }));
process.send?.({ modelUrl: model.baseUrl, toolUrl: `${http.url}/mcp` });
process.once('disconnect', () => process.exit(0));
process.once('SIGTERM', () => process.exit(0));
