import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { childName, userSwarmName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import type { TestClient } from '@uswarm/testkit/test-client';
import {
  type AuditedRequest,
  type AuditLog,
  everyOneSynced,
  EXTRA_RUNTIME_NAMESPACES,
  type Forwarded,
  forwardPort,
  loadSettings,
  NAMESPACE,
  openAuditLog,
  openSession,
  RELEASE,
  type Session,
  showRequest,
  SHOWN_WITHIN_MS,
  sumOf,
} from '../support/index.js';
import { keepTalking } from '../support/keep-talking.js';
import { waitForCurrentLeader } from '../support/leader.js';
import { signUp } from '../support/sign-up.js';

/** The release's value. */
const RESYNC_S = 30;
const PERIODS = 2;
/** Time without a write, in milliseconds, after which all pending work is complete. */
const QUIET_MS = 6_000;

/** Platform and runtime users, but not kubelets. */
const PLATFORM_NAMESPACES = [NAMESPACE.release, NAMESPACE.runtime, ...EXTRA_RUNTIME_NAMESPACES];
const isByPlatform = ({ user }: AuditedRequest): boolean =>
  PLATFORM_NAMESPACES.some((namespace) => user.startsWith(`system:serviceaccount:${namespace}:`));
const CONTROLLER = `system:serviceaccount:${NAMESPACE.release}:${RELEASE}-controller`;
/** The leader renews its Lease every two seconds: the only write at rest. */
const isLeaseRenewal = ({ name, namespace, resource, user, verb }: AuditedRequest): boolean =>
  user === CONTROLLER &&
  verb === 'update' &&
  resource === 'leases' &&
  namespace === NAMESPACE.release &&
  name === `${RELEASE}-controller`;

const { auditLog } = loadSettings();

// Only the audit log contains writes that change nothing.
(auditLog === undefined ? describe.skip : describe)('UserSwarms at rest', () => {
  let session: Session;
  let audit: AuditLog;
  let operations: Forwarded;
  let talker: TestClient;
  let names: string[];
  let observed: string;
  let talk: { stop(): Promise<unknown[]> };

  beforeAll(async () => {
    session = await openSession();
    audit = openAuditLog(auditLog!);
    talker = await signUp(session);
    observed = userSwarmName(talker.workspaceId);
    const [ready, suspended] = await Promise.all([session.create(), session.create({ suspend: true })]);
    names = [observed, ready, suspended];
    await Promise.all([session.ready(observed), session.ready(ready), session.shows(suspended, 'Suspended')]);
    operations = await forwardPort(session.tools, NAMESPACE.release, `deployment/${RELEASE}-controller`, 8081);
    session.onClose(() => operations.close());
    // Events and status updates do not change running objects.
    talk = keepTalking(talker);
    session.onClose(() => talk.stop());
    // Runtimes in earlier tests can use their pods' whole grace period.
    await eventually(() => session.api.list('UserSwarm'), {
      until: (all) => all.every(({ metadata }) => metadata?.deletionTimestamp === undefined),
      description: 'no UserSwarm is being deleted',
      timeoutMs: 240_000,
      intervalMs: 2_000,
    });
    await eventually(
      async () => {
        const mark = await audit.mark();
        await sleep(QUIET_MS);
        const writes = (await platformWrites(mark)).filter((write) => !isLeaseRenewal(write));
        if (writes.length > 0) throw new Error(writes.map(showRequest).join(', '));
        return true;
      },
      { description: 'no more writes', timeoutMs: 90_000, intervalMs: 1_000 },
    );
  });
  afterAll(() => session?.close());

  const platformWrites = async (mark: number): Promise<AuditedRequest[]> =>
    (await audit.writesSince(mark)).filter(isByPlatform);
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${operations.port}/metrics`)).text();
  const metric = (name: string): string => `uswarm_controller_${name}`;
  const syncs = (text: string): number => sumOf(text, metric('sync_duration_seconds_count'));
  const synced = (text: string): number => sumOf(text, metric('sync_duration_seconds_count'), { outcome: 'synced' });

  /** The resource versions of all related objects. */
  async function versions(): Promise<string[]> {
    const objects = await Promise.all(
      names.map(async (name) => {
        const { deployment, pods, service, serviceAccount } = await session.children(name);
        return [await session.api.get('UserSwarm', { name }), deployment, service, serviceAccount, ...pods];
      }),
    );
    return objects
      .flat()
      .map((object) => `${object?.kind} ${object?.metadata?.name} ${object?.metadata?.resourceVersion}`);
  }

  it('are synced twice each, over two resync periods, and nothing is written', async () => {
    const before = await scrape();
    const versionsBefore = await versions();
    const mark = await audit.mark();
    const over = performance.now() + PERIODS * RESYNC_S * 1_000;
    await everyOneSynced({ scrape, times: PERIODS, resyncS: RESYNC_S });
    await sleep(Math.max(0, over - performance.now()));
    const writes = await platformWrites(mark);
    const after = await scrape();

    expect(writes.filter((write) => !isLeaseRenewal(write)).map(showRequest)).toEqual([]);
    // Verify that the log belongs to this cluster and is complete.
    expect(writes.filter(isLeaseRenewal).length).toBeGreaterThan(PERIODS * RESYNC_S * 0.25);
    expect(
      session.swarms
        .all()
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    ).toEqual(names.toSorted());
    expect(synced(after) - synced(before)).toBeGreaterThanOrEqual(PERIODS * names.length);
    expect(syncs(after) - syncs(before)).toBe(synced(after) - synced(before));
    expect(sumOf(after, metric('api_writes_total'), { resource: 'userswarms' })).toBe(
      sumOf(before, metric('api_writes_total'), { resource: 'userswarms' }),
    );
    expect(await versions()).toEqual(versionsBefore);
    expect(new Set(await talk.stop())).toEqual(new Set(['delivered']));
  });

  /** @returns the writes to Services since the change */
  async function changeIsReverted(): Promise<AuditedRequest[]> {
    const place = { name: childName(observed), namespace: NAMESPACE.runtime };
    const { metadata, spec } = await session.api.get('Service', place);
    const mark = await audit.mark();
    const changed = await session.api.merge('Service', place, { spec: { selector: { changed: 'true' } } });
    expect(changed.spec?.selector).not.toEqual(spec?.selector);
    await eventually(
      async () => {
        const now = await session.api.get('Service', place);
        expect(now.spec).toEqual(spec);
        expect(now.metadata?.uid).toBe(metadata?.uid);
        return true;
      },
      { description: 'the selector is the old one', timeoutMs: SHOWN_WITHIN_MS },
    );
    return (await platformWrites(mark)).filter(({ resource }) => resource === 'services');
  }

  it('are still reconciled: a change to a child is reverted', async () => {
    const writes = await changeIsReverted();
    expect(writes.map(({ name, user }) => ({ name, user }))).toContainEqual({
      name: childName(observed),
      user: CONTROLLER,
    });
  });

  it('are reconciled as well by a controller that has just started, which has not written the child', async () => {
    const leader = await waitForCurrentLeader(session.api);
    await session.tools.kubectl(['delete', 'pod', '-n', NAMESPACE.release, leader]);
    expect(await waitForCurrentLeader(session.api)).not.toBe(leader);
    await changeIsReverted();
  });
});
