import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deployEdge,
  eventually,
  forwardPort,
  GENERATED_SECRET,
  imageOf,
  NAMESPACE,
  openSession,
  RELEASE,
  secretValue,
  serviceImages,
  type Session,
  upgradeRelease,
} from '../src/index.js';
import { edgeAnswers } from '../test/changed-release.js';
import { signUp } from '../test/mobile-outside.js';
import {
  answerWith,
  imageOfPod,
  isUpToDate,
  mostStopped,
  type Person,
  personOf,
  podOf,
  send,
  stoppedAt,
} from '../test/rolling-swarms.js';

const SWARMS = 5;
/** Words of a question that takes the demo model a minute to repeat, and longer than an upgrade in all. */
const LONG = Array.from({ length: 4_500 }, (_, at) => `w${String(at).padStart(4, '0')}`).join(' ');
/** Longer than the test, so that no runtime is suspended for idleness. */
const AWAKE = { idleSuspendAfterSeconds: 36_000 };
const ONE_BY_ONE = { maxConcurrent: 1, deadlineSeconds: 36_000, maxFailures: 2 };

let session: Session;
let people: Person[];
let busy: Person;
let oldImage: string;
let newImage: string;
/** The values with which the release is installed currently. */
let present: object;

/** Another release; the edge knows pods by their addresses. */
async function release(changes: object, chart?: string): Promise<void> {
  await upgradeRelease(session, changes, chart);
  present = changes;
  await openEdge();
}

async function openEdge(): Promise<void> {
  await deployEdge(session, imageOf(session.settings.images, 'edge'));
  await edgeAnswers(session);
}

async function rollBack(): Promise<void> {
  const { helm } = session.tools;
  await helm(['rollback', RELEASE, '-n', NAMESPACE.release, '--wait', '--timeout', '3m'], { timeoutMs: 200_000 });
  await openEdge();
}

const allUpToDate = async (withinMs: number): Promise<void> =>
  void (await Promise.all(
    people.map(({ name }) => session.swarms.until(name, 'Ready and up to date', isUpToDate, withinMs)),
  ));
const podNames = async (of: readonly Person[]): Promise<(string | undefined)[]> =>
  Promise.all(of.map(async ({ name }) => (await podOf(session, name))?.metadata?.name));
const images = async (): Promise<(string | undefined)[]> =>
  Promise.all(people.map(async ({ name }) => imageOfPod(await podOf(session, name))));

/** Each asks something that only they ask, and is answered. */
async function everyUserIsAnswered(question: (nonce: string) => string, withinMs = 120_000): Promise<void> {
  await Promise.all(
    people.map(async (person) => {
      const nonce = randomUUID();
      await send(person, question(nonce));
      await answerWith(person, nonce, withinMs);
    }),
  );
}

beforeAll(async () => {
  session = await openSession();
  const { images: all, previousChart } = session.settings;
  [oldImage, newImage] = [imageOf(all, 'previous-agent-runtime'), imageOf(all, 'agent-runtime')];
  session.onClose(() => release({}));
  const { runtime, ...services } = serviceImages(all, 'previous-');
  await release({ ...services, runtime: { ...runtime, ...AWAKE } }, previousChart);
  people = [];
  // One after another: each needs a moment of the issuer.
  for (let count = 0; count < SWARMS; count += 1) people.push(personOf(await signUp(session, { unchecked: true })));
  [busy] = people as [Person];
  await Promise.all(people.map(({ name }) => session.ready(name)));
});
afterAll(() => session?.close());

describe('an upgrade from the release before, with five runtimes, one in the middle of a turn', () => {
  const ROLLOUT = { maxConcurrent: 2, deadlineSeconds: 36_000, maxFailures: 2 };
  let upgradedAt: number;
  let workedWith: NonNullable<Awaited<ReturnType<typeof podOf>>>;

  beforeAll(async () => {
    if ((await images()).some((image) => image !== oldImage)) throw new Error('a pod has another image already');
    await send(busy, `Repeat: ${LONG}`);
    await busy.mobile.saw('message.chunk');
    // It has more to do than this one turn.
    await send(busy, `Again: ${LONG}`);
    workedWith = (await podOf(session, busy.name))!;
    upgradedAt = Date.now();
    await release({ runtime: AWAKE, rollout: ROLLOUT });
  });

  it('ends the running turn, and the one after it, in the pod that began them, with all of their text', async () => {
    const first = await answerWith(busy, `Repeat: ${LONG}`, 240_000);
    const second = await answerWith(busy, `Again: ${LONG}`, 240_000);
    const doneAt = Math.max(Date.parse(first.updated_at), Date.parse(second.updated_at));
    const waited = session.swarms
      .history(busy.name)
      .find(({ at, object }) => at >= upgradedAt && object?.status?.pendingRevision !== undefined);
    expect(waited?.at).toBeLessThan(doneAt);
    await session.swarms.until(busy.name, 'Ready and up to date', isUpToDate, 120_000);
    expect(stoppedAt(session, workedWith)).toBeGreaterThan(doneAt);
  });

  it('replaces all pods, at most two concurrently, without losing a message', async () => {
    await everyUserIsAnswered((nonce) => `Repeat ${nonce}`);
    await allUpToDate(180_000);
    expect(await images()).toEqual(people.map(() => newImage));
    expect(mostStopped(session, people, upgradedAt)).toBeLessThanOrEqual(ROLLOUT.maxConcurrent);
    await everyUserIsAnswered((nonce) => `Repeat ${nonce}`);
  });
});

