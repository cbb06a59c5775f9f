import { once } from 'node:events';
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import { HistoryRole, Outcome, RunTurnRequestSchema } from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import {
  answer,
  brief,
  end,
  lastMessage,
  noToolRequests,
  request,
  run,
  search,
  searchTool,
  system,
  text,
  usage,
  words,
} from '../../test/scripted-turn.js';
import { ModelError, type StepEvent } from '../models/port.js';
import { noTools } from '../tools/tool.js';
import { TurnAborted } from '../turns/turn-end.js';
import type { TurnEventBody } from '../turns/turn-events.js';
import { createAgentLoop } from './run-turn.js';

describe('the end of a turn', () => {
  it('continues once if the output limit cuts the text, without a break', async () => {
    const { asked, done } = await run([answer('Half of', 'length'), answer(' the text.')]);
    expect(asked).toHaveLength(2);
    expect(lastMessage(asked[1])).toMatchObject({
      role: 'user',
      content: [{ text: expect.stringContaining('Continue') }],
    });
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Half of the text.' });
  });

  it('ends as incomplete if the output limit cuts the continuation as well', async () => {
    const { asked, done } = await run([answer('a', 'length'), answer('b', 'length'), answer('c')]);
    expect(asked).toHaveLength(2);
    expect(done).toMatchObject({ outcome: Outcome.INCOMPLETE, text: 'ab', errorCode: 'output_limit_reached' });
  });

  it('ends as incomplete if the provider gave no known reason', async () => {
    const { asked, done } = await run([answer('Half an ans', 'unknown'), answer('wer.')]);
    expect(asked).toHaveLength(1);
    expect(done).toMatchObject({ outcome: Outcome.INCOMPLETE, text: 'Half an ans', errorCode: 'model_unavailable' });
  });

  it('shows a refusal', async () => {
    expect((await run([answer('I cannot help with that.', 'refused')])).done).toMatchObject({
      outcome: Outcome.INCOMPLETE,
      text: 'I cannot help with that.',
      errorCode: 'model_refused',
    });
    expect((await run([[end('refused', '')]])).done).toMatchObject({
      outcome: Outcome.FAILED,
      errorCode: 'model_refused',
      errorMessage: 'The model declined to answer.',
    });
  });

  it('repeats a model call that returned nothing once, then fails', async () => {
    const nothing = [end('answered', '')];
    expect((await run([nothing, answer('Now.')])).done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Now.' });
    const { asked, done } = await run([nothing]);
    expect(asked).toHaveLength(2);
    expect(done).toMatchObject({ outcome: Outcome.FAILED, errorCode: 'model_unavailable' });
  });

  it('treats white space as nothing', async () => {
    const blank = answer('\n\n');
    const { events, done } = await run([blank, answer('Now.')]);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Now.' });
    expect(brief(events).filter((line) => line.startsWith('chunk'))).toEqual([
      'chunk 0 \n\n',
      'chunk 0 ',
      'chunk 0 Now.',
    ]);
    expect((await run([blank])).done).toMatchObject({
      outcome: Outcome.FAILED,
      text: '',
      errorCode: 'model_unavailable',
    });
  });

  it('ends as silent only if the model calls stay_silent', async () => {
    const { done, events } = await run([request({ id: 's', name: 'stay_silent', input: {} })]);
    expect(done).toMatchObject({ outcome: Outcome.SILENT, text: '' });
    expect(events.filter((event) => event.case === 'tool')).toEqual([]);
  });

  it('loads a skill on demand', async () => {
    const document = {
      name: 'invoices',
      description: 'When the user asks for an invoice.',
      content: 'Use two decimals.',
    };
    const { asked } = await run([request({ id: 's', name: 'use_skill', input: { name: 'invoices' } }), answer('ok')], {
      turn: { agent: { id: 'a', slug: 'manager', name: 'Mara', skillDocuments: [document] } },
    });
    expect(system(asked[0]!)).toContain('invoices: When the user asks for an invoice.');
    expect(words(asked[0])).not.toContain('Use two decimals.');
    expect(words(asked[1])).toContain('Use two decimals.');
  });

  it('takes back the text of a failed attempt', async () => {
    const { events, done } = await run([
      [
        text('Fals'),
        () => new Promise((resolve) => setTimeout(resolve, 80)),
        { type: 'retracted' },
        text('True.'),
        end('answered', 'True.'),
      ],
    ]);
    expect(brief(events).filter((line) => line.startsWith('chunk'))).toEqual([
      'chunk 0 Fals',
      'chunk 0 ',
      'chunk 0 True.',
    ]);
    expect(done.text).toBe('True.');
  });

  it('takes back the text of a call that ended because the context was full', async () => {
    const full = new ModelError('model_rejected', 'The conversation is too long.', { contextOverflow: true });
    const { events, done } = await run([[text('Half an ans'), full], answer('A whole answer.')]);
    expect(brief(events).filter((line) => line.startsWith('chunk'))).toEqual([
      'chunk 0 Half an ans',
      'chunk 0 ',
      'chunk 0 A whole answer.',
    ]);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'A whole answer.' });
  });

  it('continues a cut text without a break after a failed attempt', async () => {
    const { done } = await run([
      answer('One, t', 'length'),
      [text('hree'), { type: 'retracted' }, text('wo.'), end('answered', 'wo.')],
    ]);
    expect(done.text).toBe('One, two.');
  });

  it('has the model answer when most of the running time is over', async () => {
    let minutes = 0;
    const tools = searchTool(() => {
      minutes += 10;
      return { text: 'found', failed: false };
    });
    const searches = ['tea', 'coffee', 'cocoa'].map((query) => request({ ...search, input: { query } }));
    const { asked, done } = await run([...searches, answer('Done.')], {
      tools,
      now: () => minutes * 60_000,
    });
    expect(asked.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto', 'auto', 'none']);
    expect(done.text).toBe('Done.');
  });

  it('builds a smaller prompt after the provider refused one for its size', async () => {
    const overflow = new ModelError('model_rejected', 'Too long.', { contextOverflow: true });
    const history = Array.from({ length: 100 }, (_, index) => ({
      role: index % 2 === 0 ? HistoryRole.USER : HistoryRole.AGENT,
      agentId: index % 2 === 0 ? '' : 'a',
      text: `message ${index} `.repeat(400),
    }));
    const turn = { history: [...history, { role: HistoryRole.USER, text: 'Hello' }] };
    const { asked, done } = await run([[overflow], [overflow], [overflow], answer('Hi.')], { turn });
    const sizes = asked.map((stepRequest) => words(stepRequest).length);
    expect(sizes.toSorted((left, right) => right - left)).toEqual(sizes);
    expect(sizes.at(-1)).toBeLessThan((sizes[0] ?? 0) / 2);
    expect(words(asked.at(-1))).toContain('Hello');
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Hi.' });
  });

  it('reports the usage of an aborted model call', async () => {
    const controller = new AbortController();
    async function* step(): AsyncGenerator<StepEvent> {
      yield text('Some');
      controller.abort(new TurnAborted('stopped'));
      yield usage(7, 3, true);
      throw await Promise.resolve(controller.signal.reason);
    }
    const events: TurnEventBody[] = [];
    const runner = createAgentLoop({
      model: { provider: 'scripted', step },
      tools: { forTurn: () => noTools },
      logger: silentLogger,
    });
    const history = [{ role: HistoryRole.USER, text: 'Hello' }];
    const turn = create(RunTurnRequestSchema, {
      turnId: 't',
      generation: 1,
      agent: { id: 'a' },
      history,
      firstStep: 1,
    });
    const context = {
      signal: controller.signal,
      committed: async () => undefined,
      resolution: noToolRequests,
      decision: noToolRequests,
      steering: () => [],
      toolToken: () => undefined,
      modelToken: () => undefined,
    };
    const done = await runner(turn, { ...context, emit: (event) => events.push(event) });
    expect(brief(events)).toContain('usage 1 7 3');
    expect(done).toMatchObject({ outcome: Outcome.STOPPED, text: 'Some' });
  });

  it('ends as failed before any text and as incomplete after some', async () => {
    const error = new ModelError('model_rate_limited', 'Too many.');
    expect((await run([[error]])).done).toMatchObject({
      outcome: Outcome.FAILED,
      text: '',
      errorCode: 'model_rate_limited',
      errorMessage: 'Too many.',
    });
    const { done, events } = await run([[text('Half'), error]]);
    expect(done).toMatchObject({ outcome: Outcome.INCOMPLETE, text: 'Half', errorCode: 'model_rate_limited' });
    expect(brief(events)).toContain('chunk 0 Half');
  });

  it('hides the details of an unexpected error', async () => {
    const { done } = await run([[new TypeError('password=hunter2')]]);
    expect(done).toMatchObject({
      outcome: Outcome.FAILED,
      errorCode: 'internal_error',
      errorMessage: expect.not.stringContaining('hunter2'),
    });
  });

  it.each([
    ['stopped' as const, { outcome: Outcome.STOPPED, errorCode: '' }],
    ['too_long' as const, { outcome: Outcome.INCOMPLETE, errorCode: 'reply_too_long' }],
  ])('keeps the text if the turn is aborted because it was %s', async (why, expected) => {
    const controller = new AbortController();
    const abort = (): Promise<void> => {
      controller.abort(new TurnAborted(why));
      return Promise.resolve();
    };
    const { done } = await run([[text('Some'), abort, text(' more')]], { signal: controller.signal });
    expect(done).toMatchObject({ ...expected, text: 'Some' });
  });

  it('ends with its text when its running time is over', async () => {
    const model = {
      provider: 'scripted',
      async *step(_request: unknown, { signal }: { signal: AbortSignal }): AsyncGenerator<StepEvent> {
        yield { type: 'text', text: 'Some' };
        await once(signal, 'abort');
        throw signal.reason;
      },
    };
    const runner = createAgentLoop({
      model,
      tools: { forTurn: () => noTools },
      logger: silentLogger,
      maxRunningMs: 20,
    });
    const done = await runner(create(RunTurnRequestSchema, { turnId: 't', generation: 1, agent: { id: 'a' } }), {
      emit: () => undefined,
      signal: new AbortController().signal,
      committed: async () => undefined,
      resolution: noToolRequests,
      decision: noToolRequests,
      steering: () => [],
      toolToken: () => undefined,
      modelToken: () => undefined,
    });
    expect(done).toMatchObject({ outcome: Outcome.INCOMPLETE, errorCode: 'turn_deadline_exceeded', text: 'Some' });
  });

  it('repeats the call if the output limit left no text after tool results', async () => {
    const tools = searchTool(() => ({ text: 'Nothing.', failed: false }));
    const { asked, done } = await run([request(search), [end('length', '')], answer('Fine.')], { tools });
    expect(asked[2]?.prompt.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Fine.' });
  });
});
