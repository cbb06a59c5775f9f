import { readFile, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import {
  COLLECTOR_START_MS,
  type CollectedSpan,
  describeWith,
  type RunningCollector,
  startCollector,
} from '@uswarm/testkit';
import { parseSigningKey, signModelToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { startToolServer, type TestToolServer } from '../test/tool-server.js';
import { tracePicture } from '../test/trace-picture.js';
import { traceOf, traceTree } from '../test/trace-tree.js';
import { CONTENTS, QUESTION, startTracedModel } from '../test/traced-question.js';

const PAGE = new URL('../../../docs/tracing.md', import.meta.url);

const PICTURE = new URL('../../../docs/pictures/trace.svg', import.meta.url);

const tracing = ({ url }: RunningCollector) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '100' });

describeWith('otel-collector', 'a question with a tool and a delegation', () => {
  let collector: RunningCollector;
  let model: ModelServer;
  let tools: TestToolServer;
  let services: SeparateServices;
  let client: TestClient;
  let spans: CollectedSpan[];

  beforeAll(async () => {
    collector = await startCollector();
    model = await startTracedModel();
    tools = await startToolServer();
    const environment = {
      ...modelSettings(model),
      ...tools.env,
      ...tracing(collector),
      SUMMARY_WORKERS: '0',
      // On a busy machine, another process would take the turn over, which is another span.
      WORK_LEASE_MS: '300000',
    };
    services = await startSeparateServices(environment, { modelGateway: true });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
    await client.send(QUESTION);
    await model.reached('task');
    // Suspended until the task ends.
    const waits = `SELECT FROM turns WHERE workspace_id = $1 AND status = 'done'`;
    await eventually(async () => (await services.query(waits, [client.workspaceId])).length === 1);
    model.release('task');
    await client.saw('message.done');
    spans = await eventually(() => traceOf(collector.spans(), 'message.send'), {
      until: (found) => found.filter(({ name }) => name === 'chat scripted').length === 4,
    });
  }, COLLECTOR_START_MS);
  afterAll(async () => {
    client?.close();
    await services?.close();
    await tools?.close();
    await model?.close();
    await collector?.close();
  });

  it('has one trace with the documented spans', async () => {
    const complete = () => traceTree(traceOf(collector.spans(), 'message.send')).trimEnd();
    const documented = (await readFile(PAGE, 'utf8')).split('```text\n')[1]?.split('\n```')[0];
    await expect(eventually(complete, { until: (tree) => tree === documented, timeoutMs: 10_000 })).resolves.toBe(
      documented,
    );
    if (process.env['WRITE_TRACE_PICTURE'] === '1')
      await writeFile(PICTURE, tracePicture(traceOf(collector.spans(), 'message.send')));
  });

  it('has no span outside of the trace that names an agent, a model or a tool', () => {
    const others = collector.spans().filter(({ traceId }) => traceId !== spans[0]?.traceId);
    expect(others.filter(({ attributes }) => 'gen_ai.operation.name' in attributes)).toEqual([]);
  });

  it('describes agents, models and tools with the semantic conventions', () => {
    const of = (name: string) => spans.find((span) => span.name === name);
    expect(of('invoke_agent researcher')).toMatchObject({
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'researcher',
        'gen_ai.conversation.id': client.conversationId,
      },
    });
    expect(of('chat scripted')).toMatchObject({
      kind: 'client',
      service: 'uswarm-model-gateway',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'scripted',
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
      },
    });
    expect(of('execute_tool web_search_tool')).toMatchObject({
      kind: 'internal',
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'web_search_tool' },
    });
  });

  it('does not let a runtime choose the trace of its model calls', async () => {
    const { url, tokenKey } = services.modelGateway!;
    const turn = { workspaceId: client.workspaceId, agentId: randomUUID(), turnId: randomUUID() };
    const [signed, chosen] = ['5'.repeat(32), '6'.repeat(32)];
    const traceparent = `00-${signed}-${'7'.repeat(16)}-01`;
    const token = await signModelToken(parseSigningKey(tokenKey), { ...turn, purpose: 'turn', traceparent });
    await fetch(`${url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, traceparent: `00-${chosen}-${'8'.repeat(16)}-01` },
      body: JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const call = await eventually(() => collector.spans().find(({ traceId }) => traceId === signed));
    expect(call).toMatchObject({ service: 'uswarm-model-gateway', parentSpanId: '7'.repeat(16) });
    expect(collector.spans().filter(({ traceId }) => traceId === chosen)).toEqual([]);
  });

  it('has no contents and no secrets in its spans', () => {
    const text = JSON.stringify(collector.spans());
    const found = [...CONTENTS, services.internal.key, 'Bearer'].filter((one) => text.includes(one));
    expect(found).toEqual([]);
  });
});

describeWith('otel-collector', 'a turn whose orchestrator is killed', () => {
  let collector: RunningCollector;
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  beforeAll(async () => {
    collector = await startCollector();
    model = await startModelServer({ script: () => [{ text: 'Half, ' }, { hold: 'answer' }, { text: 'whole.' }] });
    const environment = { ...modelSettings(model), ...tracing(collector), SUMMARY_WORKERS: '0', WORK_LEASE_MS: '3000' };
    services = await startSeparateServices(environment);
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  }, COLLECTOR_START_MS);
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
    await collector?.close();
  });

  it('is continued by another orchestrator in the same trace', async () => {
    await client.send('How is the weather?');
    await model.reached('answer');
    const sent = await eventually(() => collector.spans().find(({ name }) => name === 'internalSend'));
    const second = await services.addOrchestrator();
    await services.orchestrators[0]!.stop('SIGKILL');
    await second.printed(/expired lease taken over/);
    model.release('answer');
    await client.saw('message.done');
    const turn = await eventually(() => collector.spans().find(({ name }) => name === 'invoke_agent manager'));
    expect({ traceId: turn.traceId, parentSpanId: turn.parentSpanId }).toEqual({
      traceId: sent.traceId,
      parentSpanId: sent.spanId,
    });
  });
});
