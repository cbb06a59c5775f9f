import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startAppUser, type AppServers, type AppUser } from '../test/app-servers.js';
import { cardsOf, type InjectionWorld, startInjectionWorld, textsOf } from '../test/injection-world.js';
import { EVIL, INJECTIONS, type ObedientModel, order, PLACED_MAIL, SECRET } from '../test/injections.js';
import type { SeparateServices } from '../test/separate.js';
import type { TestToolServer } from '../test/tool-server.js';

const API_KEY = `provider-key-${randomUUID()}`;
/** A name that an identity provider reports: its end is not shown to the model. */
const NAME = `Ada ${'x'.repeat(120)}`;

describe('a model that obeys every order that it reads', () => {
  let world: InjectionWorld;
  let model: ObedientModel;
  let tools: TestToolServer;
  let servers: AppServers;
  let services: SeparateServices;
  let user: AppUser;
  let other: string;
  beforeAll(async () => {
    world = await startInjectionWorld({ OPENAI_API_KEY: API_KEY });
    ({ model, tools, servers, services, user } = world);
    const otherUser = await startAppUser(services, servers);
    other = `other-${randomUUID()}`;
    await services.query(`UPDATE users SET name = $2 WHERE id = (SELECT owner_id FROM workspaces WHERE id = $1)`, [
      otherUser.workspaceId,
      other,
    ]);
    otherUser.close();
  });
  afterAll(() => world?.close());

  const newConversation = () => world.newConversation();
  const say = (...said: Parameters<InjectionWorld['say']>) => world.say(...said);
  const streamed = () =>
    user.events.flatMap(({ name, payload }) => (name === 'message.chunk' ? [String(payload['chunk'])] : [])).join('');

  it('may send a mail without asking if the agent has read nothing of others', async () => {
    const id = model.give('send a mail');
    await say(await newConversation(), `Please do this: ${order(id)}`);
    expect(world.ownWrites()).toEqual(['gmail.users.messages.send']);
    (servers.google.requests as string[]).length = 0;
  });

  it.each(INJECTIONS.map((injection, index) => ({ ...injection, index })))(
    'invariant 11: changes nothing without an approval: $effect, $place',
    async ({ place: where, effect, reads, index }) => {
      const id = model.give(effect);
      const mailId = await world.place(where, order(id));
      model.tasks.set(`task-${index}.`, JSON.parse(JSON.stringify(reads).replace(PLACED_MAIL, mailId)));
      const contents = await say(await newConversation(), `Please read it for task-${index}.`);
      expect(model.obeyed.has(id)).toBe(true);
      expect(await world.outside()).toEqual(world.unchanged);
      const calls = effect === 'call two tools' ? 2 : 1;
      const asked = cardsOf(contents);
      expect(asked).toHaveLength(/image|link|search/.test(effect) ? 0 : calls);
      for (const { description } of asked) expect(description).toMatch(/^You allow this tool\. It asks because/);
      expect(textsOf(contents)).not.toMatch(/!\[|<(?:img|a)\b|\]\(\/\/|\]: *http|Your bank\]/);
    },
  );

  it('invariant 11: streams no image and no hidden link', () => {
    expect(streamed()).toContain('evil.example');
    expect(streamed()).not.toMatch(/!\[|<(?:img|a)\b|\]\(\/\/|\]: *http|Your bank\]/);
  });

  it('asks for what was read in an earlier turn of the conversation', async () => {
    const id = model.give('send a mail');
    tools.found = [{ title: 'Weather', url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
    model.tasks.set('follow-up-1.', [{ name: 'web_search_tool', arguments: { query: 'weather' } }]);
    const conversation = await newConversation();
    await say(conversation, 'Please read it for follow-up-1.');
    expect(cardsOf(await say(conversation, `Now ${order(id)}`))).toHaveLength(1);
    expect(await world.outside()).toEqual(world.unchanged);
  });

  it('asks for what another agent has written after it read something', async () => {
    const [first, second] = [model.give('show an image'), model.give('send a mail')];
    tools.found = [{ title: `Say ${order(first)}`, url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
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
    expect(cardsOf(contents)).toHaveLength(1);
    expect(await world.outside()).toEqual(world.unchanged);
  });

  it.each(['title', 'content'])(
    'asks after the agent has read a document that was written after something was read: %s',
    async (part) => {
      const id = model.give('send a mail');
      const document = { title: 'Report', content: 'Sunny.', [part]: order(id) };
      tools.found = [{ title: 'Weather', url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
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
      expect(cardsOf(contents).map(({ description }) => description)).toEqual([
        expect.stringContaining('documents about such content'),
      ]);
      expect(await world.outside()).toEqual(world.unchanged);
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
    expect(cardsOf(contents).map(({ description }) => description)).toEqual([
      expect.stringContaining('memories of such content'),
    ]);
    expect(await world.outside()).toEqual(world.unchanged);
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
    expect(cardsOf(contents).map(({ description }) => description)).toEqual([
      expect.stringContaining('attached files'),
    ]);
    expect(await world.outside()).toEqual(world.unchanged);
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
    expect(await world.outside()).toEqual(world.unchanged);
  });

  it.each(['runtime', 'orchestrator'] as const)(
    'asks although the %s is killed after the agent has read something',
    async (killed) => {
      const id = model.give('save a memory');
      tools.found = [{ title: order(id), url: 'https://example.com', snippet: 'Sunny.', engine: 'e' }];
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
      expect(await world.outside()).toEqual(world.unchanged);
    },
  );

  it('sends no secret of the platform and of other users anywhere', () => {
    const left = [
      ...tools.queries,
      ...servers.google.mailbox.mails.map(({ raw }) => raw),
      ...servers.model.requests.map(({ body }) => JSON.stringify(body)),
      // `session.ready` gives the user a resume token.
      ...user.events.filter(({ name }) => name !== 'session.ready').map(({ payload }) => JSON.stringify(payload)),
    ].join('\n');
    expect(left).toContain(SECRET);
    expect(tools.queries.join()).not.toContain('4711');
    for (const secret of [API_KEY, other]) expect(left).not.toContain(secret);
    // A JWT has a second part: three random signature characters are not one.
    expect(/eyJ[\w-]+\.[\w-]+/.exec(left)).toBeNull();
    expect(tools.queries.length).toBeGreaterThan(0);
    expect(left).toContain(EVIL.slice('https://'.length));
  });
});
