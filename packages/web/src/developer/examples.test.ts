import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { asClientCall, asCurl, type Document, routeOf } from './examples.js';

const ORIGIN = 'http://localhost:8080';
const document: Document = {
  paths: {
    '/v1/workspaces': { get: { operationId: 'listWorkspaces' } },
    '/v1/users/exports/{id}': { get: { operationId: 'getExport' } },
    '/v1/users/{name}/{id}': { get: { operationId: 'other' } },
    '/v1/workspaces/{workspaceId}/conversations/{id}/messages': {
      get: { operationId: 'listMessages' },
      post: { operationId: 'sendMessage', summary: 'Send a message' },
    },
  },
};
const call = (method: string, path: string, body: unknown = null) => ({ method, url: `${ORIGIN}${path}`, body });
const example = (one: ReturnType<typeof call>) => asClientCall(one, routeOf(one, document)!);

describe('the route of a call', () => {
  it('is found by method and path, with the values of its parameters', () => {
    expect(routeOf(call('POST', '/v1/workspaces/w%201/conversations/c/messages?limit=1'), document)).toEqual({
      path: '/v1/workspaces/{workspaceId}/conversations/{id}/messages',
      params: { workspaceId: 'w 1', id: 'c' },
      operationId: 'sendMessage',
      summary: 'Send a message',
    });
  });

  it('is the one with the fewest parameters', () => {
    expect(routeOf(call('GET', '/v1/users/exports/1'), document)?.operationId).toBe('getExport');
  });

  it('is unknown for other paths and methods', () => {
    expect(routeOf(call('DELETE', '/v1/workspaces'), document)).toBeUndefined();
    expect(routeOf(call('GET', '/v1/workspaces/1'), document)).toBeUndefined();
  });
});

describe('a call as curl', () => {
  it('sends the same method, body and address in a shell, with the token of a variable', () => {
    const text = asCurl(call('PATCH', '/v1/a?x=1&y=2', { text: `it's "$HOME" \n` }));
    const script = `curl() { for each in "$@"; do printf '[%s]\\n' "$each"; done; }; TOKEN=secret; ${text}`;
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n')).toEqual([
      '[-X]',
      '[PATCH]',
      `[${ORIGIN}/v1/a?x=1&y=2]`,
      '[-H]',
      '[X-Token: secret]',
      '[-H]',
      '[content-type: application/json]',
      '[-d]',
      String.raw`[{"text":"it's \"$HOME\" \n"}]`,
      '',
    ]);
  });

  it('is short for a simple request', () => {
    expect(asCurl(call('GET', '/v1/workspaces'))).toBe(`curl '${ORIGIN}/v1/workspaces' \\\n  -H "X-Token: $TOKEN"`);
  });
});

describe('a call with the client', () => {
  it('names the route, the parameters and the body', () => {
    const one = call('POST', '/v1/workspaces/w/conversations/c/messages', { local_id: 'l', content: { text: 'Hi' } });
    expect(example(one)).toBe(
      [
        `await client.api.post('/v1/workspaces/{workspaceId}/conversations/{id}/messages', {`,
        `  path: { workspaceId: "w", id: "c" },`,
        `  body: { local_id: "l", content: { text: "Hi" } },`,
        `});`,
      ].join('\n'),
    );
  });

  it('has no input if none is needed', () => {
    expect(example(call('GET', '/v1/workspaces'))).toBe(`await client.api.get('/v1/workspaces');`);
  });
});
