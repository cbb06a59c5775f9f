import type { RequestListener } from 'node:http';
import { startRestartableServer } from './restartable-server.js';

export type HookMode = 'none' | 'down' | 'error' | 'malformed' | 'slow';

/** A webhook that can be made to fail. */
export interface HookServer {
  url: string;
  /** Number of received calls, including those without a response. */
  calls(): number;
  setMode(mode: HookMode): Promise<void>;
  close(): Promise<void>;
}

/** Malformed responses; each violates another rule. */
const MALFORMED = [
  '<html>',
  '[]',
  '{"error":"internal error"}',
  '{"status":{},"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"default"}}]}',
  '{"status":{},"children":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default"}}]}',
];

export async function startHookServer(handler: RequestListener): Promise<HookServer> {
  let mode: HookMode = 'none';
  let calls = 0;
  const answer: RequestListener = (request, response) => {
    calls += 1;
    if (mode === 'none') handler(request, response);
    else if (mode === 'error') response.writeHead(500).end('{"error":"internal error"}');
    else if (mode === 'malformed') response.writeHead(200).end(MALFORMED[calls % MALFORMED.length]);
    else request.resume();
  };
  const server = await startRestartableServer(answer);
  return {
    url: `http://127.0.0.1:${server.port}/sync`,
    calls: () => calls,
    async setMode(next) {
      const wasSlow = mode === 'slow';
      mode = next;
      if (next === 'down' || wasSlow) await server.close();
      if (next !== 'down') await server.open();
    },
    close: () => server.close(),
  };
}
