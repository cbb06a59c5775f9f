import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KEEP_LABEL, LABEL, RUNTIME_COMPONENT } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import {
  deployEdge,
  imageOf,
  installRelease,
  NAMESPACE,
  openSession,
  type Session,
  uninstallRelease,
  upgradeRelease,
} from '../support/index.js';
import { type TestUsers, openTestUsers, keepBusy, type TestUser } from '../support/test-users.js';
import { createExternalDatabase, createExternalKeys } from '../support/external-database.js';
import { AWAKE, DRAIN_FLAG, READY_MS } from './settings.js';

const SIGN_UPS = 8;
/** Users who sign up before the first runtime is deleted, and the same number afterwards. */
const LATE_SIGN_UPS = 3;
/** Interval of sign-ups in milliseconds. */
const LATE_EVERY_MS = 1_500;

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

const edge = (): Promise<void> => deployEdge(session, imageOf(session.settings.images, 'edge'));
const label = (name: string): Promise<unknown> =>
  session.api.merge('UserSwarm', { name }, { metadata: { labels: { [KEEP_LABEL]: 'true' } } });
const podOf = async (name: string): Promise<string | undefined> =>
  (await session.children(name)).pods[0]?.metadata?.uid;

/** UserSwarms that were created after this time, in milliseconds since the epoch, by name. */
function cameAfter(moment: number): string[] {
  const { swarms } = session;
  const names = new Set(swarms.all().map(({ metadata }) => metadata.name));
  for (const name of seenNames) names.add(name);
  return [...names].filter((name) =>
    swarms.history(name).some(({ at, object }, index, all) => {
      const before = all[index - 1]?.object;
      return object !== undefined && before === undefined && at > moment;
    }),
  );
}
const seenNames = new Set<string>();

/** Objects that the uninstall should have deleted. */
async function leftovers(): Promise<string[]> {
  const { api } = session;
  const { release, runtime } = NAMESPACE;
  const labelSelector = `${LABEL.partOf}=uswarm,${LABEL.component}!=${RUNTIME_COMPONENT}`;
  const found = await Promise.all([
    api.list('ClusterRole', { labelSelector }),
    ...([release, runtime, 'default'] as const).flatMap((namespace) => [
      api.list('Role', { namespace, labelSelector }),
      api.list('ServiceAccount', { namespace, labelSelector }),
      api.list('ConfigMap', { namespace, labelSelector }),
      api.list('Deployment', { namespace, labelSelector }),
      api.list('Job', { namespace, labelSelector }),
    ]),
  ]);
  return found.flat().map(({ kind, metadata }) => `${kind} ${metadata?.namespace ?? ''}/${metadata?.name}`);
}

