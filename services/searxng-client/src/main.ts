import { createLogger, createMetrics, listen, runService, startOpsServer } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import { loadSearchConfig } from './config.js';
import { createSearchServer } from './mcp/search-server.js';
import { createSearchMetrics, measurePages, measureSearches } from './metrics.js';
import { createPageOutgoing, createPageReader } from './pages/page-reader.js';
import { createWebSearch } from './web-search.js';

const service = 'searxng-client';
const logger = createLogger({ service, level: process.env['LOG_LEVEL'] || 'info' });

await runService({ logger }, async (stack) => {
  const config = loadSearchConfig(process.env, process.argv.slice(2));
  const registry = createMetrics(service);
  const metrics = createSearchMetrics(registry);
  const { endpoint, credentials } = config;
  const outgoing = createOutgoing(config.proxy);
  stack.defer('connections', () => outgoing.destroy());
  const search = measureSearches(createWebSearch({ endpoint, credentials, outgoing }), metrics);

  const toPages = createPageOutgoing(config.proxy, config.pages?.privateHosts);
  stack.defer('connections to pages', () => toPages.destroy());
  const reader = config.pages && createPageReader({ outgoing: toPages, ...config.pages });
  if (reader) stack.defer('pages that are read', () => reader.close());

  const ops = await startOpsServer({ metrics: registry, ready: () => true, port: config.opsPort });
  stack.defer('operations server', () => ops.close());

  const server = createSearchServer({
    search,
    pages: reader && measurePages(reader, metrics),
    keys: config.keys,
    logger,
    limits: config.limits,
    onLimited: metrics.limited,
    onPageLimited: metrics.pageLimited,
  });
  const http = await listen(server.handler, { port: config.port });
  stack.defer('running searches', () => server.close());
  stack.defer('MCP server', () => http.close());

  if (endpoint === '') logger.warn('SVC_SEARCH_ENDPOINT is empty: searches will fail');
  logger.info({ port: http.port, ops_port: ops.port, proxies: config.proxy.origins }, 'listening');
});
