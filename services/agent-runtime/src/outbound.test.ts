import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HistoryRole, Outcome, type Done } from '@uswarm/runtime-proto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { createCertificate, type ServerCertificate } from '@uswarm/testkit';
import { buildRuntime, type RuntimeProcess, startRuntimeProcess } from '../test/runtime-process.js';

/** Only the proxy can resolve this name. */
const HOST = 'models.internal.test';

interface Proxy {
  url: string;
  /** The authority of each CONNECT. */
  targets: string[];
}

const open: (() => Promise<void>)[] = [];

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

/** Serves the model over TLS. @returns the port */
function startTls({ port }: URL, { certificate: cert, key }: ServerCertificate): Promise<number> {
  const server = createTlsServer({ cert, key }, (incoming, outgoing) => {
    const { url, method, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, path: url, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  return listen(server);
}

/** A proxy that supports only CONNECT and resolves all names to this machine. */
async function startProxy(): Promise<Proxy> {
  const targets: string[] = [];
  const server = createServer((_, response) => void response.writeHead(405).end());
  server.on('connect', ({ url = '' }, socket: Socket, head: Buffer) => {
    targets.push(url);
    const onward = connect(Number(url.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, targets };
}

describe('the runtime process, whose model has a private certificate authority', () => {
  let certificate: ServerCertificate;
  let folder: string;
  let model: ModelServer;
  let port: number;
  let current: RuntimeProcess | undefined;
  beforeAll(async () => {
    await buildRuntime();
    certificate = await createCertificate(HOST);
    folder = await mkdtemp(join(tmpdir(), 'uswarm-outbound-'));
    await writeFile(join(folder, 'ca.crt'), certificate.ca);
    model = await startModelServer({ script: () => words('Hello brave world') });
    port = await startTls(new URL(model.baseUrl), certificate);
  });
  afterEach(async () => {
    await current?.end();
    current = undefined;
  });
  afterAll(async () => {
    for (const close of open.toReversed()) await close();
    await model?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a turn with additional settings. @returns its end */
  async function answer(host: string, env: Record<string, string>): Promise<Done> {
    const baseUrl = `https://${host}:${port}${new URL(model.baseUrl).pathname}`;
    const settings = { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'model' };
    current = await startRuntimeProcess({ ...settings, ...env });
    const history = [{ role: HistoryRole.USER, text: 'Hello' }];
    const agent = { id: 'agent', slug: 'manager', name: 'Mara' };
    for await (const { event } of current.runtime.runTurn({
      turnId: 'turn',
      generation: 1,
      agent,
      history,
      firstStep: 1,
    }))
      if (event.case === 'done') return event.value;
    throw new Error('the turn has no end');
  }
  /** Like the sync hook's variables. */
  const trusted = (): Record<string, string> => ({ NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt') });
  const through = ({ url }: Proxy, noProxy: string): Record<string, string> => ({
    NODE_USE_ENV_PROXY: '1',
    HTTPS_PROXY: url,
    NO_PROXY: noProxy,
  });

  it('calls the model through a proxy', async () => {
    const proxy = await startProxy();
    const done = await answer(HOST, { ...trusted(), ...through(proxy, 'localhost,.svc,.cluster.local') });
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Hello brave world' });
    expect(new Set(proxy.targets)).toEqual(new Set([`${HOST}:${port}`]));
  });

  it('does not trust the model without the certificate of the authority', async () => {
    const proxy = await startProxy();
    const before = model.requests.length;
    const done = await answer(HOST, through(proxy, ''));
    expect(done.outcome).not.toBe(Outcome.COMPLETED);
    expect(proxy.targets).not.toEqual([]);
    expect(model.requests.length).toBe(before);
    expect(current?.log()).toContain('"error_cause":"UNABLE_TO_VERIFY_LEAF_SIGNATURE"');
  });

  it('does not use the proxy for excluded names', async () => {
    const proxy = await startProxy();
    const done = await answer('127.0.0.1', { ...trusted(), ...through(proxy, '127.0.0.1,.svc') });
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Hello brave world' });
    expect(proxy.targets).toEqual([]);
  });
});
