import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ERRORS, type ErrorCode, type ListedMessage, type MessageSend, type Workspace } from '@uswarm/contract';
import { checkResponse, checkServerEvent } from '@uswarm/contract/checks';
import { Server, type Socket } from 'socket.io';
import { parseChatArguments } from './arguments.js';
import { runChat } from './run-chat.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const id = (last: number) => `0192d3a4-0000-7000-8000-${String(last).padStart(12, '0')}`;
const at = '2026-11-21T10:00:00.000Z';
const workspaceId = id(1);
const conversationId = id(2);
const agentId = id(3);
const questionId = id(10);
const replyId = id(11);
const idToken = `h.${Buffer.from(JSON.stringify({ exp: 9_999_999_999 })).toString('base64url')}.s`;
const agent = { id: agentId, name: 'Manager', role: 'manager', slug: 'manager', avatar: '' } as const;

function workspace(status: Workspace['runtime']['status'], phase: Workspace['runtime']['phase']): Workspace {
  const runtime = { status, phase, verified: true, total_agents: 1, last_message_preview: null };
  return { id: workspaceId, name: 'Mine', created_at: at, updated_at: at, runtime };
}
const ready = workspace('ready', 'Ready');

function message(parts: Partial<ListedMessage>): ListedMessage {
  const base = {
    id: replyId,
    conversation_id: conversationId,
    role: 'agent',
    content: { type: 'loading' },
    status: 'pending',
  } as const;
  const rest = {
    local_id: null,
    attachments: [],
    mentions: [],
    created_at: at,
    updated_at: at,
    extended_status: 'pending',
  } as const;
  return { ...base, ...rest, agent: { ...agent, status: 'busy' }, attachments: [], mentions: [], ...parts };
}

/** What the fake server of a test does when a question arrives. */
type Script = (played: Played) => void;

interface Played {
  sent: MessageSend;
  emit: (name: string, payload: object) => void;
  socket: Socket;
  /** What the list route answers from now on, newest first. */
  store: (messages: ListedMessage[]) => void;
}

const words = (text: string) => ({ type: 'text', text }) as const;
const place = { workspace_id: workspaceId, seq: 1 };

function liveMessage(parts: Partial<ListedMessage>) {
  const { extended_status: _, ...live } = message(parts);
  return { ...place, message: live };
}

function begin({ emit, sent }: Played): void {
  emit('message.send.ack', { local_id: sent.local_id, message_id: questionId, status: 'received' });
  emit('agent.status', { workspace_id: workspaceId, agent_id: agentId, status: 'thinking' });
  emit('message.new', liveMessage({}));
}

function stream({ emit }: Played, ...chunks: string[]): void {
  const reply = { workspace_id: workspaceId, message_id: replyId, conversation_id: conversationId, agent_id: agentId };
  chunks.forEach((chunk, index) => emit('message.chunk', { ...reply, chunk, chunk_seq: index + 1, generation: 1 }));
}

function finish({ emit }: Played, text: string, status: 'delivered' | 'failed'): void {
  emit('message.updated', liveMessage({ content: words(text), status }));
  emit('message.done', { ...place, message_id: replyId, conversation_id: conversationId, agent_id: agentId, status });
}

const answer =
  (text: string): Script =>
  (played) => {
    begin(played);
    stream(played, text.slice(0, 3), text.slice(3));
    finish(played, text, 'delivered');
  };

interface FakeOptions {
  workspaces?: Workspace[];
  /** Refuses sockets. */
  refuse?: ErrorCode;
  conversations?: 'none';
  onSubscribe?: (emit: Played['emit']) => void;
}

const failureBody = (code: ErrorCode) => ({ message: ERRORS[code].message, code, extra: { request_id: 'r' } });

/** A server that speaks the contract, which it checks itself against, and plays a script for each question. */
async function fakeUswarm(
  script: Script,
  { workspaces = [ready], refuse, conversations, onSubscribe }: FakeOptions = {},
) {
  let stored: ListedMessage[] = [];
  const conversation = {
    id: conversationId,
    type: 'swarm',
    title: 'Mine',
    created_at: at,
    updated_at: at,
    unread_count: 0,
    agent: null,
    last_message: null,
  };
  const rest: Record<string, [number, () => unknown]> = {
    'POST /v1/auth/sign-up': [204, () => undefined],
    'GET /v1/workspaces': [200, () => ({ data: workspaces })],
    [`GET /v1/workspaces/${workspaceId}`]: [200, () => ({ data: workspaces[0] })],
    [`GET /v1/workspaces/${workspaceId}/agents`]: [200, () => ({ data: [{ ...agent, status: 'online' }] })],
    [`GET /v1/workspaces/${workspaceId}/conversations`]: [
      200,
      () => ({ data: conversations === 'none' ? [] : [conversation] }),
    ],
    [`POST /v1/workspaces/${workspaceId}/conversations`]: [201, () => ({ data: conversation })],
    [`GET /v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`]: [
      200,
      () => ({
        data: stored,
        pagination: { next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false },
      }),
    ],
  };
  const requests: string[] = [];

  function respond(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url!.split('?')[0]!;
    requests.push(`${request.method} ${path}`);
    if (path === '/issuer/dev/token') return void response.end(JSON.stringify({ id_token: idToken }));
    const authenticated = request.headers['x-token'] === idToken;
    const [status, body] = authenticated
      ? rest[`${request.method} ${path}`]!
      : ([401, () => failureBody('token_missing')] as const);
    const seen = { method: request.method!, path, status, body: body() };
    checkResponse(seen);
    response.writeHead(status).end(seen.body === undefined ? undefined : JSON.stringify(seen.body));
  }

  const server = createServer(respond);
  const io = new Server(server, { path: '/socket.io/' });
  const namespace = io.of('/v1');
  namespace.use((socket, next) => {
    const refusal = refuse ?? (socket.handshake.auth['x-token'] === idToken ? undefined : 'token_invalid');
    next(
      refusal === undefined
        ? undefined
        : Object.assign(new Error(ERRORS[refusal].message), { data: { code: refusal } }),
    );
  });
  namespace.on('connection', (socket) => {
    const emit = (name: string, payload: object) => {
      checkServerEvent(name, payload);
      socket.emit(name, payload);
    };
    socket.on('workspace.subscribe', ({ workspace_ids }: { workspace_ids: string[] }) => {
      emit('workspace.subscribed', { workspace_ids, rejected: [], last_seq: {} });
      onSubscribe?.(emit);
    });
    socket.on('message.send', (sent: MessageSend) =>
      script({ sent, emit, socket, store: (messages) => void (stored = messages) }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => io.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
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
