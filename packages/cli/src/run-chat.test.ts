import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parseChatArguments } from './chat-arguments.js';
import { runChat } from './run-chat.js';
import { startFakeUswarm, type FakeOptions } from '../test/fake-uswarm.js';
import {
  answerWith,
  begin,
  conversationId,
  finish,
  id,
  message,
  envelope,
  messageId,
  ready,
  stream,
  textContent,
  workspace,
  workspaceId,
  type Script,
} from '../test/script.js';

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

async function fakeUswarm(script: Script, options?: FakeOptions) {
  const fake = await startFakeUswarm(script, options);
  cleanup.defer(fake.close);
  return fake;
}

/** Runs the command against a fake server and returns its output. */
async function chat(url: string, args: string[], input?: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'uswarm-chat-'));
  cleanup.defer(() => rm(dataDir, { recursive: true }));
  await writeFile(
    join(dataDir, 'local.json'),
    JSON.stringify({ url, issuer: `${url}/issuer`, e2e_token: 'x', pid: process.pid }),
  );
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const parsed = parseChatArguments([...args, '--data-dir', dataDir], {});
  const code = await runChat(parsed, { stdin, stdout, stderr, env: {} }, new AbortController().signal);
  const textIn = (printed: PassThrough) => String((printed.read() as Buffer | null) ?? '');
  return { code, out: textIn(stdout), err: textIn(stderr) };
}

