import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createUserSwarmApi, KubernetesError, loadKubeConfig, type UserSwarmApi } from './kubernetes-api.js';
import { PlatformUnreachable } from './runtime-driver.js';
import { USERSWARMS } from './userswarm.js';

const NEVER = new AbortController().signal;
const status = (code: number, reason: string) =>
  JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message: 'no' });

describe('calls of the Kubernetes API', () => {
  let server: Server | undefined;
  let asked: string[] = [];
  afterEach(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
    [server, asked] = [undefined, []];
  });

  async function serve(listener: RequestListener): Promise<UserSwarmApi> {
    const made = createServer((request, response) => {
      asked.push(`${request.method} ${decodeURIComponent(request.url ?? '')}`);
      listener(request, response);
    });
    server = made;
    await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
    const { port } = made.address() as AddressInfo;
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
      { name: 'u', token: 'token' },
    );
    return createUserSwarmApi(config, USERSWARMS);
  }
  const answering = (code: number, body: string) =>
    serve((_request, response) => void response.writeHead(code, { 'content-type': 'application/json' }).end(body));

  it.each([
    [403, 'Forbidden'],
    [409, 'Conflict'],
    [410, 'Expired'],
    [422, 'Invalid'],
  ])('%d is a refusal with its reason', async (code, reason) => {
    const api = await answering(code, status(code, reason));
    await expect(api.get('a')).rejects.toMatchObject({ name: 'KubernetesError', status: code, reason });
  });

  it.each([
    [429, status(429, 'TooManyRequests')],
    [500, status(500, 'InternalError')],
    [503, '<html>'],
    [200, '<html>'],
  ])('%d with %s passes, and says nothing about the object', async (code, body) => {
    const api = await answering(code, body);
    await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
  });

  it('nobody there is no refusal either', async () => {
    const api = await serve((request) => void request.socket.destroy());
    await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
  });

  it('what is not there is undefined, and gone', async () => {
    const api = await answering(404, status(404, 'NotFound'));
    expect(await api.get('a')).toBeUndefined();
    expect(await api.delete('a', { uid: 'u', resourceVersion: '1' })).toBe(false);
  });

  it('lists page by page', async () => {
    const api = await serve((request, response) => {
      const next = new URL(request.url ?? '', 'http://x').searchParams.get('continue');
      const page =
        next === null
          ? { items: [{ metadata: { name: 'a' } }], metadata: { resourceVersion: '7', continue: 'more' } }
          : { items: [{ metadata: { name: 'b' } }], metadata: { resourceVersion: '7' } };
      response.end(JSON.stringify(page));
    });
    const { items, resourceVersion } = await api.list('a=b', NEVER);
    expect([items.map(({ metadata }) => metadata.name), resourceVersion]).toEqual([['a', 'b'], '7']);
    expect(asked).toEqual([
      'GET /apis/uswarm.dev/v1alpha1/userswarms?labelSelector=a=b&limit=500',
      'GET /apis/uswarm.dev/v1alpha1/userswarms?labelSelector=a=b&limit=500&continue=more',
    ]);
  });

  describe('a watch', () => {
    const event = (type: string, name: string) => JSON.stringify({ type, object: { metadata: { name } } });
    const follow = async (api: UserSwarmApi): Promise<string[]> => {
      const seen: string[] = [];
      await api.watch(
        { labelSelector: 'a=b', resourceVersion: '7' },
        ({ type, object }) => {
          seen.push(`${type} ${object.metadata.name}`);
        },
        NEVER,
      );
      return seen;
    };

    it('gives each event, however the lines are cut, and ends with the stream', async () => {
      const text = `${event('ADDED', 'ä')}\n${event('MODIFIED', 'b')}\n`;
      const bytes = Buffer.from(text);
      const api = await serve((_request, response) => {
        for (const byte of bytes) response.write(Buffer.of(byte));
        response.end();
      });
      expect(await follow(api)).toEqual(['ADDED ä', 'MODIFIED b']);
      expect(asked[0]).toContain('watch=true');
      expect(asked[0]).toContain('resourceVersion=7');
    });

    it('that the server ends with 410 is refused', async () => {
      const gone = JSON.stringify({ type: 'ERROR', object: JSON.parse(status(410, 'Expired')) });
      const api = await answering(200, `${event('ADDED', 'a')}\n${gone}\n`);
      await expect(follow(api)).rejects.toThrow(KubernetesError);
    });

    it('that breaks in the middle is not refused', async () => {
      const api = await serve((request, response) => {
        response.write(`${event('ADDED', 'a')}\n`, () => request.socket.destroy());
      });
      await expect(follow(api)).rejects.toThrow(PlatformUnreachable);
    });
  });
});

describe('the cluster', () => {
  it('has to be given outside of one', () => {
    expect(() => loadKubeConfig({})).toThrow('RUNTIME_DRIVER=kubernetes runs in a cluster, or needs KUBECONFIG');
  });
});
