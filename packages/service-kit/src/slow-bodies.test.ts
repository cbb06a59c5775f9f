import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { listen, type RunningServer } from './http-server.js';
import { answerSlowBody, type BodyRules } from './slow-bodies.js';

const RULES: BodyRules = { stallMs: 300, minBytesPerS: 1_000 };
const LENGTH = 1_000_000;

let server: RunningServer;
let sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await server.close(0);
});

/** Starts a server, and a request to it that the test continues. */
async function begin(handler: RequestListener, { headers = `content-length: ${LENGTH}`, bodies = RULES } = {}) {
  server = await listen(handler, { host: '127.0.0.1', port: 0, bodies });
  const socket = connect(server.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\n${headers}\r\n\r\n`);
  return {
    socket,
    closed: new Promise<string>((resolve) => void socket.once('close', () => resolve(answer))),
    answer: () => answer,
  };
}

const readers: [string, RequestListener][] = [
  ['events', (request, response) => void request.on('data', () => undefined).on('end', () => response.end('read'))],
  [
    'an iterator',
    async (request, response) => {
      try {
        for await (const _ of request) continue;
        response.end('read');
      } catch {
        // As after a client that left.
      }
    },
  ],
  ['a pipe', (request, response) => void request.pipe(response)],
];

describe.each(readers)('a body that is read by %s', (_how, handler) => {
  it('ends with 408 if it stands still', async () => {
    const { closed, socket } = await begin(handler);
    socket.write('begun');
    expect(await closed).toMatch(/^HTTP\/1\.1 (408 |200 OK[^]*begun)/);
  });

  it('ends if it drips', async () => {
    const { closed, socket } = await begin(handler);
    const drip = setInterval(() => socket.write('x'), 50);
    await closed;
    clearInterval(drip);
    expect(socket.closed).toBe(true);
  });
});

const read = readers[0]![1];

describe('slow bodies', () => {
  it('get a JSON response that names the cause, after which the connection is closed', async () => {
    const { closed } = await begin(read);
    expect(await closed).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close[^]*"the body arrived too slowly"/,
    );
  });

  it('get the response of the service if it has one', async () => {
    const { closed } = await begin((request, response) => {
      answerSlowBody(request, () => ({ code: 'own' }));
      read(request, response);
    });
    expect(await closed).toMatch(/^HTTP\/1\.1 408 [^]*\r\n\r\n\{"code":"own"\}$/);
  });

  it('end also if their length is unknown', async () => {
    const { closed, socket } = await begin(read, { headers: 'transfer-encoding: chunked' });
    socket.write('1\r\nx\r\n');
    expect(await closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('end also after the response was sent, so that they do not hold the connection', async () => {
    const { closed } = await begin((_request, response) => response.end('early'));
    expect(await closed).toMatch(/^HTTP\/1\.1 200 OK[^]*early$/);
  });

  it('are not slow because the server reads them late', async () => {
    const entered = Promise.withResolvers<[IncomingMessage, ServerResponse]>();
    const { closed, socket, answer } = await begin((request, response) => entered.resolve([request, response]), {
      headers: 'content-length: 10',
    });
    socket.write('01234');
    const [request, response] = await entered.promise;
    await sleep(3 * RULES.stallMs);
    expect(answer()).toBe('');
    read(request, response);
    socket.end('56789');
    expect(await closed).toMatch(/^HTTP\/1\.1 200 OK[^]*read$/);
  });

  it('are not slow because the server reads them slowly', async () => {
    const { closed, socket } = await begin(async (request, response) => {
      for await (const _ of request) await sleep(100);
      response.end('read');
    });
    socket.write(Buffer.alloc(LENGTH));
    expect(await closed).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it('end what reads them', async () => {
    const ended = Promise.withResolvers<unknown>();
    const { closed } = await begin(async (request) => {
      try {
        for await (const _ of request) continue;
        ended.resolve('complete');
      } catch (error) {
        ended.resolve((error as { code?: unknown }).code);
      }
    });
    await closed;
    expect(await ended.promise).toBe('ECONNRESET');
  });

  it('may take longer than the stall time at the minimum rate', async () => {
    const { closed, socket } = await begin(read, {
      headers: 'content-length: 2000',
      bodies: { stallMs: 300, minBytesPerS: 200 },
    });
    for (let sent = 0; sent < 2_000; sent += 100) {
      socket.write('x'.repeat(100));
      await sleep(50);
    }
    socket.end();
    expect(await closed).toMatch(/^HTTP\/1\.1 200 OK[^]*read$/);
  });
});
