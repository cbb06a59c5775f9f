import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { openSearchEngine } from '../support/found-by-search.js';
import { imageOf, openSession, serviceImages, type Session } from '../support/index.js';
import {
  allUpToDate,
  AWAKE,
  createRollingRelease,
  everyUserIsAnswered,
  imagesOf,
  keepAsking,
  type Load,
  type RollingRelease,
} from '../support/rolling-release.js';
import {
  answerWith,
  isUpToDate,
  mostStopped,
  type RuntimeUser,
  podOf,
  send,
  stoppedAt,
} from '../support/rolling-swarms.js';
import { storedJournal } from '../support/stored-journal.js';

const SWARMS = 5;
/** Seconds, shorter than the default so that the test does not wait long for resyncs. */
const RESYNC_S = 10;
/** Equal in both upgrades: the second one does not restart the controller. */
const CONTROLLER = { resyncSeconds: RESYNC_S };
const words = (count: number): string =>
  Array.from({ length: count }, (_, at) => `w${String(at).padStart(4, '0')}`).join(' ');
/** The demo model repeats it for a minute, which is longer than an upgrade takes. */
const LONG = words(4_500);
/** The queued turn starts when the upgrade is done, so it can be shorter. */
const QUEUED = words(300);

let session: Session;
let release: RollingRelease;
let users: RuntimeUser[];
let busy: RuntimeUser;
let oldImage: string;
let newImage: string;

beforeAll(async () => {
  session = await openSession();
  const { images: all, previousChart } = session.settings;
  [oldImage, newImage] = [imageOf(all, 'previous-agent-runtime'), imageOf(all, 'agent-runtime')];
  release = createRollingRelease(session);
  const { runtime, ...services } = serviceImages(all, 'previous-');
  await release.upgrade({ ...services, runtime: { ...runtime, ...AWAKE } }, previousChart);
  users = await release.signUp(SWARMS, { unchecked: true });
  [busy] = users as [RuntimeUser];
});
afterAll(() => session?.close());

describe('an upgrade from the previous release with five runtimes, one of them during a turn', () => {
  const ROLLOUT = { maxConcurrent: 2, deadlineSeconds: 36_000, maxFailures: 2 };
  let upgradedAt: number;
  let workedWith: NonNullable<Awaited<ReturnType<typeof podOf>>>;

  beforeAll(async () => {
    if ((await imagesOf(session, users)).some((image) => image !== oldImage))
      throw new Error('a pod already has another image');
    await send(busy, `Repeat: ${LONG}`);
    await busy.mobile.saw('message.chunk');
    // A second turn is queued.
    await send(busy, `Again: ${QUEUED}`);
    workedWith = (await podOf(session, busy.name))!;
    upgradedAt = Date.now();
    await release.upgrade({ runtime: AWAKE, rollout: ROLLOUT, controller: CONTROLLER });
  });

  it('completes the running and the queued turn in the same pod without losing text', async () => {
    const first = await answerWith(busy, `Repeat: ${LONG}`, 240_000);
    const second = await answerWith(busy, `Again: ${QUEUED}`, 240_000);
    const doneAt = Math.max(Date.parse(first.updated_at), Date.parse(second.updated_at));
    const waited = session.swarms
      .history(busy.name)
      .find(({ at, object }) => at >= upgradedAt && object?.status?.pendingRevision !== undefined);
    expect(waited?.at).toBeLessThan(doneAt);
    await session.swarms.until(busy.name, 'Ready and up to date', isUpToDate, 120_000);
    expect(stoppedAt(session, workedWith)).toBeGreaterThan(doneAt);
  });

  it('replaces all pods, at most two concurrently, without losing a message', async () => {
    await everyUserIsAnswered(users, (nonce) => `Repeat ${nonce}`);
    await allUpToDate(session, users, 180_000);
    expect(await imagesOf(session, users)).toEqual(users.map(() => newImage));
    expect(mostStopped(session, users, upgradedAt)).toBeLessThanOrEqual(ROLLOUT.maxConcurrent);
    await everyUserIsAnswered(users, (nonce) => `Repeat ${nonce}`);
  });

  it('uses tools in a workspace whose runtime was replaced', async () => {
    const findsWithSearch = await openSearchEngine(session);
    await findsWithSearch(busy);
    expect(await storedJournal(session, busy)).toEqual(['step', 'result web_search_tool']);
  });
});

describe('a rollback to the previous release and the next upgrade, during which users send messages', () => {
  let load: Load;
  /** Waits for this image first: until the next resync, a UserSwarm is up to date for the sync hook before. */
  async function imagesOnceAllRun(image: string): Promise<(string | undefined)[]> {
    const images = () => imagesOf(session, users);
    await eventually(images, { until: (all) => all.every((each) => each === image), timeoutMs: 240_000 });
    await allUpToDate(session, users, 60_000);
    return images();
  }
  beforeAll(() => {
    load = keepAsking(users);
  });
  afterAll(() => load.stop());

  it('run the images of the previous release, then those of this one', async () => {
    await release.rollBack();
    expect(await imagesOnceAllRun(oldImage)).toEqual(users.map(() => oldImage));
    await release.upgrade({ runtime: AWAKE, controller: CONTROLLER });
    expect(await imagesOnceAllRun(newImage)).toEqual(users.map(() => newImage));
  });

  it('answer each message once', async () => {
    const { asked, unanswered } = await load.stop();
    expect(unanswered).toEqual([]);
    expect(asked).toBeGreaterThan(users.length);
  });
});
