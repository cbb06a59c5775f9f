import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { cacheFolder, type RunningLlama, startLlama } from '@uswarm/dev-servers';
import { HistoryRole, RunTurnRequestSchema } from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { z } from 'zod';
import { createAgentLoop } from '../../src/agent/run-turn.js';
import type { ModelError } from '../../src/models/port.js';
import { noTools } from '../../src/tools/tool.js';
import type { TurnEventBody } from '../../src/turns/turn-events.js';
import { exampleLines, portOfLine, sendRequestsTo } from '../model-examples.js';
import { noToolRequests } from '../scripted-turn.js';
import { collect, connectTo, stepOf, SYSTEM } from './model-steps.js';

const NEVER = new AbortController().signal;
const WINDOW = 1_024;

let folder: string;
let server: RunningLlama;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'llama-'));
  server = await startLlama({
    directory: join(cacheFolder(), 'llama'),
    contextWindow: WINDOW,
    logFile: join(folder, 'llama.log'),
  });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

async function post(path: string, body: object): Promise<unknown> {
  const response = await fetch(`${server.endpoint}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return response.json();
}

const Tokens = z.object({ tokens: z.array(z.number()) });

async function countTokens(text: string): Promise<number> {
  return Tokens.parse(await post('/tokenize', { content: text, parse_special: true })).tokens.length;
}

/** A prompt's tokens, counted by the server's tokenizer and not by a completion. */
async function countPrompt(text: string): Promise<number> {
  const messages = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: text },
  ];
  const rendered = z.object({ prompt: z.string() }).parse(await post('/apply-template', { messages }));
  return countTokens(rendered.prompt);
}

async function isBusy(): Promise<boolean> {
  const slots: unknown = await (await fetch(`${server.endpoint}/slots`)).json();
  return z
    .array(z.object({ is_processing: z.boolean() }))
    .parse(slots)
    .some((slot) => slot.is_processing);
}

describe('the line of docs/models.md for llama.cpp', () => {
  it('answers with a llama.cpp server', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../docs/models.md'), 'utf8');
    const environment = exampleLines(page).find((line) => line.server === 'llama.cpp')?.environment ?? {};
    const addresses = sendRequestsTo(server.endpoint);
    const { step, usage } = await collect(portOfLine(environment).step(stepOf('Say hello.', 200), { signal: NEVER }));
    jest.restoreAllMocks();
    expect(step).toMatchObject({ finish: 'answered', text: expect.stringMatching(/\w/) });
    expect(usage).toMatchObject([{ promptTokens: await countPrompt('Say hello.'), estimated: false }]);
    expect(addresses).toEqual(['http://127.0.0.1:8000/v1/chat/completions']);
  });
});

const connect = (provider: 'openai' | 'anthropic') => connectTo(server.endpoint, provider);

describe.each(['openai', 'anthropic'] as const)('the provider %s with a llama.cpp server', (provider) => {
  it('streams an answer, and reports the tokens that the server counts', async () => {
    const question = 'Say hello.';
    const { texts, usage, step } = await collect(connect(provider).step(stepOf(question, 8), { signal: NEVER }));
    expect(texts.length).toBeGreaterThan(1);
    expect(step).toMatchObject({ finish: 'length', text: texts.join(''), calls: [] });
    expect(usage).toMatchObject([
      { model: 'smollm2', promptTokens: await countPrompt(question), completionTokens: 8, estimated: false },
    ]);
  });

  it('ends with the answer of the model', async () => {
    const { step } = await collect(connect(provider).step(stepOf('Say hello.', 200), { signal: NEVER }));
    expect(step?.finish).toBe('answered');
  });

  it('stops within the stream, so that the server is free', async () => {
    const controller = new AbortController();
    const story = connect(provider).step(stepOf('Tell a very long story.', 1_000), { signal: controller.signal });
    const { texts, usage, error } = await collect(story, ({ type }) => {
      if (type === 'text') controller.abort(new Error('stopped'));
    });
    expect(error).toEqual(new Error('stopped'));
    expect(texts).toHaveLength(1);
    expect(usage).toMatchObject([{ estimated: true }]);
    await eventually(async () => !(await isBusy()));
  });

  it('recognizes a prompt that exceeds the window', async () => {
    const long = connect(provider).step(stepOf('word '.repeat(2 * WINDOW), 8), { signal: NEVER });
    const { error, usage } = await collect(long);
    expect((error as ModelError).contextOverflow).toBe(true);
    expect(usage).toEqual([]);
  });

  it('answers in a conversation that exceeds the window, although the window is unknown', async () => {
    const events: TurnEventBody[] = [];
    const run = createAgentLoop({
      model: connect(provider),
      tools: { forTurn: () => noTools },
      logger: silentLogger,
      limits: { maxOutputTokens: 300 },
    });
    const older = Array.from({ length: 30 }, (_, index) => [
      { role: HistoryRole.USER, text: `Question ${index}: ${'tea '.repeat(100)}?` },
      { role: HistoryRole.AGENT, agentId: 'a', text: 'Yes.' },
    ]).flat();
    const done = await run(
      create(RunTurnRequestSchema, {
        turnId: 't',
        generation: 1,
        agent: { id: 'a', slug: 'manager', name: 'Mara' },
        history: [...older, { role: HistoryRole.USER, text: 'Say hello.' }],
        firstStep: 1,
      }),
      {
        emit: (event) => events.push(event),
        signal: NEVER,
        committed: async () => undefined,
        resolution: noToolRequests,
        decision: noToolRequests,
        steering: () => [],
        toolToken: () => undefined,
        modelToken: () => undefined,
      },
    );
    expect(done.text).toMatch(/\w/);
    // The small model can repeat itself until the output limit, which is an answer, too.
    expect(['', 'output_limit_reached']).toContain(done.errorCode);
  });
});
