import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { textBody } from '../../test/message-client.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

let uswarm: TestOrchestrator;
beforeAll(async () => {
  uswarm = await startTestOrchestrator({
    environment: { RUNTIME_WORKERS: '1', TURN_WORKERS: '2', USWARM_DEMO_DELAY_MS: '100' },
  });
});
afterAll(() => uswarm.close());

/** Takes minutes to stream. */
const LONG = Array.from({ length: 2_000 }, (_, n) => `word${n}`).join(' ');

it('an edit cancels the running turn, and the agent answers the new text', async () => {
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  const chunks: string[] = [];
  const deleted: string[] = [];
  await uswarm.bus.subscribe(home.workspaceId, ({ event, payload }) => {
    if (event === 'message.chunk') chunks.push(String(payload['message_id']));
    if (event === 'message.deleted') deleted.push(String(payload['message_id']));
  });
  const { body } = await user.post<{ data: MessageData }>(home.messages, textBody(LONG), 201);
  const userMessage = body.data.id;
  await eventually(() => chunks.length, { until: (count) => count > 2, timeoutMs: 60_000 });
  await user.patch(`${home.workspace}/messages/${userMessage}`, textBody('and now?'), 200);
  const list = async () => (await user.get<MessagePage>(`${home.messages}?direction=forward`)).body.data;
  const messages = await eventually(list, {
    until: (all) => all.some(({ role, extended_status }) => role === 'agent' && extended_status === 'delivered'),
    timeoutMs: 60_000,
  });
  expect(messages.map(({ id, role }) => [role, id === userMessage])).toEqual([
    ['user', true],
    ['agent', false],
  ]);
  expect(messages[1]?.content).toMatchObject({ text: expect.stringContaining('and now?') });
  expect(deleted).toContain(chunks[0]);
  expect(deleted).not.toContain(messages[1]?.id);
});
