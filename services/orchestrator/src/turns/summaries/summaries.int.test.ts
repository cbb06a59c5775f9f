import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData, ReplayedEvent } from '@uswarm/contract';
import { AgentRuntime, Outcome, type RunTurnRequest, type SummarizeRequest, SummaryKind } from '@uswarm/runtime-proto';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { findSummarizedConversation } from './summaries.store.js';
import { MOST_WHOLE } from '../request/summary-need.js';

const FEATURES = ['summarize.1', 'long-history.1'];
const USAGE = { step: 0, provider: 'p', model: 'cheap', promptTokens: 30n, completionTokens: 4n, estimated: false };

function createScriptedRuntime() {
  const runtime = {
    workspaceId: '',
    turns: [] as RunTurnRequest[],
    summaries: [] as SummarizeRequest[],
    titles: [] as SummarizeRequest[],
    features: FEATURES,
    contextWindow: 0,
    /** Called before each text is returned; may throw. */
    beforeText: async () => undefined as void,
  };
  const adapter = connectNodeAdapter({
    routes: (router) =>
      router.service(AgentRuntime, {
        identify: async () => {
          const { workspaceId, features, contextWindow } = runtime;
          return { workspaceId, instanceId: 'i', features, contextWindow };
        },
        status: async () => ({ busy: false, idleMs: 0n }),
        async *runTurn(request) {
          runtime.turns.push(request);
          const done = { outcome: Outcome.COMPLETED, text: 'Because.' };
          yield { number: 1n, event: { case: 'done' as const, value: done } };
        },
        async summarize(request) {
          const isTitle = request.kind === SummaryKind.TITLE;
          (isTitle ? runtime.titles : runtime.summaries).push(request);
          await runtime.beforeText();
          return { text: isTitle ? 'Capital of France' : `Summary ${runtime.summaries.length}`, usage: [USAGE] };
        },
      }),
  });
  return { runtime, server: createServer(adapter) };
}

