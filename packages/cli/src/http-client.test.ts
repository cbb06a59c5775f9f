import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createHttpClient, HTTP_TIMEOUTS, type HttpTimeouts } from './http-client.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

const serving = (listener: RequestListener) => listening(createHttpServer(listener));

function client(timeouts: Partial<HttpTimeouts> = {}) {
  const http = createHttpClient({ ...HTTP_TIMEOUTS, ...timeouts });
  cleanups.push(http.close);
  return http;
}

describe('the HTTP client', () => {
  it('sends and receives JSON', async () => {
    const port = await serving(async (request, response) => {
      const received = Buffer.concat(await request.toArray()).toString();
      response.statusCode = 201;
      response.end(JSON.stringify({ received, type: request.headers['content-type'] }));
    });
    const response = await client().send({ method: 'POST', url: `http://127.0.0.1:${port}/x`, json: { a: 'é' } });
    expect(response).toMatchObject({ status: 201, body: { received: '{"a":"é"}', type: 'application/json' } });
  });

  it('returns no body for an empty response', async () => {
    const port = await serving((_request, response) => response.writeHead(204).end());
    await expect(client().send({ method: 'POST', url: `http://127.0.0.1:${port}/` })).resolves.toMatchObject({
      status: 204,
      body: undefined,
    });
  });

  it('reports that the server refuses connections', async () => {
    const server = createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    cleanups.length = 0;
    await expect(client().send({ method: 'GET', url: `http://127.0.0.1:${port}/` })).rejects.toThrow(
      `http://127.0.0.1:${port} refused the connection. Start uswarm with: npm start`,
    );
  });

  it('reports that the server is not uswarm', async () => {
    const port = await serving((_request, response) => response.end('<html>'));
    await expect(client().send({ method: 'GET', url: `http://127.0.0.1:${port}/` })).rejects.toThrow(/is not uswarm/);
  });

  it('rejects with the reason of the signal', async () => {
    const port = await listening(createServer());
    const stop = new AbortController();
    const sending = client().send({ method: 'GET', url: `http://127.0.0.1:${port}/`, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(sending).rejects.toThrow('enough');
  });

  it('limits connecting to 10 s, sending to 10 s and receiving to 60 s by default', () => {
    expect(HTTP_TIMEOUTS).toEqual({ connectMs: 10_000, sendMs: 10_000, receiveMs: 60_000 });
  });

  it('LIM-001 fails when connecting exceeds its time limit', async () => {
    // Accepts the connection and ignores the TLS handshake, which is part of connecting.
    const port = await listening(createServer());
    const sending = client({ connectMs: 100 }).send({ method: 'GET', url: `https://127.0.0.1:${port}/` });
    await expect(sending).rejects.toThrow(/could not be reached within 0\.1 s/);
  });

  it('LIM-002 fails when sending exceeds its time limit', async () => {
    const port = await listening(createServer((socket) => socket.pause()));
    const json = 'x'.repeat(32 * 1024 * 1024);
    const sending = client({ sendMs: 100 }).send({ method: 'POST', url: `http://127.0.0.1:${port}/`, json });
    await expect(sending).rejects.toThrow(/did not accept the request within 0\.1 s/);
  });

  it('LIM-003 fails when no response begins within the time limit', async () => {
    const port = await listening(createServer((socket) => socket.resume()));
    const sending = client({ receiveMs: 100 }).send({ method: 'GET', url: `http://127.0.0.1:${port}/` });
    await expect(sending).rejects.toThrow(/did not respond within 0\.1 s/);
  });

  it('LIM-003 fails when a response stalls for the time limit', async () => {
    const port = await serving((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{');
    });
    const sending = client({ receiveMs: 100 }).send({ method: 'GET', url: `http://127.0.0.1:${port}/` });
    await expect(sending).rejects.toThrow(/did not respond within 0\.1 s/);
  });
});
