import { Code } from '@connectrpc/connect';
import { type ModelScript, startModelServer, words } from '@uswarm/dev-servers';
import { HistoryRole, SummaryKind } from '@uswarm/runtime-proto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { buildRuntime, startRuntimeProcess } from '../../test/runtime-process.js';

const history = [{ role: HistoryRole.USER, text: 'Book a table for four.' }];
const code = (wanted: Code) => expect.objectContaining({ code: wanted });

describe('the Summarize call of a runtime', () => {
  let cleanup = new AsyncDisposableStack();
  beforeAll(buildRuntime);
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  async function setUp(script: ModelScript) {
    const model = await startModelServer({ script });
    cleanup.defer(model.close);
    const env = { OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'm' };
    const running = await startRuntimeProcess(env);
    cleanup.defer(running.end);
    return { runtime: running.runtime, model };
  }

  it('returns a summary of the conversation and its usage', async () => {
    const { runtime, model } = await setUp(() => [
      ...words('They want a table for four.'),
      { usage: { prompt: 30, completion: 6 } },
    ]);
    const response = await runtime.summarize({ kind: SummaryKind.SUMMARY, model: 'flash', history });
    expect(response).toMatchObject({
      text: 'They want a table for four.',
      usage: [{ step: 0, provider: 'openai', model: 'm', promptTokens: 30n, completionTokens: 6n, estimated: false }],
    });
    expect(model.requests[0]?.body).toMatchObject({ max_tokens: 1_000 });
    expect(model.requests[0]?.raw).not.toHaveProperty('tools');
  });

  it('returns a title', async () => {
    const { runtime } = await setUp(() => words('"A table for four"'));
    expect((await runtime.summarize({ kind: SummaryKind.TITLE, history })).text).toBe('A table for four');
  });

  it('rejects requests without a kind or without messages', async () => {
    const { runtime } = await setUp(() => words('x'));
    await expect(runtime.summarize({ history })).rejects.toEqual(code(Code.InvalidArgument));
    await expect(runtime.summarize({ kind: SummaryKind.TITLE })).rejects.toEqual(code(Code.InvalidArgument));
  });

  it('maps the failure of the model to a code of gRPC, without the text of the provider', async () => {
    const { runtime } = await setUp(() => [{ error: { status: 401, message: 'bad key hunter2' } }]);
    const failure = await runtime.summarize({ kind: SummaryKind.TITLE, history }).catch((error: unknown) => error);
    expect(failure).toEqual(code(Code.FailedPrecondition));
    expect(String(failure)).toContain('model_rejected');
    expect(String(failure)).not.toContain('hunter2');
  });
});
