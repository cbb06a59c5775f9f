import { expect, it } from '@jest/globals';
import type { MessageContent, MessageData } from '@uswarm/contract';
import { eventually } from './eventually.js';
import { streamedText, type TestClient } from './test-client.js';
import { openConversation, shows, type TestConversation } from './test-conversation.js';

type ContentType = MessageContent['type'];

/** A request to the demo model, and the beginning of the last reply. */
interface Example {
  request: string;
  reply: string;
}

/** Without `loading`, which a message has only until its text is complete. */
const EXAMPLES: Record<Exclude<ContentType, 'loading'>, Example> = {
  text: { request: 'Hello', reply: '[demo] You asked: Hello' },
  action_card: { request: 'show me a card', reply: '[demo] Please choose.' },
  tool_status: { request: 'remember that my favourite tea is Darjeeling', reply: '[demo] Saved as “favourite tea”.' },
  system: { request: 'show me a failed workflow', reply: '[demo] The workflow “[demo] Tea report” has ended: failed.' },
  delegation: { request: 'show me a delegation', reply: '[demo] The results of my delegation:' },
  artifact: { request: 'show me an artifact', reply: '[demo] The document is final, in version 2.' },
  workflow: { request: 'show me a workflow', reply: '[demo] The workflow “[demo] Tea report” has ended: completed.' },
};

/** The fields of each type, without the optional `selected_action_id`. */
const FIELDS: Record<ContentType, readonly string[]> = {
  text: ['text'],
  action_card: ['actions', 'description', 'title'],
  tool_status: ['description', 'state', 'tool'],
  system: ['text'],
  loading: [],
  delegation: ['from', 'status', 'task_preview', 'to'],
  artifact: ['agent_slug', 'artifact_id', 'content_preview', 'status', 'title', 'version'],
  workflow: ['execution_id', 'status', 'steps', 'workflow_id', 'workflow_name'],
};

const CONTENT_TYPES = Object.keys(FIELDS) as ContentType[];
const EXAMPLE_TYPES = Object.keys(EXAMPLES) as (keyof typeof EXAMPLES)[];

