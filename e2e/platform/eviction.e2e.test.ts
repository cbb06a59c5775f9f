import { randomUUID } from 'node:crypto';
import { HttpMethod } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openSession, type Session } from '../support/index.js';
import { signUp } from '../support/sign-up.js';
import { answerWith, type RuntimeUser, runtimeUserOf, podOf, send, stoppedAt } from '../support/rolling-swarms.js';

/** Number of words that the demo model repeats for about 20 s, longer than an eviction takes. */
const LONG = Array.from({ length: 1_300 }, (_, at) => `w${String(at).padStart(4, '0')}`).join(' ');

let session: Session;
let user: RuntimeUser;
beforeAll(async () => {
  session = await openSession();
  user = runtimeUserOf(await signUp(session));
  await session.ready(user.name);
});
afterAll(() => session?.close());

it('an evicted pod finishes the running turn, and the next message is answered by the pod that replaces it', async () => {
  await send(user, `Repeat: ${LONG}`);
  await user.mobile.saw('message.chunk');
  const pod = (await podOf(session, user.name))!;
  const { name = '', namespace = '' } = pod.metadata ?? {};
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  await session.api.request(HttpMethod.POST, path, { body: eviction });

  const next = randomUUID();
  await send(user, `Please repeat: ${next}`);
  const first = await answerWith(user, `Repeat: ${LONG}`, 180_000);
  // The evicted pod ended the answer: after the eviction, and before the pod was deleted.
  expect(Date.parse(first.updated_at)).toBeGreaterThan(stoppedAt(session, pod)!);
  const deleted = await session.pods.until(`${namespace}/${name}`, 'deleted', (object) => object === undefined, 60_000);
  expect(Date.parse(first.updated_at)).toBeLessThan(deleted.at);
  await answerWith(user, next, 180_000);
  const replacement = await podOf(session, user.name);
  expect(replacement?.metadata?.name).not.toBe(name);
});
