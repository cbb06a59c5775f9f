import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, type ModelServer } from '@uswarm/dev-servers';
import { COLLECTOR_START_MS, describeWith, type RunningCollector, startCollector } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { modelSettings } from '../test/model-settings.js';
import { startToolServer, type TestToolServer } from '../test/tool-server.js';
import { traceOf } from '../test/trace-tree.js';
import { QUESTION, startTracedModel } from '../test/traced-question.js';

async function clientOf({ url, issuer }: RunningProgram): Promise<TestClient> {
  const token = await developmentToken(issuer, 'ada@example.com');
  return startTestClient({ restUrl: url, socketUrl: url, token });
}

describeWith('otel-collector', 'local mode with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  let collector: RunningCollector;
  let model: ModelServer;
  let tools: TestToolServer;
  let local: RunningProgram;
  let client: TestClient;
  beforeAll(async () => {
    collector = await startCollector();
    model = await startTracedModel();
    tools = await startToolServer();
    local = await runLocalMode({
      ...modelSettings(model),
      ...tools.env,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '100',
    });
    client = await clientOf(local);
  }, COLLECTOR_START_MS);
  afterAll(async () => {
    client?.close();
    await local?.stop();
    await tools?.close();
    await model?.close();
    await collector?.close();
  });

  it('exports one trace of a question that is sent over REST, with a tool and a delegation', async () => {
    const { workspaceId, conversationId } = client;
    const path = `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;
    await client.api('POST', path, { content: { type: 'text', text: QUESTION } });
    await model.reached('task');
    model.release('task');
    await client.saw('message.done');
    const spans = await eventually(() => traceOf(collector.spans(), 'sendMessage'), {
      until: (found) => found.filter(({ name }) => name === 'chat scripted').length === 4,
    });
    const parentOf = (name: string) => {
      const parentId = spans.find((span) => span.name === name)?.parentSpanId;
      return spans.find(({ spanId }) => spanId === parentId)?.name;
    };
    expect({
      request: parentOf('sendMessage'),
      turn: parentOf('invoke_agent manager'),
      tool: parentOf('execute_tool web_search_tool'),
      delegation: parentOf('execute_tool delegate'),
      task: parentOf('invoke_agent researcher'),
    }).toEqual({
      request: undefined,
      turn: 'sendMessage',
      tool: 'invoke_agent manager',
      delegation: 'invoke_agent manager',
      task: 'execute_tool delegate',
    });
  });
});

describeWith('otel-collector', 'local mode with the model demo', () => {
  it('has spans of model calls, which no gateway sees', async () => {
    const collector = await startCollector();
    const local = await runLocalMode({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' });
    const client = await clientOf(local);
    try {
      await client.ask('Hello');
      const call = await eventually(() => collector.spans().find(({ name }) => name === 'chat demo'));
      expect(call).toMatchObject({
        kind: 'client',
        attributes: { 'gen_ai.provider.name': 'demo', 'gen_ai.usage.output_tokens': expect.any(Number) },
      });
    } finally {
      client.close();
      await local.stop();
      await collector.close();
    }
  });
});

describe('local mode with an unreachable collector', () => {
  it('answers, writes one line about it, and stops in time', async () => {
    const local = await runLocalMode({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
    });
    const client = await clientOf(local);
    const { answer } = await client.ask('Hello');
    expect(answer).toMatchObject({ status: 'delivered' });
    await client.ask('Hello again');
    const lines = async () => {
      const log = await readFile(join(local.directory, 'uswarm.log'), 'utf8');
      return log.split('\n').filter((line) => line.includes('OpenTelemetry reports a problem'));
    };
    await eventually(async () => (await lines()).length > 0);
    expect(await lines()).toHaveLength(1);
    client.close();
    const before = performance.now();
    expect(await local.stop()).toBe(0);
    expect(performance.now() - before).toBeLessThan(15_000);
  });
});
