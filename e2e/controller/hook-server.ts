import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

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
  '{"status":{},"children":null}',
  '{"status":{},"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"default"}}]}',
  '{"status":{},"children":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default"}}]}',
];

export async function startHookServer(handler: RequestListener): Promise<HookServer> {
  const sockets = new Set<Socket>();
  let mode: HookMode = 'none';
  let calls = 0;
  const answer: RequestListener = (request, response) => {
    calls += 1;
    if (mode === 'none') handler(request, response);
    else if (mode === 'error') response.writeHead(500).end('{"error":"internal error"}');
    else if (mode === 'rubbish') response.writeHead(200).end(RUBBISH[calls % RUBBISH.length]);
    else request.resume();
  };
  const open = async (port: number): Promise<Server> => {
    const server = createServer(answer);
    server.on('connection', (socket: Socket) => {
      sockets.add(socket.once('close', () => sockets.delete(socket)));
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
    return server;
  };
  const shut = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    if (closing === undefined) return;
    const closed = new Promise((resolve) => closing.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  let server: Server | undefined = await open(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/sync`,
    calls: () => calls,
    async setMode(next) {
      const wasSlow = mode === 'slow';
      mode = next;
      if (next === 'down' || wasSlow) await shut();
      if (next !== 'down') server ??= await open(port);
    },
    close: shut,
  };
}