describe('a release in use with an external database', () => {
  let users: TestUsers;
  let values: object;
  let signedUp: TestUser[];
  const late: TestUser[] = [];
  const written: { user: TestUser; text: string }[] = [];
  let made: string;
  let kept: string;
  let keptPod: string | undefined;
  let said: string;
  let drainedAt: number;
  let goneAt: number;

  beforeAll(async () => {
    values = {
      ...AWAKE,
      secrets: { ...(await createExternalKeys(session)), ...(await createExternalDatabase(session)) },
    };
    await upgradeRelease(session, values);
    await edge();
    users = await openTestUsers(session);
    session.swarms.onChange((name) => seenNames.add(name));
    signedUp = await Promise.all(Array.from({ length: SIGN_UPS }, () => users.signUp()));
    [made, kept] = await Promise.all([session.create(), session.create()]);
    await label(kept);
    const names = [...signedUp.map(({ swarm }) => swarm), made, kept];
    await Promise.all(names.map((name) => session.shows(name, 'Ready', 'Available', READY_MS)));
    keptPod = await podOf(kept);
    await eventually(async () => (await users.send(signedUp[0]!, 'before')) === 201, {
      description: 'a message is taken',
      timeoutMs: 60_000,
    });
  });
  afterAll(async () => {
    await session.api.delete('UserSwarm', { name: kept });
    await session.deleted(kept);
  });

  it('is uninstalled while users sign up and send messages', async () => {
    const signUps = keepBusy(async () => {
      const before = late.filter(({ signedUpAt }) => drainedAt === undefined || signedUpAt <= drainedAt).length;
      const enough = (drainedAt === undefined ? before : late.length - before) >= LATE_SIGN_UPS;
      if (!enough && (await session.api.find('ConfigMap', DRAIN_FLAG))) late.push(await users.signUp());
    }, LATE_EVERY_MS);
    let turn = 0;
    const writing = keepBusy(async () => {
      turn += 1;
      const user = signedUp[turn % SIGN_UPS]!;
      const text = `while it goes ${turn}`;
      if ((await users.send(user, text)) === 201 && drainedAt !== undefined) written.push({ user, text });
    }, 200);
    session.swarms.onChange((_name, { object }) => {
      if (object === undefined) drainedAt ??= Date.now();
    });
    said = await uninstallRelease(session);
    goneAt = Date.now();
    signUps.stop();
    writing.stop();
    // Verify that the release was in use after the first runtime was deleted.
    expect(late.filter(({ signedUpAt }) => signedUpAt > drainedAt).length).toBeGreaterThan(0);
    expect(written.length).toBeGreaterThan(0);
  });

  it('deletes all UserSwarms except the one with the keep label, and does not create new ones', async () => {
    const swarms = await session.api.list('UserSwarm');
    expect(swarms.map(({ metadata }) => metadata.name)).toEqual([kept]);
    expect(cameAfter(drainedAt)).toEqual([]);
    for (const { swarm } of late) expect(session.swarms.history(swarm)).toEqual([]);
    const pods = await session.api.list('Pod', { namespace: NAMESPACE.runtime });
    expect(pods.map(({ metadata }) => metadata?.uid)).toEqual([keptPod]);
  });

  it('leaves no finalizer, RBAC object, ServiceAccount or drain flag', async () => {
    const [swarm] = await session.api.list('UserSwarm');
    expect(swarm?.metadata.finalizers ?? []).toEqual([]);
    // The release's pods may still terminate.
    await eventually(
      async () => {
        const left = await leftovers();
        if (left.length > 0) throw new Error(left.join(', '));
        return true;
      },
      { description: 'nothing left of the release', timeoutMs: 60_000 },
    );
    // A remaining Lease would delay the next installation until it expires.
    const lease = { name: 'uswarm-controller', namespace: NAMESPACE.release };
    expect(await session.api.find('Lease', lease)).toBeUndefined();
  });

  it('reports what it deleted and what it kept', () => {
    expect(said).toMatch(/9 UserSwarms remaining\./);
    expect(said).toMatch(/9 UserSwarms deleted with all children/);
    expect(said).toContain(`Kept because of the label ${KEEP_LABEL}=true: ${kept}`);
    for (const line of [
      'the CRD of UserSwarm: kubectl delete crd userswarms.uswarm.dev',
      `namespace ${NAMESPACE.runtime} with all its objects`,
      `Secret uswarm-model-env in namespace ${NAMESPACE.runtime}`,
      'No UserSwarm has a uswarm finalizer.',
    ]) {
      expect(said).toContain(line);
    }
    expect(said).toMatch(/kept due to the resource policy/i);
    expect(said).toContain('uninstalled');
  });

  it('is installed again with the kept data, and every workspace has its runtime', async () => {
    expect(goneAt).toBeGreaterThan(drainedAt);
    await installRelease(session, values);
    await edge();
    const names = [...signedUp, ...late].map(({ swarm }) => swarm);
    await Promise.all(names.map((name) => session.shows(name, 'Ready', 'Available', READY_MS)));
    const again = await session.shows(kept, 'Ready', 'Available', READY_MS);
    expect(again.metadata.finalizers).toHaveLength(1);
    expect(await podOf(kept)).toBe(keptPod);
  });

  it('has lost no message and answers the queued ones', async () => {
    const sent = [{ user: signedUp[0]!, text: 'before' }, ...written];
    for (const { user, text } of sent) {
      await eventually(
        async () => {
          const found = (await users.messages(user)).find(
            ({ content }) => content.type === 'text' && content.text === text,
          );
          if (found === undefined) throw new Error('it is not there');
          return found.extended_status === 'read' ? found : undefined;
        },
        { description: `"${text}" is read`, timeoutMs: 120_000, intervalMs: 1_000 },
      );
    }
    expect(sent.length).toBeGreaterThan(1);
  });
});
