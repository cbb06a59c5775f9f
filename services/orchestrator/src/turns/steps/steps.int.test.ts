import { describe, expect, it } from '@jest/globals';
import { type Conversation, LIMITS, type TurnStep, type TurnStepPage } from '@uswarm/contract';
import { silentLogger } from '@uswarm/service-kit';
import { CHARGED_CALL } from '../../../test/charged-call.js';
import { recordStatements } from '../../../test/recorded-statements.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createJournalBodies, JOURNAL_OBJECT_JOB } from '../journal/journal-bodies.js';
import { MAX_ROW_BYTES } from '../journal/journal.store.js';
import { createContentObjects } from '../../records/content-objects.js';
import { createFileObjects } from '../../workspaces/uploads/file-objects.js';

const DONE = { turnStatus: 'done', messageStatus: 'delivered', text: 'Look: Found it.', errorCode: null } as const;
const NEVER = new AbortController().signal;

/** Bodies as runtimes write them. */
const stepBody = (text: string, ...calls: { id: string; name: string; input?: unknown }[]): string =>
  JSON.stringify({ finish: 'calls', text, message: { role: 'assistant', content: [{ type: 'reasoning' }] }, calls });
const resultBody = (callId: string, value: unknown, type = 'text'): string =>
  JSON.stringify({ callId, part: { type: 'tool-result', toolCallId: callId, output: { type, value } } });

