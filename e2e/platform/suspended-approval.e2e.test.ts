import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AgentSummary, ArtifactSummary, MessageData } from '@uswarm/contract';
import { userSwarmName } from '@uswarm/contract/userswarm';
import type { TestClient } from '@uswarm/testkit/test-client';
import { IDLE_SUSPEND_AFTER_S, openSession, phasesSeen, type Session } from '../support/index.js';
import { modelRequests, useModelServer } from '../support/model-server.js';
import { signUp } from '../support/sign-up.js';

let session: Session;
let mobile: TestClient;
let name: string;

beforeAll(async () => {
  session = await openSession();
  mobile = await signUp(session);
  name = userSwarmName(mobile.workspaceId);
  await useModelServer(session, name);
  const { body } = await mobile.api('GET', `/v1/workspaces/${mobile.workspaceId}/agents`);
  for (const { id } of (body as { data: AgentSummary[] }).data) {
    await mobile.api('PATCH', `/v1/agents/${id}/tools/artifacts`, { permission: 'ask' });
  }
});
afterAll(() => session?.close());

const artifacts = async (): Promise<string[]> => {
  const { body } = await mobile.api('GET', `/v1/workspaces/${mobile.workspaceId}/artifacts`);
  return (body as { data: ArtifactSummary[] }).data.map(({ title }) => title);
};

/** Tool results in the prompts for the turn with this word. */
const asked = async (word: string): Promise<number[]> =>
  (await modelRequests(session)).flatMap((request) => (request.word === word ? [request.results ?? 0] : []));

it('a call that waits for an approval while the runtime is suspended is executed once after the approval', async () => {
  const word = `word-${randomUUID()}`;
  await mobile.send(`Write ${word}`);
  const card = await mobile.shown(({ content }) => content.type === 'action_card');
  await session.shows(name, 'Suspended', 'Suspended', (IDLE_SUSPEND_AFTER_S + 60) * 1000);
  expect(await artifacts()).toEqual([]);
  expect(await asked(word)).toEqual([0]);

  const seen = session.swarms.history(name).length;
  const path = `/v1/workspaces/${mobile.workspaceId}/messages/${card.id}/action`;
  expect(await mobile.api('POST', path, { action_id: 'approve' })).toMatchObject({ status: 200 });
  const updated = await mobile.saw(
    'message.updated',
    ({ message: { content } }: { message: MessageData }) =>
      content.type === 'text' && content.text === 'It is written.',
  );
  const { id } = updated.payload['message'] as MessageData;
  const done = await mobile.saw('message.done', ({ message_id }: { message_id: string }) => message_id === id);
  expect(done.payload).toMatchObject({ status: 'delivered' });
  expect(await artifacts()).toEqual([word]);
  expect(await asked(word)).toEqual([0, 1]);
  // A starting runtime is called before the controller has observed that it is Ready.
  await session.ready(name);
  expect(phasesSeen(session.swarms.history(name).slice(seen)).slice(-2)).toEqual(['Progressing', 'Ready']);
});
