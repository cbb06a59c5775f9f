import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from '@jest/globals';
import { listen, type RunningServer } from './http-server.js';

const open: { close(graceMs: number): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close(0);
});

async function started(...[handler, options]: Parameters<typeof listen>): Promise<RunningServer> {
  const server = await listen(handler, options);
  open.push(server);
  return server;
}

const anywhere = { host: '127.0.0.1', port: 0 };

describe('listen', () => {
  it('serves requests at the returned URL once it resolves', async () => {
    const { url, port } = await started((_request, response) => response.end('here'), anywhere);
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(await (await fetch(url)).text()).toBe('here');
  });

  it('listens on all addresses by default, of IPv6 as well, and returns a reachable one', async () => {
    const { url, port } = await started((_request, response) => response.end('here'), { port: 0 });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    const hasIpv6 = Object.values(networkInterfaces()).some((all = []) => all.some(({ family }) => family === 'IPv6'));
    for (const each of hasIpv6 ? [url, `http://[::1]:${port}`] : [url]) expect((await fetch(each)).status).toBe(200);
  });

  it('accepts an existing server', async () => {
    const server = createServer((_request, response) => response.end('mine'));
    const running = await started(server, anywhere);
    expect(running.server).toBe(server);
    expect(await (await fetch(running.url)).text()).toBe('mine');
  });

  it('keeps serving if a connection cannot be accepted', async () => {
    const { server, url } = await started((_request, response) => response.end('here'), anywhere);
    server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    expect((await fetch(url)).status).toBe(200);
  });

  it('throws if the port is in use', async () => {
    const { port } = await started(() => undefined, anywhere);
    await expect(listen(() => undefined, { ...anywhere, port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('close', () => {
  it('completes a request in flight and accepts no further request', async () => {
    const entered = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const server = await started((_request, response) => {
      entered.resolve();
      void finish.promise.then(() => response.end('finished'));
    }, anywhere);
    const answer = fetch(server.url);
    await entered.promise;
    const closed = server.close(60_000);
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
    finish.resolve();
    expect(await (await answer).text()).toBe('finished');
    await closed;
  });

  it('closes connections after the current response and sends Connection: close if the headers are not sent yet', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const begun: ServerResponse[] = [];
    const server = await started((incoming, response) => {
      begun.push(response);
      if (incoming.url === '/begun') response.write('be');
    }, anywhere);
    const ask = (path: string) =>
      get(`${server.url}${path}`, { agent: path === '/begun' ? agent : new Agent({ keepAlive: true }) });
    const early = ask('/begun');
    const [earlyAnswer] = (await once(early, 'response')) as [IncomingMessage];
    const late = ask('/not-begun');
    while (begun.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const closed = server.close(60_000);
    const lateAnswer = once(late, 'response') as Promise<[IncomingMessage]>;
    const ended = [
      once(earlyAnswer.resume().socket, 'close'),
      lateAnswer.then(([{ socket }]) => once(socket, 'close')),
    ];
    begun[0]?.end('gun');
    begun[1]?.end('sent in time');
    expect((await lateAnswer)[0].headers.connection).toBe('close');
    (await lateAnswer)[0].resume();
    await Promise.all(ended);
    await closed;
  });

  it('aborts a request that exceeds the grace period', async () => {
    const entered = Promise.withResolvers<void>();
    const server = await started(() => entered.resolve(), anywhere);
    const [answer] = await Promise.all([
      fetch(server.url).catch((error: Error) => error.message),
      entered.promise.then(() => server.close(1)),
    ]);
    expect(answer).toBe('fetch failed');
  });

  it('does not wait for an idle WebSocket', async () => {
    const http = createServer();
    http.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    const server = await started(http, anywhere);
    const sent = request(server.url, { headers: { connection: 'Upgrade', upgrade: 'websocket' } }).end();
    const [, socket] = (await once(sent, 'upgrade')) as [unknown, Socket];
    const cut = once(socket, 'close');
    socket.on('error', () => undefined).resume();
    await server.close(1);
    await expect(cut).resolves.toBeDefined();
  });

  it('returns 408 and closes the connection if a client does not complete its headers or body', async () => {
    const limits = { ...anywhere, headersTimeoutMs: 50, requestTimeoutMs: 100 };
    const server = await started(
      (message, response) => void message.resume().once('end', () => response.end()),
      limits,
    );
    for (const start of [
      'GET / HTTP/1.1\r\nhost: x\r\n',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nbegun',
    ]) {
      const slow = connect(server.port, '127.0.0.1').setEncoding('utf8');
      let answer = '';
      slow.on('data', (text: string) => (answer += text)).write(start);
      await once(slow, 'close');
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    }
    await server.close();
  });

  it('does not wait for a connection without a request', async () => {
    const server = await started(() => undefined, anywhere);
    const idle = connect(server.port, '127.0.0.1').resume();
    await once(idle, 'connect');
    const cut = once(idle, 'close');
    await server.close(1);
    await expect(cut).resolves.toBeDefined();
  });
});
