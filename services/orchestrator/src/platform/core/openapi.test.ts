import { describe, expect, it } from '@jest/globals';
import { buildAsyncApi, buildOpenApi } from '@uswarm/contract/documents';
import { asyncApiSource, type DocumentSource, openApiSource } from './openapi.js';

const publicUrl = 'https://api.example.com';
const served = async (source: DocumentSource) => JSON.parse((await source()).bytes.toString());

describe('the OpenAPI document', () => {
  it('is serialised once', async () => {
    const source = openApiSource({ publicUrl });
    const [first, second] = [await source(), await source()];
    expect(second.bytes).toBe(first.bytes);
  });

  it('is the checked-in one in production, apart from its server', async () => {
    const { servers, ...document } = await served(openApiSource({ bypass: false }));
    const { servers: _, ...checkedIn } = JSON.parse(JSON.stringify(buildOpenApi()));
    expect(document).toEqual(checkedIn);
    expect(servers).toEqual([{ url: '/' }]);
  });
});

describe('the AsyncAPI document', () => {
  it('is the checked-in one in production', async () => {
    expect(await served(asyncApiSource({ bypass: false }))).toEqual(JSON.parse(JSON.stringify(buildAsyncApi())));
  });
});

describe.each([
  ['OpenAPI', openApiSource],
  ['AsyncAPI', asyncApiSource],
])('the %s document of an installation', (_name, source) => {
  it('has the version of the product', async () => {
    expect(await served(source({ version: '7.8.9' }))).toMatchObject({ info: { version: '7.8.9' } });
  });
});

describe('the servers of an installation', () => {
  it.each([
    [publicUrl, publicUrl, { host: 'api.example.com', protocol: 'wss', pathname: '/socket.io/' }],
    [`${publicUrl}/`, publicUrl, { host: 'api.example.com', protocol: 'wss', pathname: '/socket.io/' }],
    [
      'http://example.com:8443/swarm/',
      'http://example.com:8443/swarm',
      { host: 'example.com:8443', protocol: 'ws', pathname: '/swarm/socket.io/' },
    ],
  ])('are at the public URL %s', async (url, rest, realtime) => {
    expect((await served(openApiSource({ publicUrl: url }))).servers).toEqual([{ url: rest }]);
    const { servers } = await served(asyncApiSource({ publicUrl: url }));
    expect(servers).toEqual({ public: { ...realtime, security: expect.any(Array) } });
  });
});
