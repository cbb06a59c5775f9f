import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createCredentials,
  createKubeClient,
  createWatch,
  type Credentials,
  type KubernetesObject,
} from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { PlatformUnreachable } from '../driver.js';
import { openUserSwarms, type UserSwarmApi } from './userswarm-api.js';
import type { AppliedUserSwarm } from './userswarm-apply.js';

const SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const LABELS = { 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' };
const TIMING = { watchS: 60, silenceMs: 60_000, backoff: { initialMs: 5, maxMs: 20 } };

const spec = { userId: 'u', placement: { runtimeNamespace: 'n' } };
const applied = (name: string, suspend = false): AppliedUserSwarm => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name, labels: LABELS },
  spec: { ...spec, suspend },
});
const managed = (name: string): KubernetesObject =>
  ({
    ...applied(name),
    metadata: { name, labels: LABELS, managedFields: [{ manager: 'kubectl' }] },
  }) as KubernetesObject;

describe('the UserSwarm API', () => {
  let server: ScriptedApi;
  let credentials: Credentials;
  let api: UserSwarmApi;
  let changes: [name: string, suspend: boolean | undefined][];
  beforeEach(async () => {
    server = await startScriptedApi();
    credentials = await createCredentials(server.config);
    changes = [];
  });
  afterEach(async () => {
    await api.close();
    await credentials.close();
    await server.close();
  });

  const open = (): void => {
    api = openUserSwarms({
      client: createKubeClient({ credentials, fieldManager: 'test' }),
      watch: createWatch(credentials),
      type: USERSWARMS,
      onChange: (name) => void changes.push([name, api.known(name)?.spec.suspend]),
      timing: TIMING,
      logger: silentLogger,
    });
  };
  const watched = async (): Promise<void> => {
    open();
    await eventually(() => server.watches() === 1);
  };
  const knows = (name: string): Promise<true> => eventually(() => api.known(name) !== undefined);
  const version = (name: string) => api.known(name)?.metadata.resourceVersion;
  const refuse = (status: number, reason: string) =>
    server.script(({ method, query }, response) => {
      if (method === 'GET' && query.has('watch')) return undefined;
      response.writeHead(status).end(JSON.stringify({ code: status, reason, message: 'no' }));
      return true;
    });

  describe('the cache', () => {
    it('contains only managed UserSwarms, with their managed fields', async () => {
      server.put(SWARMS, managed('a'));
      server.put(SWARMS, { ...managed('theirs'), metadata: { name: 'theirs' } });
      await watched();
      await knows('a');
      server.put(SWARMS, managed('b'));
      await knows('b');
      expect(api.known('b')?.metadata.managedFields).toEqual([{ manager: 'kubectl' }]);
      expect(api.known('theirs')).toBeUndefined();
      expect(await api.get('theirs')).toMatchObject({ spec });
      expect(changes).toEqual([
        ['a', false],
        ['b', false],
      ]);
      server.remove(SWARMS, 'a');
      await eventually(() => changes.length === 3);
      expect(api.known('a')).toBeUndefined();
      expect(changes.at(-1)).toEqual(['a', undefined]);
    });

    it('reports the changes that happened while the watch was disconnected', async () => {
      for (const name of ['a', 'b']) server.put(SWARMS, { ...applied(name) });
      await watched();
      await eventually(() => changes.length === 2);
      changes.length = 0;
      server.endWatches('disconnect');
      server.remove(SWARMS, 'a');
      server.put(SWARMS, { ...applied('b', true) });
      server.compact();
      await eventually(() => changes.length === 2);
      expect(changes).toEqual(
        expect.arrayContaining([
          ['a', undefined],
          ['b', true],
        ]),
      );
    });

    it('keeps its objects while the server is unavailable', async () => {
      server.put(SWARMS, { ...applied('a') });
      await watched();
      await knows('a');
      refuse(503, '');
      server.endWatches('disconnect');
      await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
      expect(api.known('a')).toMatchObject({ spec });
    });

    it('contains an own write immediately without a notification, and ignores older versions afterwards', async () => {
      let delayed = '';
      await watched();
      const written = await api.apply(applied('a'), { force: false });
      expect(api.known('a')).toEqual(written);
      delayed = JSON.stringify({ type: 'MODIFIED', object: written });
      const later = await api.apply(applied('a', true), { force: false });
      server.sendToWatches(SWARMS, delayed);
      server.put(SWARMS, { ...applied('marker') });
      await knows('marker');
      expect(version('a')).toBe(later.metadata.resourceVersion);
      expect(changes).toEqual([['marker', false]]);
    });

    it('ignores a late deletion event of an earlier object', async () => {
      await watched();
      const earlier = server.put(SWARMS, { ...applied('a') });
      await knows('a');
      server.remove(SWARMS, 'a');
      await eventually(() => api.known('a') === undefined);
      await api.apply(applied('a'), { force: false });
      server.sendToWatches(SWARMS, JSON.stringify({ type: 'DELETED', object: earlier }));
      server.put(SWARMS, { ...applied('marker') });
      await knows('marker');
      expect(version('a')).toBeDefined();
    });

    it('hides an object after a refused write until the next event or write', async () => {
      server.put(SWARMS, { ...applied('a') });
      await watched();
      await knows('a');
      const restore = refuse(409, 'Conflict');
      await expect(api.apply(applied('a', true), { force: false })).rejects.toMatchObject({ reason: 'Conflict' });
      restore();
      expect(api.known('a')).toBeUndefined();
      expect(await api.get('a')).toMatchObject({ spec: { suspend: false } });
      await api.apply(applied('a', true), { force: false });
      expect(api.known('a')?.spec.suspend).toBe(true);

      refuse(422, 'Invalid');
      const expectRefusal = async (): Promise<void> => {
        await expect(api.apply(applied('a'), { force: false })).rejects.toMatchObject({ reason: 'Invalid' });
        expect(api.known('a')).toBeUndefined();
      };
      await expectRefusal();
      server.put(SWARMS, { ...applied('a', false) });
      await knows('a');
      await expectRefusal();
      server.remove(SWARMS, 'a');
      await eventually(() => changes.length === 3);
      expect(changes).toEqual([
        ['a', false],
        ['a', false],
        ['a', undefined],
      ]);
    });

    it('keeps an object after a write that failed because the server was unavailable', async () => {
      server.put(SWARMS, { ...applied('a') });
      await watched();
      await knows('a');
      refuse(503, '');
      await expect(api.apply(applied('a', true), { force: false })).rejects.toThrow(PlatformUnreachable);
      expect(api.known('a')?.spec.suspend).toBe(false);
    });
  });

  describe('calls', () => {
    it.each([
      [403, 'Forbidden'],
      [409, 'Conflict'],
      [410, 'Expired'],
      [422, 'Invalid'],
    ])('report status %d as a KubeError with reason %s', async (status, reason) => {
      open();
      refuse(status, reason);
      await expect(api.get('a')).rejects.toMatchObject({ name: 'KubeError', status, reason });
      await expect(api.apply(applied('a'), { force: false })).rejects.toMatchObject({
        name: 'KubeError',
        status,
        reason,
      });
    });

    it.each([429, 500, 503])('report status %d as PlatformUnreachable', async (status) => {
      open();
      refuse(status, '');
      await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
      await expect(api.apply(applied('a'), { force: false })).rejects.toThrow(PlatformUnreachable);
      await expect(api.delete('a', { uid: 'u', resourceVersion: '1' })).rejects.toThrow(PlatformUnreachable);
    });

    it('report a closed connection as PlatformUnreachable', async () => {
      open();
      server.script((_request, response) => {
        response.destroy();
        return true;
      });
      await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
    });

    it('report an object that does not exist as undefined on read and false on delete', async () => {
      open();
      expect(await api.get('a')).toBeUndefined();
      expect(await api.delete('a', { uid: 'u', resourceVersion: '1' })).toBe(false);
    });

    it('apply as the field manager of the orchestrator, and force only on request', async () => {
      open();
      await api.apply(applied('a'), { force: false });
      await api.apply(applied('a', true), { force: true });
      expect(server.writes().map(({ path, query }) => ({ path, ...Object.fromEntries(query) }))).toEqual([
        { path: `${SWARMS}/a`, fieldManager: 'uswarm-orchestrator', force: 'false' },
        { path: `${SWARMS}/a`, fieldManager: 'uswarm-orchestrator', force: 'true' },
      ]);
      expect(server.writes()[0]?.body).toEqual(applied('a'));
    });

    it('delete only the given version of an object', async () => {
      open();
      const { uid = '', resourceVersion = '' } = server.put(SWARMS, { ...applied('a') }).metadata;
      for (const outdated of [
        { uid: 'earlier', resourceVersion },
        { uid, resourceVersion: '1' },
      ]) {
        await expect(api.delete('a', outdated)).rejects.toMatchObject({ status: 409 });
      }
      expect(await api.delete('a', { uid, resourceVersion })).toBe(true);
      expect(server.get(SWARMS, 'a')).toBeUndefined();
      expect(server.writes().at(-1)?.body).toMatchObject({ propagationPolicy: 'Background' });
    });
  });
});
