import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { everyOneSynced, forwardPort, imageOf, NAMESPACE, openSession, type Session } from '../support/index.js';
import { waitForCurrentLeader } from '../support/leader.js';
import {
  allUpToDate,
  AWAKE,
  createRollingRelease,
  everyUserIsAnswered,
  imagesOf,
  ONE_BY_ONE,
  podNamesOf,
  type RollingRelease,
} from '../support/rolling-release.js';
import type { RuntimeUser } from '../support/rolling-swarms.js';

const SWARMS = 5;
/** Seconds, shorter than the default so that the test does not wait long for resyncs. */
const RESYNC_S = 10;
const CONTROLLER = { resyncSeconds: RESYNC_S };

let session: Session;
let release: RollingRelease;
let users: RuntimeUser[];

beforeAll(async () => {
  session = await openSession();
  release = createRollingRelease(session);
  await release.upgrade({ runtime: AWAKE, controller: CONTROLLER });
  users = await release.signUp(SWARMS);
});
afterAll(() => session?.close());

describe('an upgrade to a missing image', () => {
  const broken = { registry: 'localhost', repository: 'uswarm/agent-runtime', tag: 'missing' };
  let before: (string | undefined)[];
  let failed: RuntimeUser[];

  beforeAll(async () => {
    before = await podNamesOf(session, users);
    await release.upgrade({
      runtime: { ...AWAKE, image: broken },
      rollout: ONE_BY_ONE,
      controller: CONTROLLER,
    });
  });

  /** Waits until each UserSwarm was resynced. */
  async function resynced(): Promise<void> {
    const leader = await waitForCurrentLeader(session.api);
    const operations = await forwardPort(session.tools, NAMESPACE.release, `pod/${leader}`, 8081);
    const scrape = async () => (await fetch(`http://127.0.0.1:${operations.port}/metrics`)).text();
    try {
      await everyOneSynced({ scrape, times: 2, resyncS: RESYNC_S });
    } finally {
      await operations.close();
    }
  }

  it('halts after two consecutive failures, records an Event, and leaves the other runtimes Ready', async () => {
    const halted = await eventually(
      async () => {
        const events = await session.api.list('Event', { namespace: 'default' });
        const about = events
          .filter(({ reason }) => reason === 'RolloutHalted')
          .map((event) => event.involvedObject.name);
        const ours = users.filter(({ name }) => about.includes(name));
        return ours.length === ONE_BY_ONE.maxFailures ? ours : undefined;
      },
      { description: 'halted', timeoutMs: 240_000, intervalMs: 1_000 },
    );
    failed = halted;
    // No other runtime gets the image.
    await resynced();
    const others = users.filter((user) => !failed.includes(user));
    for (const { name } of failed) {
      expect(session.swarms.current(name)?.status?.conditions?.[0]?.reason).toBe('ImagePullBackOff');
    }
    for (const { name } of others) {
      expect(session.swarms.current(name)?.status).toMatchObject({
        phase: 'Ready',
        pendingRevision: expect.any(String),
      });
    }
    expect(await podNamesOf(session, others)).toEqual(others.map((user) => before[users.indexOf(user)]));
  });

  it('is reverted by helm rollback, which changes only the failed runtimes', async () => {
    await release.rollBack();
    await allUpToDate(session, users, 180_000);
    expect(await imagesOf(session, users)).toEqual(users.map(() => imageOf(session.settings.images, 'agent-runtime')));
    const others = users.filter((user) => !failed.includes(user));
    expect(await podNamesOf(session, others)).toEqual(others.map((user) => before[users.indexOf(user)]));
    await everyUserIsAnswered(users, (nonce) => `Repeat ${nonce}`);
  });
});