const ID: unknown = expect.stringMatching(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
const TIME: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const agentData = (name: string, role = 'sub-agent', status: unknown = 'online') => ({
  id: ID,
  name,
  role,
  slug: name.toLowerCase(),
  avatar: expect.stringMatching(/\/agent-\w+\.svg$/),
  status,
});
const MANAGER = agentData('Manager', 'manager');

/** All message fields; by default from the manager. */
const messageIn = ({ id }: TestConversation, differences: object) => ({
  id: ID,
  conversation_id: id,
  role: 'agent',
  status: 'delivered',
  extended_status: 'delivered',
  created_at: TIME,
  updated_at: TIME,
  local_id: null,
  agent: MANAGER,
  attachments: [],
  mentions: [],
  rev: expect.any(Number),
  position: expect.any(String),
  error: null,
  edited_at: null,
  // Agents' messages belong to the answer to a question.
  ...('role' in differences ? {} : { turn_id: ID, in_reply_to: ID }),
  ...differences,
});

const CARD = {
  type: 'action_card',
  title: 'How should we continue?',
  description: '[demo] Choose one of these options.',
  actions: [
    { id: 'action_1', label: 'Continue', style: 'primary' },
    { id: 'action_2', label: 'Start over', style: 'secondary' },
    { id: 'action_3', label: 'Cancel', style: 'destructive' },
  ],
};

const stepOf = (id: string, name: string, agent: string) => ({
  step_id: id,
  name,
  agent_slug: agent,
  status: 'completed',
  started_at: TIME,
  finished_at: TIME,
});

const isReply =
  (beginning: string) =>
  ({ role, status, content }: MessageData): boolean =>
    role === 'agent' && status === 'delivered' && content.type === 'text' && content.text.startsWith(beginning);

interface OpenedConversation {
  conversation: TestConversation;
  messages: MessageData[];
}

/** Messages in a conversation that rests, which events and the history show equally. */
function settled(conversation: TestConversation): Promise<MessageData[]> {
  return eventually(async () => {
    const listed = await conversation.listed();
    expect(conversation.folded()).toEqual(listed);
    return listed;
  });
}

/**
 * Defines the tests for all content types, with the demo model. Each type has a conversation, which the client knows
 * from socket events, merged by the API's rule, and from the REST history. Both must be equal.
 */
export function itShowsContentTypes(client: () => TestClient): void {
  const opened = new Map<keyof typeof EXAMPLES, Promise<OpenedConversation>>();

  async function open(type: keyof typeof EXAMPLES): Promise<OpenedConversation> {
    const conversation = await openConversation(client());
    await conversation.send(EXAMPLES[type].request);
    await conversation.updated(isReply(EXAMPLES[type].reply));
    return { conversation, messages: await settled(conversation) };
  }

  /** The conversation that shows the type. It is opened once. */
  function conversationWith(type: keyof typeof EXAMPLES): Promise<OpenedConversation> {
    const known = opened.get(type) ?? open(type);
    opened.set(type, known);
    return known;
  }

  it('RES-066 shows text of the user and of the agent, which is streamed', async () => {
    const { conversation, messages } = await conversationWith('text');
    const text = expect.stringContaining('You asked: Hello');
    expect(messages).toEqual([
      messageIn(conversation, {
        role: 'user',
        extended_status: 'read',
        agent: null,
        local_id: expect.any(String),
        content: { type: 'text', text: 'Hello' },
      }),
      messageIn(conversation, { content: { type: 'text', text } }),
    ]);
    const streamed = streamedText(client().events, messages.at(-1)?.id ?? '');
    expect(messages.at(-1)?.content).toEqual({ type: 'text', text: streamed });
  });

  it('RES-070 shows a reply as loading, without another field, while it is written', async () => {
    const conversation = await openConversation(client());
    // The demo model repeats it for a minute.
    await conversation.send('tea '.repeat(4_000));
    const { id } = await conversation.created(shows('loading'));
    const messages = await settled(conversation);
    const content = { type: 'loading' };
    expect(messages.at(-1)).toEqual(
      messageIn(conversation, { id, status: 'pending', extended_status: 'pending', content }),
    );
    await conversation.stop(id);
    await conversation.updated((message) => message.id === id && !shows('loading')(message));
    expect((await settled(conversation)).filter(shows('loading'))).toEqual([]);
  });

  it('RES-067 shows an action card with its actions, and without a choice', async () => {
    const { conversation, messages } = await conversationWith('action_card');
    expect(messages.filter(shows('action_card'))).toEqual([
      messageIn(conversation, { content: { ...CARD, selected_action_id: null } }),
    ]);
  });

  it('RES-067 REST-035 STATE-004 returns and shows the choice on a card, which the agent answers', async () => {
    const { conversation, messages } = await open('action_card');
    const [card] = messages.filter(shows('action_card'));
    if (card === undefined) throw new Error('the conversation has no card');
    const chosen = await conversation.choose(card, 'action_2');
    expect(chosen).toEqual(
      messageIn(conversation, { id: card.id, content: { ...CARD, selected_action_id: 'action_2' } }),
    );
    await conversation.updated(isReply('[demo] You asked: Start over'));
    const after = await settled(conversation);
    expect(after.filter(shows('action_card'))).toEqual([chosen]);
    expect(after.slice(messages.length)).toMatchObject([
      { role: 'user', content: { type: 'text', text: 'Start over' } },
      { role: 'agent', content: { type: 'text' } },
    ]);
  });

  it('RES-068 shows a tool call with its tool, its description and its state', async () => {
    const { conversation, messages } = await conversationWith('tool_status');
    const content = {
      type: 'tool_status',
      tool: 'remember',
      description: 'Remembering “favourite tea”',
      state: 'completed',
    };
    expect(messages.filter(shows('tool_status'))).toEqual([messageIn(conversation, { content })]);
  });

  it('RES-069 shows a note of the platform, which has no agent', async () => {
    const { conversation, messages } = await conversationWith('system');
    const content = { type: 'system', text: 'The workflow “[demo] Tea report” has failed.' };
    expect(messages.filter(shows('system'))).toEqual([
      messageIn(conversation, { role: 'system', agent: null, content }),
    ]);
  });

  it('RES-071 shows a delegation from its start to its end', async () => {
    const { conversation, messages } = await conversationWith('delegation');
    const content = {
      type: 'delegation',
      from: agentData('Manager', 'manager', expect.stringMatching(/^(?:online|busy)$/)),
      to: agentData('Researcher'),
      status: 'completed',
      task_preview: 'Name one fact about green tea.',
    };
    expect(messages.filter(shows('delegation'))).toEqual([messageIn(conversation, { content })]);
    expect(conversation.shown('delegation').map(({ status }) => status)).toEqual(['running', 'completed']);
  });

  it('RES-072 shows an artifact from its draft to its final version', async () => {
    const { conversation, messages } = await conversationWith('artifact');
    const content = {
      type: 'artifact',
      artifact_id: ID,
      title: 'Tea party',
      version: 2,
      status: 'final',
      agent_slug: 'manager',
      content_preview: expect.stringMatching(/^# Tea party\n[^]*- Boil water\n/),
    };
    expect(messages.filter(shows('artifact'))).toEqual([messageIn(conversation, { content })]);
    expect(conversation.shown('artifact')[0]).toMatchObject({ status: 'draft', version: 1 });
  });

  it('RES-073 shows a workflow and its steps from its start to its end', async () => {
    const { conversation, messages } = await conversationWith('workflow');
    const content = {
      type: 'workflow',
      workflow_id: ID,
      workflow_name: '[demo] Tea report',
      execution_id: ID,
      status: 'completed',
      steps: [
        stepOf('collect', 'Collect sources', 'researcher'),
        stepOf('compare', 'Compare the sources', 'analyst'),
        stepOf('draft', 'Write a draft', 'writer'),
        stepOf('check', 'Check the draft', 'coder'),
      ],
    };
    expect(messages.filter(shows('workflow'))).toEqual([messageIn(conversation, { content })]);
    expect(conversation.shown('workflow')[0]).toMatchObject({ status: 'running' });
  });

  it('RES-065 shows each type with the fields of this type and no others', async () => {
    const all = await Promise.all(EXAMPLE_TYPES.map((type) => conversationWith(type)));
    const contents = all.flatMap(({ conversation, messages }) => [
      ...messages.map(({ content }) => content),
      ...CONTENT_TYPES.flatMap((type): MessageContent[] => conversation.shown(type)),
    ]);
    const seen = contents.map(({ type, ...content }) => ({
      type,
      fields: Object.keys(content)
        .filter((field) => field !== 'selected_action_id')
        .toSorted(),
    }));
    expect(seen).toEqual(seen.map(({ type }) => ({ type, fields: FIELDS[type] })));
    expect([...new Set(seen.map(({ type }) => type))].toSorted()).toEqual(CONTENT_TYPES.toSorted());
  });
}
