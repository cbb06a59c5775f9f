import type { RequestListener } from 'node:http';
import { startRestartableServer } from './restartable-server.js';

/** How the webhook behaves. */
export type HookMode = 'none' | 'down' | 'error' | 'rubbish' | 'slow';

/** A webhook that can be made to fail. */
export interface HookServer {
  url: string;
  /** Calls that came, also those that were not answered. */
  calls(): number;
  setMode(mode: HookMode): Promise<void>;
  close(): Promise<void>;
}

/** Answers that look like some and are none; each breaks another rule. */
const RUBBISH = [
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
    else if (mode === 'rubbish') response.writeHead(200).end(RUBBISH[calls % RUBBISH.length]);
    else request.resume();
  };
  const server = await startRestartableServer(answer);
  return {
    url: `http://127.0.0.1:${server.port}/sync`,
    calls: () => calls,
    async setMode(next) {
      const wasSlow = mode === 'slow';
      mode = next;
      if (next === 'down' || wasSlow) await server.shut();
      if (next !== 'down') await server.open();
    },
    close: () => server.shut(),
  };
}
