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

const answering = (listener: RequestListener) => listening(createHttpServer(listener));

function client(timeouts: Partial<HttpTimeouts> = {}) {
  const http = createHttpClient({ ...HTTP_TIMEOUTS, ...timeouts });
  cleanups.push(http.close);
  return http;
}

describe('the HTTP client', () => {
  it('sends JSON and reads JSON', async () => {
    const port = await answering(async (request, response) => {
      const got = Buffer.concat(await request.toArray()).toString();
      response.statusCode = 201;
      response.end(JSON.stringify({ got, type: request.headers['content-type'] }));
    });
    const answer = await client().send({ method: 'POST', url: `http://127.0.0.1:${port}/x`, json: { a: 'é' } });
    expect(answer).toEqual({ status: 201, body: { got: '{"a":"é"}', type: 'application/json' } });
  });

  it('has no body where there is none', async () => {
    const port = await answering((_request, response) => response.writeHead(204).end());
    await expect(client().send({ method: 'POST', url: `http://127.0.0.1:${port}/` })).resolves.toEqual({
      status: 204,
      body: undefined,
    });
  });

  it('says that nothing answers', async () => {
    const server = createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    cleanups.length = 0;
    await expect(client().send({ method: 'GET', url: `http://127.0.0.1:${port}/` })).rejects.toThrow(
      `Nothing answers at http://127.0.0.1:${port}. Start uswarm with: npm start`,
    );
  });

  it('says that something else answers', async () => {
    const port = await answering((_request, response) => response.end('<html>'));
    await expect(client().send({ method: 'GET', url: `http://127.0.0.1:${port}/` })).rejects.toThrow(/is not uswarm/);
  });

  it('ends with the reason of its signal', async () => {
    const port = await listening(createServer());
    const stop = new AbortController();
    const sending = client().send({ method: 'GET', url: `http://127.0.0.1:${port}/`, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(sending).rejects.toThrow('enough');
  });

  it('waits 10 s for a connection, 10 s for sending, 60 s for receiving unless told otherwise', () => {
    expect(HTTP_TIMEOUTS).toEqual({ connectMs: 10_000, sendMs: 10_000, receiveMs: 60_000 });
  });

  it('LIM-001 gives up connecting when its time is over', async () => {
    // Takes the connection and never answers the TLS handshake, which is part of connecting.
    const port = await listening(createServer());
    const sending = client({ connectMs: 100 }).send({ method: 'GET', url: `https://127.0.0.1:${port}/` });
    await expect(sending).rejects.toThrow(/could not be reached within 0\.1 s/);
  });

  it('LIM-002 gives up sending when its time is over', async () => {
    const port = await listening(createServer((socket) => socket.pause()));
    const json = 'x'.repeat(32 * 1024 * 1024);
    const sending = client({ sendMs: 100 }).send({ method: 'POST', url: `http://127.0.0.1:${port}/`, json });
    await expect(sending).rejects.toThrow(/did not take the request within 0\.1 s/);
  });

  it('LIM-003 gives up receiving when no answer begins', async () => {
    const port = await listening(createServer((socket) => socket.resume()));
    const sending = client({ receiveMs: 100 }).send({ method: 'GET', url: `http://127.0.0.1:${port}/` });
    await expect(sending).rejects.toThrow(/did not answer within 0\.1 s/);
  });

  it('LIM-003 gives up receiving when an answer stops halfway', async () => {
    const port = await answering((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{');
    });
    const sending = client({ receiveMs: 100 }).send({ method: 'GET', url: `http://127.0.0.1:${port}/` });
    await expect(sending).rejects.toThrow(/did not answer within 0\.1 s/);
  });
});
