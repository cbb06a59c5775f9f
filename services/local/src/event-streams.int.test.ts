import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerEventPayload } from '@uswarm/contract';
import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { describeWith, type DocumentedStream, startDocumentedStream } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { runLocalMode } from '../test/local.js';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const ANSWER = 'one two three four five six';

/** Received by a stream client. */
function createReceived() {
  const names: string[] = [];
  const seqs: number[] = [];
  const texts = new Map<string, string>();
  return {
    names,
    seqs,
    texts: () => [...texts.values()],
    add(name: string, payload: unknown): void {
      names.push(name);
      const { seq } = payload as { seq?: number };
      if (seq !== undefined && name !== 'workspace.position') seqs.push(seq);
      if (name === 'workspace.subscribed') {
        const { state = {} } = payload as ServerEventPayload<'workspace.subscribed'>;
        for (const { streams } of Object.values(state)) {
          for (const { message_id, text } of streams) texts.set(message_id, text);
        }
      }
      if (name === 'message.updated') {
        const { id, role, content } = (payload as ServerEventPayload<'message.updated'>).message;
        if (role === 'agent' && content.type === 'text') texts.set(id, content.text);
      }
      if (name === 'message.chunk') {
        const { message_id: id, offset = 0, chunk } = payload as ServerEventPayload<'message.chunk'>;
        texts.set(id, `${(texts.get(id) ?? '').slice(0, offset)}${chunk}`);
      }
    },
  };
}

describeWith('valkey', 'an event stream', () => {
  describeWith('python', 'of the documented client', () => {
    let model: ModelServer;
    let services: SeparateServices;
    let user: TestClient;
    let token: string;
    let stream: DocumentedStream | undefined;
    beforeAll(async () => {
      model = await startModelServer({
        script: () => [
          ...words('one two three '),
          { hold: 'middle' },
          ...words('four five six'),
          { usage: { prompt: 40, completion: 6 } },
        ],
      });
      services = await startSeparateServices({ ...modelSettings(model), SUMMARY_WORKERS: '0' });
      token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
      user = await startTestClient({ restUrl: services.restUrl, socketUrl: services.socketUrl, token });
    });
    afterAll(async () => {
      await stream?.close();
      user?.close();
      await services?.close();
      await model?.close();
    });

    it('has a whole answer whose gateway is killed in the middle, and ends when the user signs out', async () => {
      const { workspaceId, conversationId } = user;
      const received = createReceived();
      stream = await startDocumentedStream({
        language: 'python',
        url: services.socketUrl,
        workspaceId,
        token,
        onEvent: received.add,
      });
      await eventually(() => received.names.includes('workspace.subscribed'));
      const sent = await user.api('POST', `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`, {
        local_id: randomUUID(),
        content: { type: 'text', text: 'Count.' },
      });
      expect(sent.status).toBe(201);
      await eventually(() => received.texts().includes('one two three '));
      const restart = await services.killGateway();
      model.release('middle');
      await restart();
      await eventually(() => received.names.includes('message.done'));
      expect(received.texts()).toEqual([ANSWER]);
      expect(received.seqs).toEqual([...new Set(received.seqs)].toSorted((a, b) => a - b));
      await user.api('POST', '/v1/auth/logout');
      // The function returns.
      expect(await stream.ended).toBe(0);
      expect(received.names.at(-1)).toBe('session.ending');
    });
  });
});

describe('docs/quickstart.md', () => {
  it('streams an answer with its commands', async () => {
    const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/quickstart.md'), 'utf8');
    const [, section = ''] = /^## Stream an answer\n([\s\S]*?)^## /m.exec(page) ?? [];
    const [, commands = ''] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];
    const local = await runLocalMode();
    const script = commands.replaceAll('http://127.0.0.1:8080', local.url);
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { timeout: 300_000 });
    await local.stop();
    const events = [...stdout.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    expect(events.slice(0, 2)).toEqual(['session.ready', 'workspace.subscribed']);
    expect(events).toContain('message.chunk');
    expect(events.at(-1)).toBe('message.done');
  });
});