describe('the steps of a turn', () => {
  const world = useTurnFixture();

  async function begin(messages = world.home.messages) {
    await world.user.post(messages, { content: { type: 'text', text: 'why?' } }, 201);
    const job = await world.turnWorker.claim();
    const turn = await world.turnWorker.turnOf(job);
    const writer = await world.turnWorker.writerOf(job);
    const { replyId } = await writer.begin();
    const path = `/v1/conversations/${turn.conversation_id}/turns/${turn.id}/steps`;
    return { turn, writer, replyId, path };
  }
  const page = async (path: string): Promise<TurnStepPage> => (await world.user.get<TurnStepPage>(path)).body;
  const flat = (listed: readonly TurnStep[]) =>
    listed.map((step) => ({ ...step[step.type], type: step.type, id: step.id, finished_at: step.finished_at }));
  const steps = async (path: string) => flat((await page(path)).data.steps);

  /** The turn has ended after a step with these calls and results. */
  async function ended(results: readonly string[], ...calls: Parameters<typeof stepBody>[1][]) {
    const begun = await begin();
    await begun.writer.entry(1, { number: 1, kind: 'step', body: stepBody('Look: ', ...calls) });
    for (const [index, body] of results.entries())
      await begun.writer.entry(1, { number: index + 2, kind: 'result', body });
    await begun.writer.finish(DONE);
    return begun;
  }
  const search = { id: 'c', name: 'web_search_tool', input: { query: 'tea' } };

  it('have model calls with tokens and cost, texts, and calls with arguments and results', async () => {
    const { turn, writer, path, replyId } = await begin();
    const usage = {
      ...CHARGED_CALL,
      turnId: turn.id,
      step: 1,
      userId: turn.user_id,
      workspaceId: turn.workspace_id,
      provider: 'openai',
      model: 'gpt-5-mini',
      promptTokens: 100,
      completionTokens: 20,
      cachedTokens: 10,
      reasoningTokens: 5,
      estimated: false,
    };
    await writer.entry(1, { number: 1, kind: 'step', body: stepBody('Look: ', search), usage });
    const block = '<untrusted id="ab12" source="web_search_tool">\nGreen tea\n</untrusted id="ab12">';
    await writer.entry(1, { number: 2, kind: 'result', body: resultBody('c', block) });
    await writer.finish(DONE);
    const { data, pagination } = await page(path);
    expect(data).toMatchObject({ turn_id: turn.id, status: 'completed', error: null, task: null, delegated_by: null });
    expect(pagination).toEqual({ next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false });
    expect(flat(data.steps)).toMatchObject([
      {
        type: 'model_call',
        status: 'completed',
        prompt_tokens: 100,
        completion_tokens: 20,
        finished_at: expect.any(String),
      },
      { type: 'text', text: 'Look:', message_id: null },
      {
        type: 'tool_call',
        call_id: 'c',
        tool: 'web_search_tool',
        status: 'completed',
        arguments: '{"query":"tea"}',
        result: 'Green tea',
        receipt_id: null,
      },
      { type: 'text', text: 'Found it.', message_id: replyId },
    ]);
  });

  it('are in pages without gaps or repetitions', async () => {
    const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'recall', input: {} }));
    const { path } = await ended(
      ['a', 'b', 'c'].map((id) => resultBody(id, id)),
      ...calls,
    );
    const seen: TurnStep[] = [];
    for (let scrollId: string | null = ''; scrollId !== null;) {
      const cursor = scrollId === '' ? '' : `&scrollId=${encodeURIComponent(scrollId)}`;
      const { data, pagination } = await page(`${path}?limit=2${cursor}`);
      expect(data.steps.length).toBeLessThanOrEqual(2);
      seen.push(...data.steps);
      scrollId = pagination.next_scroll_id;
    }
    expect(seen).toEqual((await page(path)).data.steps);
    expect(seen.map(({ id }) => id)).toEqual(['text:1', 'call:a', 'call:b', 'call:c', 'text:last']);
  });

  it('are read with three statements', async () => {
    const { path } = await ended([resultBody('c', 'Found.')], search);
    const { statements, stop } = recordStatements();
    await page(path);
    stop();
    const read = statements.filter(({ text }) => /first_turn_id|turn_entries|usage_entries/.test(text));
    expect(read).toHaveLength(3);
  });

  it('refuses the cursor of another turn', async () => {
    const calls = ['a', 'b'].map((id) => ({ id, name: 'recall', input: {} }));
    const { path } = await ended([], ...calls);
    const { pagination } = await page(`${path}?limit=1`);
    const { path: other } = await ended([], ...calls);
    const { body } = await world.user.get<{ code: string }>(`${other}?scrollId=${pagination.next_scroll_id}`, 400);
    expect(body.code).toBe('cursor_invalid');
  });

  it('are not found in another conversation of the user', async () => {
    const { turn } = await ended([]);
    const { body } = await world.user.post<{ data: Conversation }>(
      `${world.home.workspace}/conversations`,
      { type: 'swarm' },
      201,
    );
    const path = `/v1/conversations/${body.data.id}/turns/${turn.id}/steps`;
    expect((await world.user.get<{ code: string }>(path, 404)).body.code).toBe('turn_not_found');
  });

  it('have the beginning of long arguments and results, also of results in the object store', async () => {
    const long = 'x'.repeat(MAX_ROW_BYTES);
    const { turn, writer, path } = await begin();
    const input = { query: 'y'.repeat(2 * LIMITS.stepText) };
    await writer.entry(1, { number: 1, kind: 'step', body: stepBody('', { ...search, input }) });
    const bodies = createJournalBodies({
      contents: createContentObjects({
        job: JOURNAL_OBJECT_JOB,
        withTransaction: createWithTransaction(world.uswarm.database),
        jobs: world.turnWorker.stores.jobs,
        objects: createFileObjects(world.uswarm.objectDirectory),
      }),
      logger: silentLogger,
    });
    const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } };
    const body = resultBody('c', [{ type: 'text', text: long }, image], 'content');
    const stored = await bodies.put({ turnId: turn.id, number: 2, body }, NEVER);
    expect(stored).toHaveProperty('objectId');
    await writer.entry(1, { number: 2, kind: 'result', ...stored });
    expect(await steps(path)).toMatchObject([
      {
        arguments: `{"query":"${'y'.repeat(LIMITS.stepText - 10)}`,
        arguments_truncated: true,
        result: 'x'.repeat(LIMITS.stepText),
        result_truncated: true,
      },
    ]);
  });

  it('show a call without its result if the body cannot be read or has an unknown format', async () => {
    const missing = { objectId: crypto.randomUUID(), hash: Buffer.alloc(32), size: MAX_ROW_BYTES + 1 };
    const { writer, path } = await begin();
    const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'recall', input: {} }));
    await writer.entry(1, { number: 1, kind: 'step', body: stepBody('', ...calls) });
    await writer.entry(1, { number: 2, kind: 'result', ...missing });
    await writer.entry(1, { number: 3, kind: 'result', body: '{"callId":7}' });
    await writer.entry(1, { number: 4, kind: 'result', body: resultBody('c', 'Found.') });
    expect(await steps(path)).toMatchObject([{ result: null }, { result: null }, { result: 'Found.' }]);
  });

  it('hide what hides or reorders text, images of other hosts, and thoughts of the model', async () => {
    const calls = [{ id: 'c', name: 'recall', input: { query: 'a\u202Eb' } }];
    const { writer, path } = await begin();
    const body = stepBody('See ![this](https://evil.example/x.png) ', ...calls);
    await writer.entry(1, { number: 1, kind: 'step', body });
    await writer.entry(1, { number: 2, kind: 'result', body: resultBody('c', 'c\u202Ed') });
    const [text, call] = await steps(path);
    expect(call).toMatchObject({ arguments: '{"query":"ab"}', result: 'cd' });
    expect(text).toMatchObject({ type: 'text', text: expect.not.stringContaining('![') });
    expect(JSON.stringify([text, call])).not.toContain('reasoning');
  });

  it('name the error of a turn that failed, and whether its calls have an outcome', async () => {
    const { writer, path } = await begin();
    await writer.entry(1, { number: 1, kind: 'step', body: stepBody('', search) });
    expect(await steps(path)).toMatchObject([{ status: 'running', finished_at: null }]);
    await writer.finish({ turnStatus: 'failed', messageStatus: 'failed', text: '', errorCode: 'model_unavailable' });
    expect((await page(path)).data).toMatchObject({
      status: 'failed',
      error: { code: 'model_unavailable' },
      finished_at: expect.any(String),
      steps: [{ type: 'tool_call', tool_call: { status: 'unknown' } }],
    });
  });

  it('lose texts, arguments and results with the message of the user', async () => {
    const { turn, path } = await ended([resultBody('c', 'Found.')], search);
    await world.user.delete(`${world.home.workspace}/messages/${turn.user_message_id}`, undefined, 204);
    expect((await world.user.get<{ code: string }>(path, 404)).body.code).toBe('turn_not_found');
  });

  it('are not found after the conversation was deleted', async () => {
    const { body } = await world.user.post<{ data: Conversation }>(
      `${world.home.workspace}/conversations`,
      { type: 'swarm' },
      201,
    );
    const conversation = `${world.home.workspace}/conversations/${body.data.id}`;
    const { writer, path } = await begin(`${conversation}/messages`);
    await writer.finish(DONE);
    await world.user.delete(conversation, undefined, 204);
    expect((await world.user.get<{ code: string }>(path, 404)).body.code).toBe('conversation_not_found');
  });
});
