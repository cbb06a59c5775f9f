import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  conditionOf,
  fixtureObjects,
  GENERATED_SECRET,
  imageOf,
  messageOf,
  NAMESPACE,
  openSession,
  type Session,
  SHOWN_WITHIN_MS,
  upgradeRelease,
} from '../support/index.js';

// A separate database for runtimes.
const DATABASE = { name: 'runtime-database', namespace: NAMESPACE.edge };
const PASSWORD = randomUUID();
/** Longer than a failed attempt, its retry delay, a second attempt and the next sync. */
const NOTICED_WITHIN_MS = 3 * SHOWN_WITHIN_MS;

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

async function scaleDatabase(replicas: number): Promise<void> {
  const { kubectl } = session.tools;
  const deployment = `deployment/${DATABASE.name}`;
  await kubectl(['scale', '-n', DATABASE.namespace, deployment, `--replicas=${replicas}`]);
  const until =
    replicas === 0
      ? ['wait', '--for=delete', 'pod', '-n', DATABASE.namespace, `--selector=app=${DATABASE.name}`, '--timeout=60s']
      : ['rollout', 'status', '-n', DATABASE.namespace, deployment, '--timeout=60s'];
  await kubectl(until, { timeoutMs: 70_000 });
}

async function startDatabase(): Promise<void> {
  const env = { POSTGRES_USER: 'runtime', POSTGRES_PASSWORD: PASSWORD, POSTGRES_DB: 'runtime', PGDATA: '/tmp/data' };
  // Only /tmp is writable.
  const command = ['docker-entrypoint.sh', 'postgres', '-c', 'unix_socket_directories=/tmp'];
  const image = imageOf(session.settings.images, 'postgres');
  const items = fixtureObjects({ ...DATABASE, image, port: 5432, env, command });
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await session.tools.kubectl(['apply', '-f', '-'], { input });
  session.onClose(() => session.tools.kubectl(['delete', '-f', '-'], { input }));
  await scaleDatabase(1);
}

/** Configures runtime stores: settings as values, passwords in a Secret. */
async function configureRuntimeDatabase(): Promise<void> {
  const stores = { SVC_DATABASE_PASSWORD: PASSWORD };
  for (const place of [
    { name: 'e2e-stores', namespace: NAMESPACE.release },
    { name: 'uswarm-runtime-stores', namespace: NAMESPACE.runtime },
  ]) {
    await session.api.delete('Secret', place);
    await session.api.create('Secret', { metadata: place, stringData: stores });
    session.onClose(() => session.api.delete('Secret', place));
  }
  session.onClose(() => upgradeRelease(session, {}));
  const host = `${DATABASE.name}.${DATABASE.namespace}.svc.cluster.local`;
  const database = { host, port: 5432, name: 'runtime', user: 'runtime', sslMode: 'disable' };
  const before = await generatedSecret();
  await upgradeRelease(session, { runtime: { stores: { existingSecret: 'e2e-stores', database } } });
  expect(await generatedSecret()).toEqual(before);
}

/** Created by the first installation and kept by upgrades. */
async function generatedSecret(): Promise<object> {
  const { data = {} } = await session.api.get('Secret', GENERATED_SECRET);
  expect(Object.keys(data).length).toBeGreaterThan(5);
  return data;
}

describe('a release with a database for runtimes', () => {
  let running: string;
  beforeAll(async () => {
    await startDatabase();
    await configureRuntimeDatabase();
    running = await session.create();
    await session.ready(running);
  });

  it('passes the database settings to runtimes, the password only by reference, and keeps generated secrets', async () => {
    const { deployment } = await session.children(running);
    const { env = [] } = deployment!.spec!.template.spec!.containers[0]!;
    const own = env.filter(({ name }) => name.startsWith('SVC_DATABASE_'));
    expect(own.map(({ name }) => name).toSorted()).toEqual(
      ['HOST', 'NAME', 'PASSWORD', 'PORT', 'SSLMODE', 'USER'].map((part) => `SVC_DATABASE_${part}`).toSorted(),
    );
    expect(own.find(({ name }) => name === 'SVC_DATABASE_PASSWORD')).toEqual({
      name: 'SVC_DATABASE_PASSWORD',
      valueFrom: { secretKeyRef: { name: 'uswarm-runtime-stores', key: 'SVC_DATABASE_PASSWORD' } },
    });
    expect(JSON.stringify(deployment)).not.toContain(PASSWORD);
  });

  it('CTRL-003: reports SecretMissing with the key that the Secret of the stores does not have, until it has it', async () => {
    const place = { name: 'uswarm-runtime-stores', namespace: NAMESPACE.runtime };
    const { data = {} } = await session.api.get('Secret', place);
    await session.api.merge('Secret', place, { data: { SVC_DATABASE_PASSWORD: null } });
    const name = await session.create();
    const missing = await session.shows(name, 'Progressing', 'SecretMissing', NOTICED_WITHIN_MS);
    expect(messageOf(missing)).toMatch(/^The Secret \S*uswarm-runtime-stores has no key SVC_DATABASE_PASSWORD\./);
    await session.api.merge('Secret', place, { data });
    await session.ready(name);
  });

  it('CTRL-003: reports DatabaseUnreachable during an outage, only for runtimes that are not Ready yet', async () => {
    await scaleDatabase(0);
    // This image runs but does not serve gRPC, so the runtime stays Starting.
    const starting = await session.create({ runtime: { image: imageOf(session.settings.images, 'search-upstream') } });
    const unreachable = await session.shows(starting, 'Progressing', 'DatabaseUnreachable', NOTICED_WITHIN_MS);
    expect(conditionOf(unreachable, 'DependenciesReachable')).toMatchObject({
      status: 'False',
      reason: 'DatabaseUnreachable',
    });
    expect(session.swarms.current(running)?.status?.phase).toBe('Ready');
    await scaleDatabase(1);
    await session.swarms.until(
      starting,
      'DependenciesReachable again',
      (swarm) => swarm !== undefined && conditionOf(swarm, 'DependenciesReachable')?.status === 'True',
      NOTICED_WITHIN_MS,
    );
    await session.patch(starting, { runtime: { image: '' } });
    await session.ready(starting);
  });
});
