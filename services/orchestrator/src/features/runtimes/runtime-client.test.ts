import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Code } from '@connectrpc/connect';
import { generateCallKeys } from '@uswarm/service-kit';
import { eventually } from '../../../../../packages/kube-client/test/eventually.js';
import { createRuntimeClient, type RuntimeClient } from './runtime-client.js';

describe('connections to runtimes', () => {
  let server: Http2Server;
  let asked: number;
  let client: RuntimeClient;

  beforeEach(async () => {
    asked = 0;
    // It takes every call and answers none.
    server = createServer().on('stream', (stream) => {
      asked += 1;
      stream.on('error', () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = createRuntimeClient(generateCallKeys().privateKey);
  });
  afterEach(async () => {
    client.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('end with the runtime, and those to others do not', async () => {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const outcome = (workspaceId: string): Promise<unknown> =>
      client.identify({ workspaceId, address }).catch((error: { code?: unknown }) => error.code);
    const [leaving, staying] = [outcome('a'), outcome('b')];
    await eventually(() => asked === 2);
    client.forget('a');
    expect([await leaving, await staying]).toEqual([Code.Canceled, Code.DeadlineExceeded]);
  });
});
