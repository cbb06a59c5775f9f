import { randomUUID } from 'node:crypto';
import type { Attachment, MessageData } from '@uswarm/contract';
import { type ModelServer, type ModelServerRequest, startModelServer, textOf } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const CSV = 'month,cups\nJanuary,120\nFebruary,90\n';

/** Draws the columns of the attached file. */
const CODE = `
import csv, pygal
with open('sales.csv') as file: rows = list(csv.DictReader(file))
chart = pygal.Bar(title='Cups of tea', x_labels=[row['month'] for row in rows])
chart.add('cups', [int(row['cups']) for row in rows])
chart.render_to_file('chart.svg')
sum(int(row['cups']) for row in rows)`;
import { uploadFile } from '../test/upload-file.js';

describe('code that an agent runs', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let token: string;
  const requests: ModelServerRequest[] = [];

  beforeAll(async () => {
    model = await startModelServer({
      script: (request) => {
        requests.push(request);
        const last = request.messages.at(-1);
        const result = last?.role === 'tool' ? textOf(last.content) : undefined;
        // On a busy machine, the start alone can reach the time limit.
        if (result !== undefined && !result.includes('was stopped')) return [{ text: result }];
        const id = /sales\.csv, text\/\w+, \d+ bytes, id ([\da-f-]+)/.exec(JSON.stringify(request.messages))?.[1];
        const call = { language: 'python', code: CODE, files: [id ?? 'sales.csv'] };
        return [{ toolCalls: [{ name: 'run_code', arguments: call }] }];
      },
    });
    const env = {
      ...modelSettings(model),
      MODEL_PROVIDER: 'openai',
      SUMMARY_WORKERS: '0',
      CODE_RUNNER_ENABLED: 'true',
    };
    services = await startSeparateServices(env);
    token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
  });

  const headers = () => ({ 'x-token': token });

  const upload = (name: string, content: string | Uint8Array): Promise<Attachment> =>
    uploadFile({ restUrl: services.restUrl, token }, name, content);

  it('returns a chart of an attached file as a message, and its output to the agent', async () => {
    const sales = await upload('sales.csv', CSV);
    const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    const content = { type: 'text', text: 'How many cups? Draw them.' };
    const sent = await client.api('POST', path, { content, attachments: [sales] });
    expect(sent.status).toBe(201);
    const agentMessages = async () => {
      const { body } = await client.api('GET', `${path}?limit=20`);
      return (body as { data: MessageData[] }).data.filter(({ role }) => role === 'agent');
    };
    const textsOf = (messages: MessageData[]) =>
      messages.map((each) => (each.content.type === 'text' ? each.content.text : '')).join('\n');
    const messages = await eventually(agentMessages, {
      until: (found) => textsOf(found).includes('The user has these files'),
      timeoutMs: 240_000,
    });
    const [chart] = messages.flatMap(({ attachments }) => attachments);
    expect(chart).toMatchObject({ name: 'chart.svg', mime_type: 'image/svg+xml', type: 'file' });
    const saved = await fetch(new URL(chart?.url ?? '', services.restUrl), { headers: headers() });
    const svg = await saved.text();
    expect(svg).toContain('Cups of tea');
    expect(svg).not.toMatch(/<script[^>]+href/);
    expect(textsOf(messages)).toMatch(/210[^]*The user has these files: “chart\.svg”/);
    expect(JSON.stringify(requests[0]?.tools)).toContain('- run_code: ');
    // Output can repeat the file.
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('untrusted');
  });
});
