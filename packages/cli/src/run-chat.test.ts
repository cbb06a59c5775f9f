import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parseChatArguments } from './arguments.js';
import { runChat } from './run-chat.js';
import { startFakeUswarm, type FakeOptions } from '../test/fake-uswarm.js';
import {
  answer,
  begin,
  conversationId,
  finish,
  message,
  place,
  questionId,
  ready,
  stream,
  words,
  workspace,
  workspaceId,
  type Script,
} from '../test/script.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function fakeUswarm(script: Script, options?: FakeOptions) {
  const fake = await startFakeUswarm(script, options);
  cleanups.push(fake.close);
  return fake;
}

/** Runs the command against a fake server, and collects what it prints. */
async function chat(url: string, args: string[], input?: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'uswarm-chat-'));
  cleanups.push(() => rm(dataDir, { recursive: true }));
  await writeFile(
    join(dataDir, 'local.json'),
    JSON.stringify({ url, issuer: `${url}/issuer`, e2e_token: 'x', pid: process.pid }),
  );
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const wanted = parseChatArguments([...args, '--data-dir', dataDir], {});
  const code = await runChat(wanted, { stdin, stdout, stderr, env: {} }, new AbortController().signal);
  const textIn = (printed: PassThrough) => String((printed.read() as Buffer | null) ?? '');
  return { code, out: textIn(stdout), err: textIn(stderr) };
}

describe('npm run chat', () => {
  it('asks one question and shows the answer as it comes', async () => {
    const { url } = await fakeUswarm(answer('Because.'));
    await expect(chat(url, ['Why?'])).resolves.toEqual({
      code: 0,
      out: `· me@example.com at ${url}\n· workspace: ready (Ready)\n· Manager is thinking\nManager: Because.\n`,
      err: '',
    });
  });

  it('prints one JSON line an event, and nothing else, with --json', async () => {
    const { url } = await fakeUswarm(answer('Because.'));
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
      content: words('Why?'),
    });
    expect(lines[2]!.payload.local_id).toBe(lines[1]!.payload.local_id);
    expect(err).toBe(`me@example.com at ${url}\n`);
  });

  it('signs up first, and creates the conversation where there is none', async () => {
    const { url, requests } = await fakeUswarm(answer('Because.'), { conversations: 'none' });
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

  it('waits for the workspace and shows how it comes up', async () => {
    const { url } = await fakeUswarm(answer('Because.'), {
      workspaces: [workspace('provisioning', 'Pending')],
      onSubscribe: (emit) => {
        emit('workspace.updated', { ...place, workspace: workspace('provisioning', 'Progressing') });
        emit('workspace.updated', { ...place, workspace: ready });
      },
    });
    const { out } = await chat(url, ['Why?']);
    expect(out.split('\n').filter((line) => line.includes('workspace:'))).toEqual([
      '· workspace: provisioning (Pending)',
      '· workspace: provisioning (Progressing)',
      '· workspace: ready (Ready)',
    ]);
  });

  it('exits with 1 when the reply failed', async () => {
    const { url } = await fakeUswarm((played) => {
      begin(played);
      finish(played, 'The model does not answer.', 'failed');
    });
    await expect(chat(url, ['Why?'])).resolves.toMatchObject({
      code: 1,
      out: expect.stringContaining('Manager: The model does not answer.\nThe reply failed.\n'),
    });
  });

  it('finds by REST what ended while the socket was away', async () => {
    let lost = false;
    const { url } = await fakeUswarm((played) => {
      begin(played);
      stream(played, 'Bec');
      played.store([
        message({ content: words('Because.'), status: 'delivered', extended_status: 'delivered' }),
        message({
          id: questionId,
          role: 'user',
          agent: null,
          content: words('Why?'),
          local_id: played.sent.local_id,
          extended_status: 'read',
        }),
      ]);
      if (!lost) played.socket.conn.close();
      lost = true;
    });
    const { code, out } = await chat(url, ['Why?']);
    expect(code).toBe(0);
    expect(out).toMatch(/· connection lost; connecting again\n· connected again\n/);
    expect(out.replace(/\n·.*/g, '')).toMatch(/(Manager: Bec\nause\.|Manager: Because\.)\n$/);
  });

  it('connects again after the server hung up, and sends again what was not taken', async () => {
    const seen: string[] = [];
    const { url } = await fakeUswarm((played) => {
      seen.push(played.sent.local_id);
      if (seen.length === 1) played.socket.disconnect(true);
      else answer('Because.')(played);
    });
    const { code, out } = await chat(url, ['Why?']);
    expect(code).toBe(0);
    expect(out).toMatch(/Manager: Because\.\n$/);
    expect(seen.length).toBe(2);
    expect(new Set(seen).size).toBe(1);
  });

  it.each([
    ['the runtime failed', { workspaces: [workspace('failed', 'Error')] }, /^The runtime of the workspace failed/],
    ['the user has no workspace', { workspaces: [] }, /^uswarm gave the user no workspace\.$/],
    [
      'the credentials are refused',
      { refuse: 'user_banned' },
      /^uswarm refused the credentials: The user is banned\. \(user_banned\)$/,
    ],
  ] as [string, FakeOptions, RegExp][])('says in one sentence that %s', async (_what, options, sentence) => {
    const { url } = await fakeUswarm(answer('Because.'), options);
    await expect(chat(url, ['Why?'])).rejects.toThrow(sentence);
  });

  it('says in one sentence that the message was not taken', async () => {
    const { url } = await fakeUswarm(({ emit, sent }) => {
      emit('message.send.error', {
        local_id: sent.local_id,
        error: 'Too many requests.',
        code: 'rate_limited',
        retryable: true,
        request_id: 'r',
      });
    });
    await expect(chat(url, ['Why?'])).rejects.toThrow('The message was not taken: Too many requests. (rate_limited)');
  });

  it('says in one sentence that uswarm is not running', async () => {
    const wanted = parseChatArguments(['Why?', '--data-dir', join(tmpdir(), 'uswarm-nowhere')], {});
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
    await expect(runChat(wanted, streams, new AbortController().signal)).rejects.toThrow(
      'uswarm is not running here. Start it with: npm start',
    );
  });

  it('asks line by line without a question, until the input ends', async () => {
    let asked = 0;
    const { url } = await fakeUswarm((played) => {
      asked += 1;
      answer(`Answer ${asked} to ${played.sent.content.text}`)(played);
    });
    const { code, out } = await chat(url, [], 'one\n\n/help\n/nope\ntwo\n');
    expect(code).toBe(0);
    expect(out).toContain('Manager: Answer 1 to one\n');
    expect(out).toContain('Manager: Answer 2 to two\n');
    expect(out).toContain('/quit  ends the chat');
    expect(out).toContain('There is no command /nope; /help lists them.\n');
  });

  it('ends an interactive chat with /quit', async () => {
    const { url } = await fakeUswarm(answer('Because.'));
    const { code, out } = await chat(url, [], '/quit\nWhy?\n');
    expect(code).toBe(0);
    expect(out).not.toContain('Because.');
  });
});
