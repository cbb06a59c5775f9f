import { describe, expect, it } from '@jest/globals';
import { openApiSource } from './openapi.js';

describe('the OpenAPI document', () => {
  it('is serialised once', async () => {
    const source = openApiSource('https://api.example.com');
    const [first, second] = [await source(), await source()];
    expect(second.bytes).toBe(first.bytes);
    expect(JSON.parse(first.bytes.toString())).toMatchObject({ servers: [{ url: 'https://api.example.com' }] });
  });
});
