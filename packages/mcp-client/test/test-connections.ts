import { createMcpConnections, type McpConnectionDeps, type McpConnections } from '../src/connections.js';

const LIMIT_MS = 5_000;

export const testConnections = (endpoint: string, deps: Partial<McpConnectionDeps> = {}): McpConnections =>
  createMcpConnections({
    endpoint,
    client: { name: 'test-client', version: '1.2.3' },
    listTimeoutMs: LIMIT_MS,
    callTimeoutMs: LIMIT_MS,
    maxCallMs: LIMIT_MS,
    ...deps,
  });
