import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { createHttp, createSeen, delay, type Fetch } from './api.js';

describe('a wait', () => {
  it('leaves no listener at its signal when it is over', async () => {
    const { signal } = new AbortController();
    await delay(1, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends early with its signal', async () => {
    const ending = new AbortController();
    const wait = delay(60_000, ending.signal);
    ending.abort();
    await expect(wait).resolves.toBeUndefined();
  });
});

describe('the position that a client has seen', () => {
  const MESSAGES = '/v1/workspaces/{workspaceId}/conversations/{id}/messages';
  const path = { workspaceId: 'w', id: 'c' };

  function start() {
    const sent: (string | null)[] = [];
    let answer: { position?: string; data?: object } = {};
    const fetch: Fetch = async (_url, { headers } = {}) => {
      sent.push(new Headers(headers).get('x-workspace-position'));
      const { position, data = {} } = answer;
      return Response.json({ data }, { headers: position === undefined ? {} : { 'x-workspace-position': position } });
    };
    const seen = createSeen();
    const http = createHttp('http://api', fetch, async () => ({}), new AbortController().signal, seen);
    async function call(method: string, route: string, given: typeof answer, parameters: object = path) {
      answer = given;
      await http.send(method, route, { path: parameters });
      return sent.pop();
    }
    return { seen, call };
  }

  it('is sent with message lists and searches alone, from the first answer or event on', async () => {
    const { seen, call } = start();
    expect(await call('get', MESSAGES, { position: 'e:4' })).toBeNull();
    expect(await call('get', `${MESSAGES}/search`, { position: 'e:3' })).toBe('e:4');
    seen.add('w', 'e', 7);
    expect(await call('get', MESSAGES, {})).toBe('e:7');
    expect(await call('get', '/v1/workspaces/{id}', { position: 'e:9' }, { id: 'w' })).toBeNull();
    expect(await call('post', MESSAGES, { data: { rev: 8 } })).toBeNull();
    expect(await call('get', MESSAGES, {})).toBe('e:9');
    expect(await call('get', MESSAGES, {}, { workspaceId: 'other', id: 'c' })).toBeNull();
  });

  it('includes what the client changes, and is unknown after a change without a revision', async () => {
    const { call } = start();
    await call('get', MESSAGES, { position: 'e:4' });
    await call('post', MESSAGES, { data: { rev: 5 } });
    expect(await call('get', MESSAGES, {})).toBe('e:5');
    await call('delete', '/v1/workspaces/{workspaceId}/messages/{id}', {});
    expect(await call('get', MESSAGES, { position: 'f:1' })).toBeNull();
    expect(await call('get', MESSAGES, {})).toBe('f:1');
  });
});
