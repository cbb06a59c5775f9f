import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { eventually } from '../../../test/eventually.js';
import { textBody } from '../../../test/revisions.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

let uswarm: TestOrchestrator;
beforeAll(async () => {
  uswarm = await startTestOrchestrator({
    environment: { RUNTIME_WORKERS: '1', TURN_WORKERS: '2', USWARM_DEMO_DELAY_MS: '100' },
  });
});
afterAll(() => uswarm.close());

/** Words enough for minutes. */
const LONG = Array.from({ length: 2_000 }, (_, n) => `word${n}`).join(' ');

it('an edit stops the reply that a runtime is writing, and the new text is answered', async () => {
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  const chunks: string[] = [];
  const deleted: string[] = [];
  await uswarm.bus.subscribe(home.workspaceId, ({ event, payload }) => {
    if (event === 'message.chunk') chunks.push(payload.message_id);
    if (event === 'message.deleted') deleted.push(payload.message_id);
  });
  const { body } = await user.post<{ data: MessageData }>(home.messages, textBody(LONG), 201);
  const question = body.data.id;
  await eventually(
    () => chunks.length,
    (count) => count > 2,
    60_000,
  );
  await user.patch(`${home.workspace}/messages/${question}`, textBody('and now?'), 200);
  const list = async () => (await user.get<MessagePage>(`${home.messages}?direction=forward`)).body.data;
  const messages = await eventually(
    list,
    (all) => all.some(({ role, extended_status }) => role === 'agent' && extended_status === 'delivered'),
    60_000,
  );
  expect(messages.map(({ id, role }) => [role, id === question])).toEqual([
    ['user', true],
    ['agent', false],
  ]);
  expect(messages[1]?.content).toMatchObject({ text: expect.stringContaining('and now?') });
  expect(deleted).toContain(chunks[0]);
  expect(deleted).not.toContain(messages[1]?.id);
});
