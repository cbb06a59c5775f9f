import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Attachment, OAuthConfiguration } from '@uswarm/contract';
import { developmentToken } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';

const REDIRECT_URL = 'uswarm.app:/callback';
const INTEGRATION_PROVIDERS = JSON.stringify({ github: { client_id: 'id', redirect_urls: [REDIRECT_URL] } });

describe('local mode', () => {
  let local: RunningProgram;
  let headers: Record<string, string>;
  beforeAll(async () => {
    local = await runLocalMode({ INTEGRATION_PROVIDERS });
    headers = { 'x-token': await developmentToken(local.issuer, 'ada@example.com') };
    await fetch(`${local.url}/v1/auth/sign-up`, { method: 'POST', headers });
  });
  afterAll(() => local?.stop());

  it('stores uploads in its data folder and returns working links', async () => {
    const form = new FormData();
    form.append('file', new Blob(['hello']), 'hello.txt');
    const answer = await fetch(`${local.url}/v1/uploads`, { method: 'POST', headers, body: form });
    const { data } = (await answer.json()) as { data: Attachment };
    const files = await readdir(join(local.directory, 'uploads'), { recursive: true });
    expect(files.filter((file) => file.endsWith(data.id))).toHaveLength(1);
    expect(data.url.startsWith(local.url)).toBe(true);
    expect(await (await fetch(data.url)).text()).toBe('hello');
  });

  it('offers the configured integrations', async () => {
    const body = JSON.stringify({ provider: 'github' });
    const json = { ...headers, 'content-type': 'application/json' };
    const answer = await fetch(`${local.url}/v1/integrations/connect`, { method: 'POST', headers: json, body });
    expect(((await answer.json()) as OAuthConfiguration).redirect_url).toBe(REDIRECT_URL);
  });
});
