import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { drainFlagExpiry } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, type Credentials } from '@uswarm/kube-client';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { createDrainFlag, type DrainFlag } from './drain-flag.js';

const FLAGS = '/api/v1/namespaces/backend/configmaps';
const place = { namespace: 'backend', name: 'uswarm-drain' };
const START = Date.parse('2030-01-01T00:00:00Z');
const { signal } = new AbortController();

let server: ScriptedApi;
let credentials: Credentials;
let now: number;
beforeEach(async () => {
  server = await startScriptedApi();
  credentials = await createCredentials(server.config);
  now = 0;
});
afterEach(async () => {
  await credentials.close();
  await server.close();
});

const flagOf = (run: string): DrainFlag =>
  createDrainFlag({
    client: createKubeClient({ credentials, fieldManager: 'test' }),
    place,
    run,
    clock: { now: () => new Date(START + now) },
    elapsed: () => now,
  });
/** Milliseconds until the flag expires; undefined without a flag. */
const validFor = (): number | undefined => {
  const stored = server.get(FLAGS, place.name);
  return stored && drainFlagExpiry(stored) - START - now;
};

it('expires a minute after the last renewal', async () => {
  const flag = flagOf('job');
  expect(await flag.raise(signal)).toBe(0);
  expect(validFor()).toBe(60_000);
  now += 9_999;
  await flag.hold(signal);
  expect(validFor()).toBe(50_001);
  now += 1;
  await flag.hold(signal);
  expect(validFor()).toBe(60_000);
});

it('keeps the start time when the next pod of the Job takes it over', async () => {
  await flagOf('job').raise(signal);
  now += 100_000;
  expect(await flagOf('job').raise(signal)).toBe(100_000);
  expect(validFor()).toBe(60_000);
});

it.each([
  ['of an earlier removal', { run: 'earlier', startedAt: '2029-12-31T00:00:00Z', expiresAt: '2030-01-01T00:00:30Z' }],
  ['of release 0.2', undefined],
])('starts a new drain over a flag %s', async (_what, data) => {
  server.put(FLAGS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: place, ...(data && { data }) });
  const flag = flagOf('job');
  expect(await flag.raise(signal)).toBe(0);
  await flag.hold(signal);
  expect(validFor()).toBe(60_000);
});

it('fails when another drain has taken it over', async () => {
  const flag = flagOf('job');
  await flag.raise(signal);
  await flagOf('another').raise(signal);
  await expect(flag.hold(signal)).rejects.toThrow(/belongs to another drain/);
  await flag.lower();
  expect(server.get(FLAGS, place.name)).toBeDefined();
});

it('remains until the release is removed after a successful drain, and is deleted after a failed one', async () => {
  const flag = flagOf('job');
  await flag.raise(signal);
  now += 55_000;
  await flag.complete(signal);
  expect(validFor()).toBe(60_000);
  await flag.lower();
  expect(validFor()).toBeUndefined();
});
