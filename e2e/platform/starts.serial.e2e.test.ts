import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Kinds, NAMESPACE, openSession, type Session } from '../support/index.js';
import { changeRelease } from '../support/changed-release.js';
import { gatePods } from '../support/pod-gate.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
  await changeRelease(session, { start: { maxConcurrent: 1 } });
});
afterAll(() => session?.close());

const createdAt = ({ metadata }: Kinds['Pod']): number => Date.parse(metadata?.creationTimestamp ?? '');
const readyAt = ({ status }: Kinds['Pod']): number =>
  Date.parse(status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '');

it('starts no more runtimes concurrently than allowed and queues the others', async () => {
  const gate = await gatePods(session, NAMESPACE.runtime);
  const first = await session.create();
  const { object: held } = await session.pod(
    first,
    'held back',
    ({ spec }) => (spec?.schedulingGates ?? []).length > 0,
  );
  const others = [await session.create(), await session.create()];
  for (const name of others) await session.shows(name, 'Progressing', 'Queued');
  for (const name of others) expect((await session.children(name)).pods).toEqual([]);

  await gate.open();
  // A gated pod keeps its gate; the next pod has none.
  await session.api.delete('Pod', { name: held!.metadata!.name!, namespace: NAMESPACE.runtime });
  const names = [first, ...others];
  for (const name of names) await session.ready(name);
  const pods = await Promise.all(names.map(async (name) => (await session.children(name)).pods[0]!));
  const [one, two, three] = pods.toSorted((left, right) => createdAt(left) - createdAt(right)) as Kinds['Pod'][];
  // Both timestamps are whole seconds.
  expect(readyAt(one!)).toBeLessThanOrEqual(createdAt(two!));
  expect(readyAt(two!)).toBeLessThanOrEqual(createdAt(three!));
});