describe('an image that does not exist', () => {
  const broken = { registry: 'localhost', repository: 'uswarm/agent-runtime', tag: 'there-is-none' };
  let before: (string | undefined)[];
  let failed: Person[];

  beforeAll(async () => {
    before = await podNames(people);
    await release({ runtime: { ...AWAKE, image: broken }, rollout: ONE_BY_ONE });
  });

  it('halts after two consecutive failures, records an Event, and leaves the other runtimes Ready', async () => {
    const halted = await eventually('halted', { withinMs: 240_000, everyMs: 1_000 }, async () => {
      const events = await session.api.list('Event', { namespace: 'default' });
      const about = events.filter(({ reason }) => reason === 'RolloutHalted').map((event) => event.involvedObject.name);
      const ours = people.filter(({ name }) => about.includes(name));
      return ours.length === ONE_BY_ONE.maxFailures ? ours : undefined;
    });
    failed = halted;
    // Longer than a resync: no other runtime gets the image.
    await sleep(40_000);
    const others = people.filter((person) => !failed.includes(person));
    for (const { name } of failed) {
      expect(session.swarms.current(name)?.status?.conditions?.[0]?.reason).toBe('ImagePullBackOff');
    }
    for (const { name } of others) {
      expect(session.swarms.current(name)?.status).toMatchObject({
        phase: 'Ready',
        pendingRevision: expect.any(String),
      });
    }
    expect(await podNames(others)).toEqual(others.map((person) => before[people.indexOf(person)]));
  });

  it('is reverted by helm rollback, which changes only the failed runtimes', async () => {
    await rollBack();
    await allUpToDate(180_000);
    expect(await images()).toEqual(people.map(() => newImage));
    const others = people.filter((person) => !failed.includes(person));
    expect(await podNames(others)).toEqual(others.map((person) => before[people.indexOf(person)]));
    await everyUserIsAnswered((nonce) => `Repeat ${nonce}`);
  });
});

describe('a rotated call key and a rotated signing key', () => {
  const SECRET = 'e2e-rotated-keys';
  let rotatedAt: number;
  let former: (string | undefined)[];
  let engine: string;

  beforeAll(async () => {
    const pair = generateKeyPairSync('ed25519');
    const pem = { type: 'pkcs8', format: 'pem' } as const;
    const stringData = {
      'call-private-key': pair.privateKey.export(pem).toString(),
      'call-public-key': pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      'previous-private-key': await secretValue(session.api, GENERATED_SECRET, 'call-private-key'),
      'mcp-signing-key': `rotated:${randomBytes(32).toString('hex')}`,
      'previous-key': await secretValue(session.api, GENERATED_SECRET, 'mcp-signing-key'),
    };
    const place = { name: SECRET, namespace: NAMESPACE.release };
    await session.api.delete('Secret', place);
    await session.api.create('Secret', { metadata: place, stringData });
    session.onClose(() => session.api.delete('Secret', place));
    await openSearchEngine();
    former = people.map(({ name }) => session.swarms.current(name)?.status?.revision);
    rotatedAt = Date.now();
    await release({
      runtime: AWAKE,
      rollout: ONE_BY_ONE,
      secrets: {
        callKey: { existingSecret: SECRET, previousPrivateKey: 'previous-private-key' },
        mcpSigning: { existingSecret: SECRET, previousKey: 'previous-key' },
      },
    });
  });

  async function openSearchEngine(): Promise<void> {
    const forwarded = await forwardPort(session.tools, NAMESPACE.search, 'deployment/upstream', 8080);
    session.onClose(() => forwarded.close());
    engine = `http://127.0.0.1:${forwarded.port}`;
  }
  /** The runtime is called with a call key, and shows what the signing key signed to the tool server. */
  async function finds(person: Person): Promise<void> {
    const nonce = randomUUID();
    const url = `https://example.com/${randomUUID()}`;
    const response = await fetch(`${engine}/results?q=${nonce}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ title: 'Found', url, content: 'Found' }]),
    });
    if (!response.ok) throw new Error(`the search upstream returned ${response.status}`);
    await send(person, `Search the web for ${nonce} and answer with sources`);
    await answerWith(person, url, 120_000);
  }
  const everyUserFinds = async (): Promise<void> => void (await Promise.all(people.map(finds)));

  it('reach runtimes one at a time, while runtimes with old and new keys keep answering', async () => {
    await everyUserFinds();
    // Each gets the new keys at its next resync; until then it is up to date with the previous ones.
    await Promise.all(
      people.map(({ name }, at) =>
        session.swarms.until(
          name,
          'up to date with the new keys',
          (swarm) => isUpToDate(swarm) && swarm?.status?.revision !== former[at],
          240_000,
        ),
      ),
    );
    expect(mostStopped(session, people, rotatedAt)).toBeLessThanOrEqual(ONE_BY_ONE.maxConcurrent);
    await everyUserFinds();
  });

  it('leave no runtime that needs the previous keys', async () => {
    const { secrets: _rotated, ...others } = present as { secrets: unknown };
    const secrets = { callKey: { existingSecret: SECRET }, mcpSigning: { existingSecret: SECRET } };
    const pods = await podNames(people);
    await release({ ...others, secrets });
    await everyUserFinds();
    expect(await podNames(people)).toEqual(pods);
  });
});
