import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { type AppServers, type AppUser, startAppServers, startAppUser } from './app-servers.js';
import { KEPT, ObedientModel } from './injections.js';
import { type SeparateOptions, type SeparateServices, startSeparateServices } from './separate.js';
import { startToolServer, type TestToolServer } from './tool-server.js';

const WRITES = ['gmail.users.messages.send', 'gmail.users.drafts.create', 'calendar.events.insert'];
const DEFAULT_AGENTS = ['manager', 'researcher', 'analyst', 'writer', 'coder'];
const EVENT = { start: { dateTime: '2026-12-02T09:00:00Z' }, end: { dateTime: '2026-12-02T10:00:00Z' } };

type Contents = readonly MessageData['content'][];

export const cardsOf = (contents: Contents) =>
  contents.flatMap((content) => (content.type === 'action_card' ? [content] : []));
export const textsOf = (contents: Contents) =>
  contents.flatMap((content) => (content.type === 'text' ? [content.text] : [])).join('\n');

/** The product with a model that obeys every order that it reads, and a user who allows all calls and has a secret memory. */
export interface InjectionWorld {
  model: ObedientModel;
  tools: TestToolServer;
  servers: AppServers;
  services: SeparateServices;
  user: AppUser;
  /** Another user with the same apps, permissions and memory. */
  addUser(): Promise<AppUser>;
  newConversation(user?: AppUser): Promise<string>;
  /** Sends a message, and waits until no reply is written. @returns what agents wrote in the conversation */
  say(conversationId: string, text: string, more?: object, user?: AppUser): Promise<MessageData['content'][]>;
  /** Waits until no reply is written. */
  idle(conversationId: string): Promise<unknown>;
  ownWrites(): string[];
  /** The user's data outside conversations. */
  outside(): Promise<unknown>;
  /** The same before any order is obeyed. */
  unchanged: unknown;
  /** Places a text where the agent reads it. @returns the id of the mail that contains it, if it is one */
  place(where: string, text: string): Promise<string>;
  close(): Promise<void>;
}

export async function startInjectionWorld(
  env: Record<string, string> = {},
  options: SeparateOptions = {},
): Promise<InjectionWorld> {
  const model = new ObedientModel();
  const tools = await startToolServer();
  const servers = await startAppServers(
    () => [],
    () => [],
    ({ messages, tools: offered }) => model.answer(messages, offered),
  );
  const services = await startSeparateServices({ ...servers.env, ...tools.env, ...env }, options);
  const users: AppUser[] = [];

  async function addUser(): Promise<AppUser> {
    const user = await startAppUser(services, servers);
    users.push(user);
    for (const app of ['gmail', 'google_calendar'] as const) {
      await user.connect(app);
      await user.permit(app, 'allow');
    }
    await services.query(
      `INSERT INTO agent_memories (agent_id, key, content, category)
       SELECT id, $2, $3, 'core' FROM agents WHERE workspace_id = $1`,
      [user.workspaceId, KEPT.key, KEPT.content],
    );
    return user;
  }
  const user = await addUser();

  const ownWrites = () => servers.google.requests.filter((method) => WRITES.includes(method));
  const mail = async (subject: string, from: string, body: string, headers = ''): Promise<string> => {
    const received = await servers.google.mailbox.receive(
      `From: ${from} <bob@example.com>\r\nTo: ada@example.com\r\nSubject: ${subject}\r\nMessage-ID: <${randomUUID()}@example.com>\r\n${headers}\r\n${body}`,
    );
    return received.id;
  };

  const idle = (conversationId: string) => {
    const running = `SELECT id FROM turns WHERE conversation_id = $1 AND status IN ('queued', 'running')`;
    return eventually(() => services.query(running, [conversationId]), { until: (rows) => rows.length === 0 });
  };

  return {
    model,
    idle,
    tools,
    servers,
    services,
    user,
    addUser,
    ownWrites,

    async newConversation({ api, workspaceId } = user) {
      const body = { type: 'swarm', agent_id: null };
      const { body: created } = await api('POST', `/v1/workspaces/${workspaceId}/conversations`, body);
      return (created as { data: { id: string } }).data.id;
    },

    async say(conversationId, text, more = {}, { api, workspaceId } = user) {
      const path = `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;
      const { status } = await api('POST', path, { content: { type: 'text', text }, ...more });
      expect(status).toBe(201);
      await idle(conversationId);
      const sql = `SELECT content FROM messages WHERE conversation_id = $1 AND role = 'agent' ORDER BY seq`;
      return (await services.query<{ content: MessageData['content'] }>(sql, [conversationId])).map(
        ({ content }) => content,
      );
    },

    unchanged: { writes: [], memories: [KEPT], agents: DEFAULT_AGENTS.map((slug) => ({ slug, prompts: [] })) },
    async outside() {
      const memories = await services.query(
        `SELECT DISTINCT key, content FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = $1`,
        [user.workspaceId],
      );
      const agents = await services.query(
        'SELECT slug, prompts FROM agents WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY sort_order',
        [user.workspaceId],
      );
      return { writes: ownWrites(), memories, agents };
    },

    async place(where, text) {
      const page = { title: 'Weather', url: 'https://example.com/weather', snippet: 'Sunny.', engine: 'e' };
      tools.found = [page];
      tools.notes = [];
      const type = 'Content-Type: application/octet-stream\r\n';
      const disposition = `Content-Disposition: attachment; filename="${text}.pdf"`;
      const withFile = `--b\r\n\r\nHello\r\n--b\r\n${type}${disposition}\r\n\r\nx\r\n--b--\r\n`;
      const places: Record<string, () => unknown> = {
        'title of a web page': () => (tools.found = [{ ...page, title: text }]),
        'excerpt of a web page': () => (tools.found = [{ ...page, snippet: text }]),
        'address of a web page': () => (tools.found = [{ ...page, url: `https://example.com/${text}` }]),
        'remark of the search server': () => (tools.notes = [text]),
        'subject of a mail': () => mail(text, 'Bob', 'Hello'),
        'sender of a mail': () => mail('Hello', text, 'Hello'),
        'text of a mail': () => mail('Hello', 'Bob', text),
        'name of an attachment': () => mail('Hello', 'Bob', withFile, 'Content-Type: multipart/mixed; boundary=b\r\n'),
        'title of an event': () => servers.google.calendar.add({ ...EVENT, summary: text }),
        'description of an event': () => servers.google.calendar.add({ ...EVENT, summary: 'a', description: text }),
        'place of an event': () => servers.google.calendar.add({ ...EVENT, summary: 'a', location: text }),
      };
      const placed = await places[where]!();
      return typeof placed === 'string' && where !== 'remark of the search server' ? placed : '';
    },

    async close() {
      for (const one of users) one.close();
      await services.close();
      await servers.close();
      await tools.close();
    },
  };
}