describe('npm run chat', () => {
  it('sends one message and prints the answer while it is streamed', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'));
    await expect(chat(url, ['Why?'])).resolves.toEqual({
      code: 0,
      out: `· me@example.com at ${url}\n· workspace: ready (Ready)\n· Manager is thinking\nManager: Because.\n`,
      err: '',
    });
  });

  it('prints only one line of JSON per event with --json', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'));
    const { code, out, err } = await chat(url, ['Why?', '--json']);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; payload: { local_id?: string } });
    expect(code).toBe(0);
    expect(lines.map(({ event }) => event)).toEqual([
      'workspace.subscribed',
      'message.send',
      'message.send.ack',
      'agent.status',
      'message.new',
      'message.chunk',
      'message.chunk',
      'message.updated',
      'message.done',
    ]);
    expect(lines[1]!.payload).toMatchObject({
      workspace_id: workspaceId,
      conversation_id: conversationId,
      content: textContent('Why?'),
    });
    expect(lines[2]!.payload.local_id).toBe(lines[1]!.payload.local_id);
    expect(err).toBe(`me@example.com at ${url}\n`);
  });

  it('signs up first and creates a missing conversation', async () => {
    const { url, requests } = await fakeUswarm(answerWith('Because.'), { conversations: 'none' });
    await chat(url, ['Why?']);
    expect(requests.filter((request) => !request.includes('socket.io'))).toEqual([
      'POST /issuer/dev/token',
      'POST /v1/auth/sign-up',
      'GET /v1/workspaces',
      `GET /v1/workspaces/${workspaceId}/agents`,
      `GET /v1/workspaces/${workspaceId}/conversations`,
      `POST /v1/workspaces/${workspaceId}/conversations`,
    ]);
  });

  it('prints the phases of the workspace until it is ready', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'), {
      workspaces: [workspace('provisioning', 'Pending')],
      onSubscribe: (emit) => {
        emit('workspace.updated', { ...envelope, workspace: workspace('provisioning', 'Progressing') });
        emit('workspace.updated', { ...envelope, workspace: ready });
      },
    });
    const { out } = await chat(url, ['Why?']);
    expect(out.split('\n').filter((line) => line.includes('workspace:'))).toEqual([
      '· workspace: provisioning (Pending)',
      '· workspace: provisioning (Progressing)',
      '· workspace: ready (Ready)',
    ]);
  });

  it('exits with 1 when the turn failed', async () => {
    const { url } = await fakeUswarm((context) => {
      begin(context);
      finish(context, 'The model is unavailable.', 'failed');
    });
    await expect(chat(url, ['Why?'])).resolves.toMatchObject({
      code: 1,
      out: expect.stringContaining('Manager: The model is unavailable.\nThe turn failed.\n'),
    });
  });

  it('loads an answer by REST that ended during a disconnect', async () => {
    let disconnected = false;
    const { url } = await fakeUswarm((context) => {
      begin(context);
      stream(context, ['Bec']);
      context.store([
        message({ content: textContent('Because.'), status: 'delivered', extended_status: 'delivered' }),
        message({
          id: messageId,
          role: 'user',
          agent: null,
          content: textContent('Why?'),
          local_id: context.sent.local_id,
          extended_status: 'read',
        }),
      ]);
      if (!disconnected) context.socket.conn.close();
      disconnected = true;
    });
    const { code, out } = await chat(url, ['Why?']);
    expect(code).toBe(0);
    expect(out).toMatch(/· connection lost; reconnecting\n· reconnected\n/);
    expect(out.replace(/\n·.*/g, '')).toMatch(/(Manager: Bec\nause\.|Manager: Because\.)\n$/);
  });

  it('reconnects and resends a lost message after the server closes the connection', async () => {
    const seen: string[] = [];
    const { url } = await fakeUswarm((context) => {
      seen.push(context.sent.local_id);
      if (seen.length === 1) context.socket.disconnect(true);
      else answerWith('Because.')(context);
    });
    const { code, out } = await chat(url, ['Why?']);
    expect(code).toBe(0);
    expect(out).toMatch(/Manager: Because\.\n$/);
    expect(seen.length).toBe(2);
    expect(new Set(seen).size).toBe(1);
  });

  it.each([
    ['the runtime failed', { workspaces: [workspace('failed', 'Error')] }, /^The runtime of the workspace failed/],
    ['the user has no workspace', { workspaces: [] }, /^The user has no workspace\.$/],
    [
      'the credentials are rejected',
      { rejectWith: 'user_banned' },
      /^uswarm rejected the credentials: The user is banned\. \(user_banned\)$/,
    ],
  ] as [string, FakeOptions, RegExp][])('reports in one sentence that %s', async (_what, options, sentence) => {
    const { url } = await fakeUswarm(answerWith('Because.'), options);
    await expect(chat(url, ['Why?'])).rejects.toThrow(sentence);
  });

  it('reports in one sentence that the message was rejected', async () => {
    const { url } = await fakeUswarm(({ emit, sent }) => {
      emit('message.send.error', {
        local_id: sent.local_id,
        error: 'Too many requests.',
        code: 'rate_limited',
        retryable: true,
        request_id: 'r',
      });
    });
    await expect(chat(url, ['Why?'])).rejects.toThrow('The message was rejected: Too many requests. (rate_limited)');
  });

  it('reports in one sentence that uswarm is not running', async () => {
    const parsed = parseChatArguments(['Why?', '--data-dir', join(tmpdir(), 'uswarm-nowhere')], {});
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
    await expect(runChat(parsed, streams, new AbortController().signal)).rejects.toThrow(
      'uswarm is not running here. Start it with: npm start',
    );
  });

  it('sends each line of the input as a message without a message argument', async () => {
    let count = 0;
    const { url } = await fakeUswarm((context) => {
      count += 1;
      answerWith(`Answer ${count} to ${context.sent.content.text}`, id(10 + count))(context);
    });
    const { code, out } = await chat(url, [], 'one\n\n/help\n/nope\ntwo\n');
    expect(code).toBe(0);
    expect(out).toContain('Manager: Answer 1 to one\n');
    expect(out).toContain('Manager: Answer 2 to two\n');
    expect(out).toContain('/quit          end the chat');
    expect(out).toContain('Unknown command /nope. /help lists the commands.\n');
  });

  it('ends an interactive chat with /quit', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'));
    const { code, out } = await chat(url, [], '/quit\nWhy?\n');
    expect(code).toBe(0);
    expect(out).not.toContain('Because.');
  });
});
