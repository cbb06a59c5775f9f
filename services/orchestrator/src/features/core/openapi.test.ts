import { describe, expect, it } from '@jest/globals';
import { buildAsyncApi, buildOpenApi } from '@uswarm/contract/documents';
import { asyncApiSource, openApiSource } from './openapi.js';

describe('the OpenAPI document', () => {
  it('is serialised once', async () => {
    const source = openApiSource('https://api.example.com', {});
    const [first, second] = [await source(), await source()];
    expect(second.bytes).toBe(first.bytes);
    expect(JSON.parse(first.bytes.toString())).toMatchObject({ servers: [{ url: 'https://api.example.com' }] });
  });

  it('is the checked-in one in production, apart from its server', async () => {
    const { servers: _, ...served } = JSON.parse(
      (await openApiSource(undefined, { bypass: false })()).bytes.toString(),
    );
    const { servers: __, ...checkedIn } = JSON.parse(JSON.stringify(buildOpenApi()));
    expect(served).toEqual(checkedIn);
  });
});

describe('the AsyncAPI document', () => {
  it('is the checked-in one in production', async () => {
    const served = (await asyncApiSource(undefined, { bypass: false })()).bytes.toString();
    expect(JSON.parse(served)).toEqual(JSON.parse(JSON.stringify(buildAsyncApi())));
  });
});
