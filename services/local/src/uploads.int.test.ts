import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Attachment, MessageData, OAuthConfiguration } from '@uswarm/contract';
import { m4a, mp4, wav } from '@uswarm/testkit/media-files';
import { developmentToken, startTestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';

const REDIRECT_URL = 'uswarm.app:/callback';
const INTEGRATION_PROVIDERS = JSON.stringify({ gmail: { client_id: 'id', redirect_urls: [REDIRECT_URL] } });

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

  it('RES-060 shows the duration of audio and video in REST and in events, and null for other files', async () => {
    const token = headers['x-token'] ?? '';
    const client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    const files = {
      'memo.m4a': m4a(61.6),
      'film.mp4': mp4(9.2),
      'note.wav': wav(2.4),
      'cut.wav': wav(5).subarray(0, 20),
    };
    const uploaded: Attachment[] = [];
    for (const [name, content] of Object.entries({ ...files, 'text.txt': Buffer.from('hello') })) {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(content)]), name);
      const answer = await fetch(`${local.url}/v1/uploads`, { method: 'POST', headers, body: form });
      uploaded.push(((await answer.json()) as { data: Attachment }).data);
    }
    const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    const sent = await client.api('POST', path, { content: { type: 'text', text: 'Listen' }, attachments: uploaded });
    const { id } = (sent.body as { data: MessageData }).data;
    const isSent = ({ message }: { message: MessageData }) => message.id === id;
    const { message } = (await client.saw('message.new', isSent)).payload as { message: MessageData };
    const { data: listed } = (await client.api('GET', `/v1/workspaces/${client.workspaceId}/messages/${id}`)).body as {
      data: MessageData;
    };
    client.close();
    const durations = (attachments: readonly Attachment[]) => attachments.map(({ name, duration }) => [name, duration]);
    const expected = [
      ['memo.m4a', 62],
      ['film.mp4', 9],
      ['note.wav', 2],
      ['cut.wav', null],
      ['text.txt', null],
    ];
    expect(durations(uploaded)).toEqual(expected);
    expect(durations(message.attachments)).toEqual(expected);
    expect(durations(listed.attachments)).toEqual(expected);
  });

  it('offers the configured integrations', async () => {
    const body = JSON.stringify({ provider: 'gmail' });
    const json = { ...headers, 'content-type': 'application/json' };
    const answer = await fetch(`${local.url}/v1/integrations/connect`, { method: 'POST', headers: json, body });
    expect(((await answer.json()) as OAuthConfiguration).redirect_url).toBe(REDIRECT_URL);
  });
});
