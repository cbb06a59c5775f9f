import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Script, type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { createCredentials, type Credentials } from './credentials.js';
import { KubeError } from './errors.js';
import { createWatch, MalformedWatchEvent } from './watch.js';

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
const event = (type: string, name: string): string =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion: '8' } } })}\n`;

describe('createWatch', () => {
  let api: ScriptedApi;
  let credentials: Credentials;
  let seen: string[];
  beforeEach(async () => {
    api = await startScriptedApi();
    credentials = await createCredentials(api.config);
    seen = [];
  });
  afterEach(async () => {
    await credentials.close();
    await api.close();
  });
  const follow = (script: Script): Promise<void> => {
    api.script(script);
    return createWatch(credentials)(
      NAMESPACES,
      { labelSelector: 'a=b', resourceVersion: '7', lastsS: 25, silenceMs: 30_000 },
      ({ type, object }) => seen.push(`${type} ${object.metadata.name}`),
      new AbortController().signal,
    );
  };

  it('yields each event for any split of the lines, and ends with the stream', async () => {
    const bytes = Buffer.from(event('ADDED', 'ä') + event('BOOKMARK', '') + event('DELETED', 'b'));
    await follow((_request, response) => {
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
      return true;
    });
    expect(seen).toEqual(['ADDED ä', 'BOOKMARK ', 'DELETED b']);
    expect(Object.fromEntries(api.requests[0]?.query ?? [])).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '25',
      labelSelector: 'a=b',
      resourceVersion: '7',
    });
  });

  it('throws a KubeError for an error event in the stream', async () => {
    const expired = JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    const following = follow((_request, response) => {
      response.end(`${event('ADDED', 'a')}${expired}\n`);
      return true;
    });
    await expect(following).rejects.toMatchObject({ name: 'KubeError', status: 410, reason: 'Expired' });
    expect(seen).toEqual(['ADDED a']);
  });

  it('throws a connection error when the stream breaks within a line', async () => {
    const following = follow((_request, response) => {
      response.write(`${event('ADDED', 'a')}{"type":`, () => response.destroy());
      return true;
    });
    const error = await following.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(KubeError);
    expect(error).not.toBeInstanceOf(MalformedWatchEvent);
    expect(seen).toEqual(['ADDED a']);
  });
});
