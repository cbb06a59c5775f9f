import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { MessageData, Workspace } from '@uswarm/contract';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import type { TestClient } from '@uswarm/testkit/test-client';
import { IDLE_SUSPEND_AFTER_S, openSession, phasesSeen, type Session } from '../support/index.js';
import { signUp } from '../support/sign-up.js';

let session: Session;
let mobile: TestClient;
let name: string;
beforeAll(async () => {
  session = await openSession();
  mobile = await signUp(session);
  name = userSwarmName(mobile.workspaceId);
});
afterAll(() => session?.close());

const runtimeOf = async (): Promise<Workspace['runtime']> => {
  const { body } = await mobile.api('GET', `/v1/workspaces/${mobile.workspaceId}`);
  return (body as { data: Workspace }).data.runtime;
};

it('an idle runtime is suspended, and a message resumes it and is answered', async () => {
  await session.ready(name);
  const first = await mobile.ask('Please repeat: first');
  expect(first.done.payload).toMatchObject({ status: 'delivered' });

  await session.shows(name, 'Suspended', 'Suspended', (IDLE_SUSPEND_AFTER_S + 60) * 1000);
  expect(session.swarms.current(name)?.spec.suspend).toBe(true);
  await eventually(async () => (await session.children(name)).pods.length === 0, {
    description: 'no pod left',
    timeoutMs: 30_000,
  });
  await eventually(
    async () => {
      const { phase, status } = await runtimeOf();
      if (status !== 'offline' || phase !== 'Pending') throw new Error(`shown as ${status}, ${phase}`);
      return true;
    },
    { description: 'shown as offline', timeoutMs: 20_000 },
  );

  const seen = session.swarms.history(name).length;
  const { answer, done } = await mobile.ask('Please repeat: second');
  expect(done.payload).toMatchObject({ status: 'delivered' });
  expect(answer.content).toMatchObject({ type: 'text', text: expect.stringContaining('second') });
  // A starting runtime is called before the controller has observed that it is Ready.
  await session.ready(name);
  expect(phasesSeen(session.swarms.history(name).slice(seen)).slice(-2)).toEqual(['Progressing', 'Ready']);
  const path = `/v1/workspaces/${mobile.workspaceId}/conversations/${mobile.conversationId}/messages`;
  const { data } = (await mobile.api('GET', path)).body as { data: MessageData[] };
  expect(data.map(({ role }) => role)).toEqual(['agent', 'user', 'agent', 'user']);
});
