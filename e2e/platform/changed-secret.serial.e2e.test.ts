import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NAMESPACE, openSession, type Session } from '../support/index.js';
import { MODEL_SERVER } from '../support/fixtures.js';
import { modelRequests } from '../support/model-server.js';
import { untilChanged, useOwnProvider, writeRuntimeSecret } from '../support/own-provider.js';
import {
  AWAKE,
  createRollingRelease,
  everyUserIsAnswered,
  ONE_BY_ONE,
  podNamesOf,
  type RollingRelease,
} from '../support/rolling-release.js';
import { mostStopped, type RuntimeUser } from '../support/rolling-swarms.js';

const SWARMS = 3;
const SECRET = 'e2e-changed-keys';
const [OLD_KEY, NEW_KEY] = [`old-${randomUUID()}`, `new-${randomUUID()}`];
const PROVIDER = { OPENAI_BASE_URL: MODEL_SERVER, OPENAI_MODEL: 'scripted-model' };

/** Longer than a resync. */
const RESYNCED_MS = 40_000;

const valuesWith = (runtime: object = {}): object => ({
  runtime: { ...AWAKE, sharedEnvSecrets: [SECRET], ...runtime },
  rollout: ONE_BY_ONE,
  networkPolicy: {
    runtime: {
      egressAllowRules: {
        inCluster: [
          { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE.models } }, ports: [8080] },
        ],
      },
    },
  },
});

let session: Session;
let release: RollingRelease;
let users: RuntimeUser[];

beforeAll(async () => {
  session = await openSession();
  await writeRuntimeSecret(session, SECRET, { ...PROVIDER, OPENAI_API_KEY: OLD_KEY });
  release = createRollingRelease(session);
  await release.upgrade(valuesWith());
  users = await release.signUp(SWARMS);
  await Promise.all(users.map((user) => useOwnProvider(session, user, SECRET)));
});
afterAll(() => session?.close());

const receivedWith = async (key: string): Promise<number> =>
  (await modelRequests(session)).filter(({ authorization }) => authorization === `Bearer ${key}`).length;

const everyUserAsks = (): Promise<void> => everyUserIsAnswered(users, (nonce) => `Question ${nonce}`);

describe('three runtimes whose Secret gets another key', () => {
  let pods: (string | undefined)[];

  beforeAll(async () => {
    await everyUserAsks();
    pods = await podNamesOf(session, users);
    await writeRuntimeSecret(session, SECRET, { OPENAI_API_KEY: NEW_KEY });
  });

  it('keep their pods and the old key after an upgrade with the same values', async () => {
    const before = await receivedWith(OLD_KEY);
    await release.upgrade(valuesWith());
    await sleep(RESYNCED_MS);
    expect(await podNamesOf(session, users)).toEqual(pods);
    await everyUserAsks();
    expect(await receivedWith(OLD_KEY)).toBeGreaterThanOrEqual(before + SWARMS);
    expect(await receivedWith(NEW_KEY)).toBe(0);
  });

  it('restart one after the other with the new key after runtime.secretRevision was changed', async () => {
    const former = users.map(({ name }) => session.swarms.current(name));
    const changedAt = Date.now();
    await release.upgrade(valuesWith({ secretRevision: '2' }));
    await Promise.all(users.map((user, at) => untilChanged(session, user, former[at])));
    expect(mostStopped(session, users, changedAt)).toBe(ONE_BY_ONE.maxConcurrent);
    for (const name of await podNamesOf(session, users)) expect(pods).not.toContain(name);
    const withOldKey = await receivedWith(OLD_KEY);
    await everyUserAsks();
    expect(await receivedWith(NEW_KEY)).toBeGreaterThanOrEqual(SWARMS);
    expect(await receivedWith(OLD_KEY)).toBe(withOldKey);
  });
});
