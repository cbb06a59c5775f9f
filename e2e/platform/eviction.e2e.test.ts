import { randomUUID } from 'node:crypto';
import { HttpMethod } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openSession, type Session } from '../src/index.js';
import { signUp } from '../test/mobile-outside.js';
import { answerWith, type Person, personOf, podOf, send, stoppedAt } from '../test/rolling-swarms.js';

/** Words that the demo model takes about twenty seconds to repeat: longer than an eviction takes to be seen. */
const LONG = Array.from({ length: 1_300 }, (_, at) => `w${String(at).padStart(4, '0')}`).join(' ');

let session: Session;
let person: Person;
beforeAll(async () => {
  session = await openSession();
  person = personOf(await signUp(session));
  await session.ready(person.name);
});
afterAll(() => session?.close());

it('an evicted pod finishes the running turn, and the next message is answered by the pod that replaces it', async () => {
  await send(person, `Repeat: ${LONG}`);
  await person.mobile.saw('message.chunk');
  const pod = (await podOf(session, person.name))!;
  const { name = '', namespace = '' } = pod.metadata ?? {};
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  await session.api.request(HttpMethod.POST, path, { body: eviction });

  const next = randomUUID();
  await send(person, `Please repeat: ${next}`);
  const first = await answerWith(person, `Repeat: ${LONG}`, 180_000);
  // The answer ended after the pod was told to stop, and came from it in one piece.
  expect(Date.parse(first.updated_at)).toBeGreaterThan(stoppedAt(session, pod)!);
  await answerWith(person, next, 180_000);
  const replacement = await podOf(session, person.name);
  expect(replacement?.metadata?.name).not.toBe(name);
});
