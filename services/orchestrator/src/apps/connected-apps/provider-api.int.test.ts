import { getEventListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { UncertainOutcome } from '../../turns/tools/platform-tool.js';
import { createProviderApi, type ProviderApi, RequestRefused } from './provider-api.js';

describe('a request to a provider', () => {
  let server: Server;
  let api: ProviderApi;
  afterEach(async () => {
    await api.close();
    server.close();
  });

  async function change(status: number, signal?: AbortSignal) {
    server = createServer((_request, response) => void response.writeHead(status).end('{}'));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    api = createProviderApi({ proxy: DIRECT, baseUrl: `http://127.0.0.1:${port}`, accessToken: async () => 'token' });
    return api.call('u', { method: 'POST', path: 'x', ...(signal && { signal }) }, z.unknown());
  }

  it.each([400, 403, 404, 409, 412, 425, 429])('has certainly changed nothing with status %d', async (status) => {
    await expect(change(status)).rejects.toThrow(RequestRefused);
  });

  it.each([200, 400, 500])('leaves nothing at the signal of its turn after status %d', async (status) => {
    const { signal } = new AbortController();
    // In a turn with many calls, the signal would keep each pending time limit.
    await change(status, signal).catch(() => undefined);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('has certainly changed nothing if the connection fails in TLS', async () => {
    server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    api = createProviderApi({ proxy: DIRECT, baseUrl: `https://127.0.0.1:${port}`, accessToken: async () => 'token' });
    await expect(api.call('u', { method: 'POST', path: 'x' }, z.unknown())).rejects.toThrow(RequestRefused);
  });

  it.each([408, 500, 502, 503])('may have been executed with status %d', async (status) => {
    await expect(change(status)).rejects.toThrow(UncertainOutcome);
  });
});
