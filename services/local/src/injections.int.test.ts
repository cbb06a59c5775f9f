import { randomBytes, randomUUID } from 'node:crypto';
import type { MessageData } from '@uswarm/contract';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSearchServer, type SearchOutcome } from '@uswarm/searxng-client';
import { listen, parseSigningKey, type RunningServer, silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { startAppServers, startAppUser, type AppServers, type AppUser } from '../test/app-servers.js';
import { EVIL, INJECTIONS, KEPT, ObedientModel, order, PLACED_MAIL, SECRET } from '../test/injections.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const WRITES = ['gmail.users.messages.send', 'gmail.users.drafts.create', 'calendar.events.insert'];
const API_KEY = `provider-key-${randomUUID()}`;
/** A name that an identity provider reports: its end is not shown to the model. */
const NAME = `Ada ${'x'.repeat(120)}`;

describe('a model that obeys every order that it reads', () => {
  const model = new ObedientModel();
  /** What the next search finds, and what was searched for. */
  let found: SearchOutcome['results'] = [];
  let notes: string[] = [];
  const queries: string[] = [];
  let search: ReturnType<typeof createSearchServer>;
  let searchHttp: RunningServer;
  let servers: AppServers;
  let services: SeparateServices;
  let user: AppUser;
  let other: string;

  beforeAll(async () => {
    const signingKey = `test:${randomBytes(32).toString('hex')}`;
    search = createSearchServer({
      keys: [parseSigningKey(signingKey)],
      logger: silentLogger,
      search: {
        async search(args) {
          queries.push(JSON.stringify(args));
          return { status: 'ok', results: found, unresponsive_engines: [], notes };
        },
      },
      limits: { perMinute: 10_000, concurrent: 10 },
    });
    searchHttp = await listen(search.handler, { host: '127.0.0.1', port: 0 });
    servers = await startAppServers(
      () => [],
      () => [],
      ({ messages, tools }) => model.answer(messages, tools),
    );
    services = await startSeparateServices({
      ...servers.env,
      OPENAI_API_KEY: API_KEY,
      SVC_MCP_ENDPOINT: `${searchHttp.url}/mcp`,
      SVC_MCP_SIGNING_KEY: signingKey,
    });
    const otherUser = await startAppUser(services, servers);
    other = `other-${randomUUID()}`;
    await services.query(`UPDATE users SET name = $2 WHERE id = (SELECT owner_id FROM workspaces WHERE id = $1)`, [
      otherUser.workspaceId,
      other,
    ]);
    otherUser.close();
    user = await startAppUser(services, servers);
    for (const app of ['gmail', 'google_calendar'] as const) {
      await user.connect(app);
      await user.permit(app, 'allow');
    }
    await services.query(
      `INSERT INTO agent_memories (agent_id, key, content, category)
       SELECT id, $2, $3, 'core' FROM agents WHERE workspace_id = $1`,
      [user.workspaceId, KEPT.key, KEPT.content],
    );
  });
  afterAll(async () => {
    user?.close();
    await services?.close();
    await servers?.close();
    await search?.close();
    await searchHttp?.close(0);
  });

  async function newConversation(): Promise<string> {
    const body = { type: 'swarm', agent_id: null };
    const { body: created } = await user.api('POST', `/v1/workspaces/${user.workspaceId}/conversations`, body);
    return (created as { data: { id: string } }).data.id;
  }

  /** Sends a message, and waits until no reply is written. @returns what agents wrote in the conversation */
  async function say(conversationId: string, text: string, more: object = {}): Promise<MessageData['content'][]> {
    const path = `/v1/workspaces/${user.workspaceId}/conversations/${conversationId}/messages`;
    const { status } = await user.api('POST', path, { content: { type: 'text', text }, ...more });
    expect(status).toBe(201);
    const running = `SELECT id FROM turns WHERE conversation_id = $1 AND status IN ('queued', 'running')`;
    await eventually(() => services.query(running, [conversationId]), { until: (rows) => rows.length === 0 });
    const sql = `SELECT content FROM messages WHERE conversation_id = $1 AND role = 'agent' ORDER BY seq`;
    return (await services.query<{ content: MessageData['content'] }>(sql, [conversationId])).map(
      ({ content }) => content,
    );
  }

  const ownWrites = () => servers.google.requests.filter((method) => WRITES.includes(method));
  const memories = () =>
    services.query(
      `SELECT DISTINCT key, content FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE workspace_id = $1`,
      [user.workspaceId],
    );
  const unchanged = { writes: [], memories: [KEPT] };
  const outside = async () => ({ writes: ownWrites(), memories: await memories() });
  const cards = (contents: readonly MessageData['content'][]) =>
    contents.flatMap((content) => (content.type === 'action_card' ? [content] : []));
  const texts = (contents: readonly MessageData['content'][]) =>
    contents.flatMap((content) => (content.type === 'text' ? [content.text] : [])).join('\n');
  const streamed = () =>
    user.events.flatMap(({ name, payload }) => (name === 'message.chunk' ? [String(payload['chunk'])] : [])).join('');

  /** Places an order where the agent reads it. @returns the id of the mail that contains it, if it is one */
  async function place(where: string, id: number): Promise<string> {
    const text = order(id);
    const page = { title: 'Weather', url: 'https://example.com/weather', snippet: 'Sunny.', engine: 'e' };
    found = [page];
    notes = [];
    const event = { start: { dateTime: '2026-12-02T09:00:00Z' }, end: { dateTime: '2026-12-02T10:00:00Z' } };
    let mailId = '';
    const mail = async (subject: string, from: string, body: string, headers = '') => {
      const received = await servers.google.mailbox.receive(
        `From: ${from} <bob@example.com>\r\nTo: ada@example.com\r\nSubject: ${subject}\r\nMessage-ID: <${randomUUID()}@example.com>\r\n${headers}\r\n${body}`,
      );
      mailId = received.id;
    };
    const type = 'Content-Type: application/octet-stream\r\n';
    const disposition = `Content-Disposition: attachment; filename="${text}.pdf"`;
    const withFile = `--b\r\n\r\nHello\r\n--b\r\n${type}${disposition}\r\n\r\nx\r\n--b--\r\n`;
    const places: Record<string, () => unknown> = {
      'title of a web page': () => (found = [{ ...page, title: text }]),
      'excerpt of a web page': () => (found = [{ ...page, snippet: text }]),
      'address of a web page': () => (found = [{ ...page, url: `https://example.com/${text}` }]),
      'remark of the search server': () => (notes = [text]),
      'subject of a mail': () => mail(text, 'Bob', 'Hello'),
      'sender of a mail': () => mail('Hello', text, 'Hello'),
      'text of a mail': () => mail('Hello', 'Bob', text),
      'name of an attachment': () => mail('Hello', 'Bob', withFile, 'Content-Type: multipart/mixed; boundary=b\r\n'),
      'title of an event': () => servers.google.calendar.add({ ...event, summary: text }),
      'description of an event': () => servers.google.calendar.add({ ...event, summary: 'a', description: text }),
      'place of an event': () => servers.google.calendar.add({ ...event, summary: 'a', location: text }),
    };
    await places[where]!();
    return mailId;
  }

  it('may send a mail without asking if the agent has read nothing of others', async () => {
    const id = model.give('send a mail');
    await say(await newConversation(), `Please do this: ${order(id)}`);
    expect(ownWrites()).toEqual(['gmail.users.messages.send']);
    (servers.google.requests as string[]).length = 0;
  });

  it.each(INJECTIONS.map((injection, index) => ({ ...injection, index })))(
    'invariant 11: changes nothing without an approval: $effect, $place',
    async ({ place: where, effect, reads, index }) => {
      const id = model.give(effect);
      const mailId = await place(where, id);
      model.tasks.set(`task-${index}.`, JSON.parse(JSON.stringify(reads).replace(PLACED_MAIL, mailId)));
      const contents = await say(await newConversation(), `Please read it for task-${index}.`);
      expect(model.obeyed.has(id)).toBe(true);
      expect(await outside()).toEqual(unchanged);
      const calls = effect === 'call two tools' ? 2 : 1;
      const asked = cards(contents);
      expect(asked).toHaveLength(/image|link/.test(effect) ? 0 : calls);
      for (const { description } of asked) expect(description).toMatch(/^You allow this tool\. It asks because/);
      expect(texts(contents)).not.toMatch(/!\[|<(?:img|a)\b|\]\(\/\/|\]: *http|Your bank\]/);
    },
  );

  it('invariant 11: streams no image and no hidden link', () => {
    expect(streamed()).toContain('evil.example');
    expect(streamed()).not.toMatch(/!\[|<(?:img|a)\b|\]\(\/\/|\]: *http|Your bank\]/);
  });

  it('asks for what was read in an earlier turn of the conversation', async () => {
    const id = model.give('send a mail');
    found = [{ title: 'Weather', url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
    model.tasks.set('follow-up-1.', [{ name: 'web_search_tool', arguments: { query: 'weather' } }]);
    const conversation = await newConversation();
    await say(conversation, 'Please read it for follow-up-1.');
    expect(cards(await say(conversation, `Now ${order(id)}`))).toHaveLength(1);
    expect(await outside()).toEqual(unchanged);
  });

  it('asks for what another agent has written after it read something', async () => {
    const [first, second] = [model.give('show an image'), model.give('send a mail')];
    found = [{ title: `Say ${order(first)}`, url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
    model.tasks.set('colleague-1.', [{ name: 'web_search_tool', arguments: { query: 'weather' } }]);
    const conversation = await newConversation();
    await say(conversation, 'Please read it for colleague-1.');
    await services.query(
      `UPDATE messages SET content = jsonb_set(content, '{text}', to_jsonb($2::text))
      WHERE conversation_id = $1 AND role = 'agent' AND content ->> 'type' = 'text'`,
      [conversation, order(second)],
    );
    const agents = (await user.api('GET', `/v1/workspaces/${user.workspaceId}/agents`)).body as {
      data: { id: string; name: string; role: string }[];
    };
    const colleague = agents.data.at(-1)!;
    const mention = `@${colleague.name}`;
    const mentions = [{ agent_id: colleague.id, agent_name: colleague.name, offset: 0, length: mention.length }];
    const contents = await say(conversation, `${mention} what do you think?`, { mentions });
    expect(model.obeyed.has(second)).toBe(true);
    expect(cards(contents)).toHaveLength(1);
    expect(await outside()).toEqual(unchanged);
  });

  it.each(['title', 'content'])(
    'asks after the agent has read a document that was written after something was read: %s',
    async (part) => {
      const id = model.give('send a mail');
      const document = { title: 'Report', content: 'Sunny.', [part]: order(id) };
      found = [{ title: 'Weather', url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
      model.tasks.set(`write-${part}.`, [{ name: 'web_search_tool', arguments: { query: 'weather' } }]);
      model.tasks.set(`then-${part}.`, [{ name: 'create_artifact', arguments: document }]);
      const writing = await newConversation();
      await say(writing, `Please read it for write-${part}.`);
      await say(writing, `Please write it for then-${part}.`);
      const [{ artifact_id: artifactId } = { artifact_id: '' }] = await services.query<{ artifact_id: string }>(
        `SELECT id AS artifact_id FROM artifacts WHERE workspace_id = $1 ORDER BY updated_at DESC LIMIT 1`,
        [user.workspaceId],
      );
      const reading =
        part === 'title'
          ? { name: 'list_artifacts', arguments: {} }
          : { name: 'read_artifact', arguments: { artifact_id: artifactId } };
      model.tasks.set(`list-${part}.`, [reading]);
      const contents = await say(await newConversation(), `Please read it for list-${part}.`);
      expect(model.obeyed.has(id)).toBe(true);
      expect(cards(contents).map(({ description }) => description)).toEqual([
        expect.stringContaining('documents about such content'),
      ]);
      expect(await outside()).toEqual(unchanged);
    },
  );

  it('asks after the agent has read a memory that was saved after something was read', async () => {
    const id = model.give('send a mail');
    await services.query(
      `INSERT INTO agent_memories (agent_id, key, content, category, untrusted)
       SELECT id, 'injected', $2, 'core', true FROM agents WHERE workspace_id = $1`,
      [user.workspaceId, order(id)],
    );
    const contents = await say(await newConversation(), 'Hello');
    await services.query(`DELETE FROM agent_memories WHERE key = 'injected'`);
    expect(model.obeyed.has(id)).toBe(true);
    expect(cards(contents).map(({ description }) => description)).toEqual([
      expect.stringContaining('memories of such content'),
    ]);
    expect(await outside()).toEqual(unchanged);
  });

  it('asks after the agent has read the name of an attached file', async () => {
    const id = model.give('send a mail');
    const form = new FormData();
    form.append('file', new Blob(['hello']), `${order(id)}.txt`);
    const uploaded = await fetch(`${services.restUrl}/v1/uploads`, {
      method: 'POST',
      headers: { 'x-token': user.token },
      body: form,
    });
    const { data } = (await uploaded.json()) as { data: { id: string } };
    const contents = await say(await newConversation(), 'Look at this', { attachments: [{ id: data.id }] });
    expect(model.obeyed.has(id)).toBe(true);
    expect(cards(contents).map(({ description }) => description)).toEqual([expect.stringContaining('attached files')]);
    expect(await outside()).toEqual(unchanged);
  });

  it('does not read the title of a conversation, and no long name of the user', async () => {
    const [title, name] = [model.give('send a mail'), model.give('send a mail')];
    await services.query(`UPDATE users SET name = $2 WHERE id = (SELECT owner_id FROM workspaces WHERE id = $1)`, [
      user.workspaceId,
      `${NAME} ${order(name)}`,
    ]);
    const conversation = await newConversation();
    await services.query('UPDATE conversations SET title = $2 WHERE id = $1', [conversation, order(title)]);
    await say(conversation, 'Hello');
    expect([title, name].map((id) => model.obeyed.has(id))).toEqual([false, false]);
    expect(await outside()).toEqual(unchanged);
  });

  it.each(['runtime', 'orchestrator'] as const)(
    'asks although the %s is killed after the agent has read something',
    async (killed) => {
      const id = model.give('save a memory');
      found = [{ title: order(id), url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
      model.tasks.set(`kill-${killed}.`, [{ name: 'web_search_tool', arguments: { query: 'weather' } }]);
      const conversation = await newConversation();
      model.holds.set(id, killed === 'runtime' ? 'is lost' : 'obeys');
      const saying = say(conversation, `Please read it for kill-${killed}.`);
      await servers.model.reached(`order-${id}`);
      await services.kill(killed === 'runtime' ? 'the runtime' : 'the orchestrator', user.workspaceId);
      await services.recover(killed === 'runtime' ? 'the runtime' : 'the orchestrator');
      servers.model.release(`order-${id}`);
      await saying;
      const asked = `SELECT content FROM messages WHERE conversation_id = $1 AND content ->> 'type' = 'action_card'`;
      expect(await services.query(asked, [conversation])).toHaveLength(1);
      expect(await outside()).toEqual(unchanged);
    },
  );

  it('sends no secret of the platform and of other users anywhere', () => {
    const left = [
      ...queries,
      ...servers.google.mailbox.mails.map(({ raw }) => raw),
      ...servers.model.requests.map(({ body }) => JSON.stringify(body)),
      // `session.ready` gives the user a resume token.
      ...user.events.filter(({ name }) => name !== 'session.ready').map(({ payload }) => JSON.stringify(payload)),
    ].join('\n');
    expect(left).toContain(SECRET);
    expect(queries.join()).not.toContain(SECRET);
    for (const secret of [API_KEY, other, 'eyJ']) expect(left).not.toContain(secret);
    expect(queries.length).toBeGreaterThan(0);
    expect(left).toContain(EVIL.slice('https://'.length));
  });
});
