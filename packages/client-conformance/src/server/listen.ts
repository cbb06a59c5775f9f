import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createRest } from './rest.js';
import type { ScriptedServer } from './scripted-server.js';
import { type Pings, serveSockets } from './socket.js';
import { serveSse } from './sse.js';

/** Serves REST, sockets and streams on a free port of this machine. @returns ends it */
export async function listen(server: ScriptedServer, pings: Pings): Promise<() => void> {
  const [rest, stream] = [createRest(server), serveSse(server)];
  const http = createServer((request, response) => {
    if (request.url?.startsWith('/v1/stream') === true) stream(request, response);
    else if (request.url?.startsWith('/socket.io/') !== true) void rest(request, response);
  });
  const sockets = new Set<Socket>();
  const destroyAll = () => sockets.forEach((socket) => socket.destroy());
  http.on('connection', (socket) => {
    if (!server.reachable) return void socket.destroy();
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  server.onUnreachable = destroyAll;
  const closeSockets = serveSockets(http, server, pings);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return () => {
    closeSockets();
    http.close();
    destroyAll();
  };
}
