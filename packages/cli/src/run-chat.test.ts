import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import type { Artifact, MessageData } from '@uswarm/contract';
import { parseChatArguments } from './chat-arguments.js';
import { runChat } from './run-chat.js';
import { chat, chatWithInput, choiceCard, fakeUswarm } from '../test/chats.js';
import type { FakeOptions } from '../test/fake-uswarm.js';
import {
  answerWith,
  begin,
  conversationId,
  at,
  finish,
  id,
  liveMessage,
  message,
  envelope,
  messageId,
  ready,
  stream,
  textContent,
  workspace,
  workspaceId,
  type Script,
  type ScriptContext,
} from '../test/script.js';

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
      'message.new',
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
    expect(err).toBe(`me@example.com at ${url}\n`);
  });

  it('signs up first and creates a missing conversation', async () => {
    const { url, requests } = await fakeUswarm(answerWith('Because.'), { conversations: 'none' });
    await chat(url, ['Why?']);
    expect(requests.filter((request) => request.startsWith('POST'))).toEqual([
      'POST /issuer/dev/token',
      'POST /v1/auth/sign-up',
      `POST /v1/workspaces/${workspaceId}/conversations`,
      `POST /v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`,
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

  it('sends a message to a workspace whose runtime is suspended', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'), { workspaces: [workspace('offline', 'Pending')] });
    const { code, out } = await chat(url, ['Why?']);
    expect(code).toBe(0);
    expect(out).toContain('· workspace: offline (Pending)\n');
    expect(out).toContain('Manager: Because.\n');
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

  it('waits for a workspace that is rejected while a dependency of the server is unavailable', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'), { rejectSubscribe: 'service_unavailable' });
    const { code, out } = await chat(url, ['Why?']);
    expect(code).toBe(0);
    expect(out).toContain('· waiting for the workspace: A dependency is unavailable.\n');
    expect(out).toMatch(/Manager: Because\.\n$/);
  });

  it.each([
    ['the runtime failed', { workspaces: [workspace('failed', 'Error')] }, /^The runtime of the workspace failed/],
    ['the user has no workspace', { workspaces: [] }, /^The user has no workspace\.$/],
    [
      'the credentials are rejected',
      { rejectWith: 'user_banned' },
      /^uswarm rejected the credentials: The user is banned\. \(user_banned\)$/,
    ],
    [
      'the workspace is rejected',
      { rejectSubscribe: 'workspace_not_found' },
      /^uswarm rejected the workspace: Workspace not found\.$/,
    ],
  ] as [string, FakeOptions, RegExp][])('reports in one sentence that %s', async (_what, options, sentence) => {
    const { url } = await fakeUswarm(answerWith('Because.'), options);
    await expect(chat(url, ['Why?'])).rejects.toThrow(sentence);
  });

  it('reports in one sentence that the message was rejected', async () => {
    const { url } = await fakeUswarm(({ emit, sent }) => {
      emit('message.send.error', {
        local_id: sent.local_id,
        error: 'The limit is reached.',
        code: 'token_limit_reached',
        retryable: false,
        request_id: 'r',
      });
    });
    await expect(chat(url, ['Why?'])).rejects.toThrow(
      'The message was rejected: The limit is reached. (token_limit_reached)',
    );
  });

  it('does not send a message that is too long', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'));
    await expect(chat(url, ['x'.repeat(32_001)])).rejects.toThrow('The message is longer than 32000 characters.');
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

  const card = (selected: string | null): Partial<MessageData> => ({
    id: id(30),
    content: choiceCard(selected),
    status: 'delivered',
    extended_status: 'delivered',
  });
  const offerCard: Script = (context) => {
    context.store([message(card(null))]);
    begin(context);
    context.emit('message.new', liveMessage(card(null)));
    finish(context, 'Choose.', 'delivered');
  };

  it('chooses an action of a card by its number, and prints the answer to it', async () => {
    const posts: unknown[] = [];
    const { url } = await fakeUswarm(offerCard, {
      onPost(path, body, emit) {
        posts.push({ path, body });
        const choice = { id: id(40), role: 'user', agent: null, content: textContent('The second') } as const;
        emit('message.updated', liveMessage(card('b')));
        emit('message.new', liveMessage(choice));
        answerWith('Good choice.', id(41))({ emit, sent: { local_id: 'other' } } as ScriptContext);
      },
    });
    const { code, out } = await chat(url, [], 'Which?\n7\n2\n');
    expect(code).toBe(0);
    expect(posts).toEqual([{ path: `${id(30)}/action`, body: { action_id: 'b' } }]);
    expect(out).toContain('? Which one?\n  [1] The first\n  [2] The second\n');
    expect(out).toContain('No open card has the action 7.\n');
    expect(out).toMatch(/✓ Which one\? You chose: The second\n· Manager is thinking\nManager: Good choice\.\n$/);
  });

  it('prints how to choose if a single message leads to a card', async () => {
    const { url } = await fakeUswarm(offerCard);
    const { code, out } = await chat(url, ['Which?']);
    expect({ code, last: out.trimEnd().split('\n').at(-1) }).toEqual({
      code: 0,
      last: '· to choose, run: npm run chat',
    });
  });

  it('stops the answer that runs with /stop', async () => {
    const posts: string[] = [];
    const { url } = await fakeUswarm(
      (context) => {
        begin(context);
        stream(context, ['Bec']);
      },
      {
        onPost(path, _body, emit) {
          posts.push(path);
          finish({ emit }, 'Bec', 'failed');
        },
      },
    );
    const stdin = new PassThrough();
    const running = chatWithInput(url, [], stdin);
    stdin.write('Why?\n');
    await running.printed('Manager: Bec');
    stdin.end('/stop\n');
    const { code, out } = await running.ended;
    expect(code).toBe(0);
    expect(posts).toEqual([`${messageId}/stop`]);
    expect(out).toMatch(/Manager: Bec\nThe turn failed\.\n$/);
  });

  it('lists artifacts, opens one by its number, and prints no control characters of it', async () => {
    const artifact: Artifact = {
      id: id(50),
      conversation_id: conversationId,
      version: 2,
      latest_version: 2,
      title: 'Tea\u001b[2J party',
      status: 'final',
      agent_slug: 'writer',
      content_preview: '# Tea',
      size: 5,
      created_at: at,
      content: '# Tea\u001b[2J\n\n- green\n',
      versions: [],
    };
    const { url } = await fakeUswarm(answerWith('x'), { artifact });
    const { out } = await chat(url, [], '/artifacts\n/open 1\n/open 9\n/workflows\n/stop\n');
    expect(out.split('Ready)\n')[1]).toBe(
      '[1] “Tea[2J party”, version 2, final, by @writer\n“Tea[2J party”, version 2, final:\n\n# Tea[2J\n\n- green\n' +
        'Write /open and a number that /artifacts lists.\nThere are no workflows.\nNo answer is running.\n',
    );
  });

  it('ends an interactive chat with /quit', async () => {
    const { url } = await fakeUswarm(answerWith('Because.'));
    const { code, out } = await chat(url, [], '/quit\nWhy?\n');
    expect(code).toBe(0);
    expect(out).not.toContain('Because.');
  });
});
