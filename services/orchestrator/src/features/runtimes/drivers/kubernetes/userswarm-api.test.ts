import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, createWatch, type Credentials } from '@uswarm/kube-client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '../../../../../../../packages/kube-client/test/eventually.js';
import { type ScriptedApi, startScriptedApi } from '../../../../../../../packages/kube-client/test/scripted-api.js';
import { PlatformUnreachable } from '../driver.js';
import { openUserSwarms, type UserSwarmApi } from './userswarm-api.js';
import type { AppliedUserSwarm } from './userswarm-apply.js';
import { USERSWARMS } from '@uswarm/contract/userswarm';

const SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const OURS = { 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' };
const TIMING = { watchS: 60, silenceMs: 60_000, backoff: { initialMs: 5, maxMs: 20 } };

const spec = { userId: 'u', placement: { runtimeNamespace: 'n' } };
const wish = (name: string, suspend = false): AppliedUserSwarm => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name, labels: OURS },
  spec: { ...spec, suspend },
});
const managed = (name: string): KubernetesObject =>
  ({ ...wish(name), metadata: { name, labels: OURS, managedFields: [{ manager: 'kubectl' }] } }) as KubernetesObject;

describe('the UserSwarms of orchestrators', () => {
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
  const knows = (name: string): Promise<void> => eventually(() => api.known(name) !== undefined);
  const version = (name: string) => api.known(name)?.metadata.resourceVersion;
  const refuse = (status: number, reason: string) =>
    server.script(({ method, query }, response) => {
      if (method === 'GET' && query.has('watch')) return undefined;
      response.writeHead(status).end(JSON.stringify({ code: status, reason, message: 'no' }));
      return true;
    });

  describe('as they are known', () => {
    it('are ours only, with who set what', async () => {
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
      expect([api.known('a'), changes.at(-1)]).toEqual([undefined, ['a', undefined]]);
    });

    it('say what was missed while the way to the server was cut', async () => {
      for (const name of ['a', 'b']) server.put(SWARMS, { ...wish(name) });
      await watched();
      await eventually(() => changes.length === 2);
      changes.length = 0;
      server.endWatches('cut');
      server.remove(SWARMS, 'a');
      server.put(SWARMS, { ...wish('b', true) });
      server.compact();
      await eventually(() => changes.length === 2);
      expect(changes).toEqual(
        expect.arrayContaining([
          ['a', undefined],
          ['b', true],
        ]),
      );
    });

    it('go on being said while the server does not answer', async () => {
      server.put(SWARMS, { ...wish('a') });
      await watched();
      await knows('a');
      refuse(503, '');
      server.endWatches('cut');
      await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
      expect(api.known('a')).toMatchObject({ spec });
    });

    it('have at once what we wrote, which nobody is told of, and nothing older after that', async () => {
      let held = '';
      await watched();
      const written = await api.apply(wish('a'), { force: false });
      expect(api.known('a')).toEqual(written);
      held = JSON.stringify({ type: 'MODIFIED', object: written });
      const later = await api.apply(wish('a', true), { force: false });
      server.say(SWARMS, held);
      server.put(SWARMS, { ...wish('marker') });
      await knows('marker');
      expect([version('a'), changes]).toEqual([later.metadata.resourceVersion, [['marker', false]]]);
    });

    it('do not lose the present one by the end of an earlier one', async () => {
      await watched();
      const earlier = server.put(SWARMS, { ...wish('a') });
      await knows('a');
      server.remove(SWARMS, 'a');
      await eventually(() => api.known('a') === undefined);
      await api.apply(wish('a'), { force: false });
      server.say(SWARMS, JSON.stringify({ type: 'DELETED', object: earlier }));
      server.put(SWARMS, { ...wish('marker') });
      await knows('marker');
      expect(version('a')).toBeDefined();
    });

    it('are in doubt after a write was refused, until there is news', async () => {
      server.put(SWARMS, { ...wish('a') });
      await watched();
      await knows('a');
      const mend = refuse(409, 'Conflict');
      await expect(api.apply(wish('a', true), { force: false })).rejects.toMatchObject({ reason: 'Conflict' });
      mend();
      expect(api.known('a')).toBeUndefined();
      expect(await api.get('a')).toMatchObject({ spec: { suspend: false } });
      await api.apply(wish('a', true), { force: false });
      expect(api.known('a')?.spec.suspend).toBe(true);

      refuse(422, 'Invalid');
      const tryInVain = async (): Promise<void> => {
        await expect(api.apply(wish('a'), { force: false })).rejects.toMatchObject({ reason: 'Invalid' });
        expect(api.known('a')).toBeUndefined();
      };
      await tryInVain();
      server.put(SWARMS, { ...wish('a', false) });
      await knows('a');
      await tryInVain();
      server.remove(SWARMS, 'a');
      await eventually(() => changes.length === 3);
      expect(changes).toEqual([
        ['a', false],
        ['a', false],
        ['a', undefined],
      ]);
    });

    it('are not in doubt because the server was away', async () => {
      server.put(SWARMS, { ...wish('a') });
      await watched();
      await knows('a');
      refuse(503, '');
      await expect(api.apply(wish('a', true), { force: false })).rejects.toThrow(PlatformUnreachable);
      expect(api.known('a')?.spec.suspend).toBe(false);
    });
  });

  describe('and the calls', () => {
    it.each([
      [403, 'Forbidden'],
      [409, 'Conflict'],
      [410, 'Expired'],
      [422, 'Invalid'],
    ])('%d is a refusal with its reason', async (status, reason) => {
      open();
      refuse(status, reason);
      await expect(api.get('a')).rejects.toMatchObject({ name: 'KubeError', status, reason });
      await expect(api.apply(wish('a'), { force: false })).rejects.toMatchObject({ name: 'KubeError', status, reason });
    });

    it.each([429, 500, 503])('%d passes, and says nothing about the object', async (status) => {
      open();
      refuse(status, '');
      await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
      await expect(api.apply(wish('a'), { force: false })).rejects.toThrow(PlatformUnreachable);
      await expect(api.delete('a', { uid: 'u', resourceVersion: '1' })).rejects.toThrow(PlatformUnreachable);
    });

    it('nobody there is no refusal either', async () => {
      open();
      server.script((_request, response) => {
        response.destroy();
        return true;
      });
      await expect(api.get('a')).rejects.toThrow(PlatformUnreachable);
    });

    it('what is not there is undefined, and gone', async () => {
      open();
      expect(await api.get('a')).toBeUndefined();
      expect(await api.delete('a', { uid: 'u', resourceVersion: '1' })).toBe(false);
    });

    it('applies as the orchestrator, by force only where it is told to', async () => {
      open();
      await api.apply(wish('a'), { force: false });
      await api.apply(wish('a', true), { force: true });
      expect(server.writes().map(({ path, query }) => [path, Object.fromEntries(query)])).toEqual([
        [`${SWARMS}/a`, { fieldManager: 'uswarm-orchestrator', force: 'false' }],
        [`${SWARMS}/a`, { fieldManager: 'uswarm-orchestrator', force: 'true' }],
      ]);
      expect(server.writes()[0]?.body).toEqual(wish('a'));
    });

    it('deletes only the very object that was seen', async () => {
      open();
      const { uid = '', resourceVersion = '' } = server.put(SWARMS, { ...wish('a') }).metadata;
      for (const seen of [
        { uid: 'earlier', resourceVersion },
        { uid, resourceVersion: '1' },
      ]) {
        await expect(api.delete('a', seen)).rejects.toMatchObject({ status: 409 });
      }
      expect(await api.delete('a', { uid, resourceVersion })).toBe(true);
      expect(server.get(SWARMS, 'a')).toBeUndefined();
      expect(server.writes().at(-1)?.body).toMatchObject({ propagationPolicy: 'Background' });
    });
  });
});