describe('summaries and titles', () => {
  const { runtime, server } = createScriptedRuntime();
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    uswarm = await startTestOrchestrator({ environment: { TURN_WORKERS: '2', SUMMARY_WORKERS: '2' } });
  });
  afterAll(async () => {
    await uswarm.close();
    await new Promise((resolve) => (server as Http2Server).close(resolve));
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
    const { workspaceId } = home;
    Object.assign(runtime, { workspaceId, turns: [], summaries: [], titles: [], features: FEATURES, contextWindow: 0 });
    runtime.beforeText = async () => undefined;
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await uswarm.database
      .updateTable('runtimes')
      .set({ phase: 'Ready', address })
      .where('workspace_id', '=', workspaceId)
      .execute();
  });

  const work = () =>
    uswarm.database.selectFrom('work').select('kind').where('workspace_id', '=', home.workspaceId).execute();
  /** Waits until no turns and no follow-up jobs are left. */
  const settled = () =>
    eventually(async () => (await work()).filter(({ kind }) => ['turn', 'summary', 'title'].includes(kind)).length, {
      until: (count) => count === 0,
    });
  async function say(text: string): Promise<MessageData> {
    const { body } = await user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text } }, 201);
    await settled();
    return body.data;
  }
  const title = async () => (await user.get<{ data: Conversation }>(home.conversation)).body.data.title;
  const rename = (text: string) => user.patch(home.conversation, { title: text }, 200);
  const usage = () =>
    uswarm.database
      .selectFrom('usage_entries')
      .select(['kind', 'prompt_tokens', 'completion_tokens'])
      .where('workspace_id', '=', home.workspaceId)
      .orderBy('kind')
      .execute();
  const stored = () =>
    uswarm.database
      .selectFrom('conversation_summaries')
      .select(['text', 'through_seq'])
      .where('conversation_id', '=', home.conversationId)
      .executeTakeFirst();
  /** Texts are `old 1`, `old 2`, … */
  async function insertHistory(count: number): Promise<void> {
    await sql`
      INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status, sender_id, agent_id)
      SELECT gen_random_uuid(), w.id, ${home.conversationId}, w.last_seq + n, CASE n % 2 WHEN 1 THEN 'user' ELSE 'agent' END,
        jsonb_build_object('type', 'text', 'text', 'old ' || n), 'delivered',
        CASE n % 2 WHEN 1 THEN w.owner_id END, CASE n % 2 WHEN 0 THEN ${home.agents[0]!.id}::uuid END
      FROM workspaces w CROSS JOIN generate_series(1, ${count}) n WHERE w.id = ${home.workspaceId}`.execute(
      uswarm.database,
    );
    await sql`UPDATE workspaces SET last_seq = last_seq + ${count} WHERE id = ${home.workspaceId}`.execute(
      uswarm.database,
    );
  }

  describe('the title of a conversation', () => {
    it('is written by the model flash after the first answer, announced and counted', async () => {
      await say('What is the capital of France?');
      expect(await title()).toBe('Capital of France');
      expect(runtime.titles).toHaveLength(1);
      expect(runtime.titles[0]).toMatchObject({ kind: SummaryKind.TITLE, model: 'flash', language: 'en' });
      expect(runtime.titles[0]?.limits?.contextWindow).toBeGreaterThan(0);
      expect(runtime.titles[0]?.history.map(({ text }) => text)).toEqual([
        'What is the capital of France?',
        'Because.',
      ]);
      const { body } = await user.get<{ data: ReplayedEvent[] }>(`${home.workspace}/events`);
      expect(body.data.map(({ event }) => event)).toContain('conversation.updated');
      expect(await usage()).toEqual([{ kind: 'title', prompt_tokens: 30, completion_tokens: 4 }]);
      await say('And of Spain?');
      expect(runtime.titles).toHaveLength(1);
    });

    it('is kept if the user has set it', async () => {
      await rename('Mine');
      await say('What is the capital of France?');
      expect({ title: await title(), requests: runtime.titles.length }).toEqual({ title: 'Mine', requests: 0 });
    });

    it('is kept if the user sets it while the model writes one', async () => {
      runtime.beforeText = async () => void (await rename('Mine'));
      await say('What is the capital of France?');
      expect({ title: await title(), requests: runtime.titles.length }).toEqual({ title: 'Mine', requests: 1 });
    });

    it('is that of the first message again after this message was deleted', async () => {
      const { id } = await say('What is the capital of France?');
      await say('And of Spain?');
      await user.delete(`${home.workspace}/messages/${id}`, undefined, 204);
      expect(await title()).toBe('And of Spain?');
    });
  });

  describe('the summary of a conversation', () => {
    const OLD = MOST_WHOLE.count + 30;
    beforeEach(() => rename('Mine'));

    it('covers the messages that are not sent whole, and replaces them in the next turn', async () => {
      await insertHistory(OLD);
      await say('one');
      expect(runtime.summaries).toHaveLength(1);
      expect(runtime.summaries[0]).toMatchObject({ kind: SummaryKind.SUMMARY, model: 'flash', previous: '' });
      // 830 old messages, a question and its answer; the newest 800 are sent whole.
      expect(runtime.summaries[0]?.history.map(({ text }) => text).at(-1)).toBe('old 32');
      expect(runtime.turns[0]).toMatchObject({ summary: '', history: { length: OLD + 1 } });
      expect(await stored()).toMatchObject({ text: 'Summary 1' });
      expect(await usage()).toEqual([{ kind: 'summary', prompt_tokens: 30, completion_tokens: 4 }]);
      await say('two');
      expect(runtime.turns[1]?.summary).toBe('Summary 1');
      expect(runtime.turns[1]?.history[0]?.text).toBe('old 33');
      expect(runtime.summaries).toHaveLength(1);
    });

    it('leaves no message out between the summary and the first message, with a small window', async () => {
      runtime.contextWindow = 8_192;
      await insertHistory(400);
      await say('one');
      const covered = runtime.summaries.flatMap(({ history }) => history.map(({ text }) => text));
      await say('two');
      const whole = runtime.turns[1]?.history.map(({ text }) => text) ?? [];
      expect(runtime.turns[1]?.summary).toBe(`Summary ${runtime.summaries.length}`);
      const inserted = Array.from({ length: 400 }, (_, index) => `old ${index + 1}`);
      expect([...covered, ...whole]).toEqual([...inserted, 'one', 'Because.', 'two']);
      expect(whole.length).toBeLessThan(150);
    });

    it('does not shorten what a larger window has room for', async () => {
      runtime.contextWindow = 8_192;
      await insertHistory(400);
      await say('one');
      expect(runtime.summaries.length).toBeGreaterThan(0);
      runtime.contextWindow = 128_000;
      await say('two');
      expect(runtime.turns[1]?.history.map(({ text }) => text)[0]).toBe('old 1');
    });

    it('continues the previous summary after 20 more messages', async () => {
      await insertHistory(OLD);
      await say('one');
      await insertHistory(19);
      await say('two');
      expect(runtime.summaries.map(({ previous }) => previous)).toEqual(['', 'Summary 1']);
      expect(runtime.summaries[1]?.history.map(({ text }) => text)[0]).toBe('old 33');
      expect(await stored()).toMatchObject({ text: 'Summary 2' });
    });

    it('is written in several calls for a very long conversation', async () => {
      await insertHistory(MOST_WHOLE.count + 450);
      await say('one');
      expect(runtime.summaries.map(({ previous, history }) => [previous, history.length])).toEqual([
        ['', 200],
        ['Summary 1', 200],
        ['Summary 2', 52],
      ]);
    });

    it('is retried after a failure', async () => {
      let failures = 0;
      runtime.beforeText = async () => {
        if ((failures += 1) === 1) throw new ConnectError('overloaded', Code.ResourceExhausted);
      };
      await insertHistory(OLD);
      await say('one');
      expect({ failures, text: (await stored())?.text }).toEqual({ failures: 2, text: 'Summary 2' });
    });

    it('is rewritten without a covered message that was deleted', async () => {
      await insertHistory(OLD);
      await say('one');
      const { id } = await uswarm.database
        .selectFrom('messages')
        .select('id')
        .where('conversation_id', '=', home.conversationId)
        .where(sql<boolean>`content ->> 'text' = 'old 5'`)
        .executeTakeFirstOrThrow();
      await user.delete(`${home.workspace}/messages/${id}`, undefined, 204);
      await settled();
      expect(runtime.summaries).toHaveLength(2);
      expect(runtime.summaries[1]).toMatchObject({ previous: '' });
      expect(runtime.summaries[1]?.history.map(({ text }) => text)).not.toContain('old 5');
      expect(await stored()).toMatchObject({ text: 'Summary 2' });
    });

    it('is not stored if a message is deleted while the model reads it', async () => {
      await insertHistory(OLD);
      runtime.beforeText = async () => {
        const id = runtime.summaries[0]?.history[0]?.id ?? '';
        runtime.beforeText = async () => undefined;
        await user.delete(`${home.workspace}/messages/${id}`, undefined, 204);
      };
      await say('one');
      expect(await stored()).toBeUndefined();
      await say('two');
      expect(runtime.summaries.at(-1)?.history.map(({ text }) => text)).not.toContain('old 1');
      expect(await stored()).toMatchObject({ text: 'Summary 2' });
    });

    it('is not requested for fewer messages or from a runtime without the feature', async () => {
      await insertHistory(MOST_WHOLE.count + 10);
      await say('one');
      runtime.features = [];
      await insertHistory(30);
      await say('two');
      expect(runtime.summaries).toEqual([]);
    });

    it('leaves no usage if the account is deleted while the model writes it', async () => {
      await insertHistory(OLD);
      const written = Promise.withResolvers<void>();
      runtime.beforeText = async () => {
        runtime.beforeText = async () => undefined;
        await user.delete('/v1/auth/delete', undefined, 204);
        written.resolve();
      };
      await user.post(home.messages, { content: { type: 'text', text: 'one' } }, 201);
      await written.promise;
      await settled();
      expect(await usage()).toEqual([]);
      const periods = await uswarm.database
        .selectFrom('usage_periods')
        .select('period')
        .where('workspace_id', '=', home.workspaceId)
        .execute();
      expect(periods).toEqual([]);
    });

    it('is counted for the last turn that has ended, not for one that waits', async () => {
      await insertHistory(OLD);
      await say('one');
      const ended = await uswarm.database
        .selectFrom('turns')
        .select('id')
        .where('conversation_id', '=', home.conversationId)
        .executeTakeFirstOrThrow();
      await say('two');
      expect((await findSummarizedConversation(uswarm.database, home.conversationId))?.turnId).not.toBe(ended.id);
      await sql`
        INSERT INTO turn_contexts (turn_id, context) SELECT id, '{}' FROM turns
        WHERE conversation_id = ${home.conversationId} AND id <> ${ended.id}`.execute(uswarm.database);
      expect((await findSummarizedConversation(uswarm.database, home.conversationId))?.turnId).toBe(ended.id);
    });

    it('is deleted with the conversation', async () => {
      await insertHistory(OLD);
      await say('one');
      expect(await stored()).toBeDefined();
      await user.delete(home.conversation, undefined, 204);
      expect(await stored()).toBeUndefined();
    });
  });
});
