import { describe, expect, it } from '@jest/globals';
import { listedStatus, type MessageContent, type MessageStatus } from '@uswarm/contract';
import { applyEvent, applyHistory, newTurn, outcomeOf, type Turn, type ServerEvent } from './turn.js';

const id = (last: number) => `0192d3a4-0000-7000-8000-${String(last).padStart(12, '0')}`;
const conversation = id(1);
const workspace = id(2);
const question = id(10);
const answer = id(11);
const agent = { id: id(20), name: 'Manager', role: 'manager', slug: 'manager', avatar: '', status: 'busy' } as const;
const at = '2026-11-21T10:00:00.000Z';

interface MessageParts {
  id: string;
  content: MessageContent;
  role?: 'user' | 'agent';
  status?: MessageStatus;
  conversation_id?: string;
  local_id?: string | null;
  agent?: typeof agent | typeof other;
  rev?: number;
  position?: string;
}

function message({
  role = 'agent',
  status = 'pending',
  conversation_id = conversation,
  local_id = null,
  agent: from = agent,
  rev = 1,
  ...rest
}: MessageParts) {
  const sender = role === 'agent' ? from : null;
  return {
    ...rest,
    role,
    status: listedStatus(status),
    extended_status: status,
    conversation_id,
    local_id,
    agent: sender,
    attachments: [],
    mentions: [],
    created_at: at,
    updated_at: at,
    rev,
    position: rest.position ?? '0000000000000001b',
    error: null,
    edited_at: null,
  };
}

const loading = { type: 'loading' } as const;
const text = (value: string) => ({ type: 'text', text: value }) as const;
const envelope = { workspace_id: workspace, seq: 1 };
const created = (parts: MessageParts): ServerEvent => ({
  name: 'message.new',
  payload: { ...envelope, message: message(parts) },
});
const updated = (parts: MessageParts): ServerEvent => ({
  name: 'message.updated',
  payload: { ...envelope, message: message(parts) },
});
const done = (message_id: string, status: 'delivered' | 'failed'): ServerEvent => ({
  name: 'message.done',
  payload: { ...envelope, message_id, conversation_id: conversation, agent_id: agent.id, status, error: null },
});
const other = { ...agent, id: id(21), name: 'Researcher', role: 'sub-agent', slug: 'researcher' } as const;
const delegated = (last: number, status: 'running' | 'completed' | 'failed', from: MessageParts['agent'] = agent) => ({
  id: id(last),
  content: { type: 'delegation', from, to: other, status, task_preview: 'x' } as const,
  status: 'delivered' as const,
});
const workflow = (status: 'running' | 'completed' | 'failed' | 'cancelled'): MessageParts => ({
  id: id(50),
  content: {
    type: 'workflow',
    workflow_id: 'w',
    workflow_name: 'Tea',
    execution_id: 'e',
    status,
    steps: [],
  },
  status: 'delivered',
});
const card = (selected: string | null, status: 'delivered' | 'failed' = 'delivered'): MessageParts => ({
  id: id(60),
  content: {
    type: 'action_card',
    title: 'Which?',
    description: '',
    actions: [{ id: 'a', label: 'A', style: 'primary' }],
    selected_action_id: selected,
  },
  status,
});
/** The turn for action “A”, which was chosen after the message at position 5. */
const choiceOfA: Turn = { ...newTurn(conversation, undefined), choice: { label: 'A', after: '5' } };
const chosen = (last: number, value: string, position: string, local_id: string | null = null) =>
  ({ id: id(last), role: 'user', content: text(value), position, local_id }) as const;
/** Events of one whole reply. */
const reply = (last: number, status: MessageStatus = 'delivered', value = 'Because.'): ServerEvent[] => [
  created({ id: id(last), content: loading }),
  updated({ id: id(last), content: text(value), status }),
  done(id(last), status === 'failed' || status === 'incomplete' ? 'failed' : 'delivered'),
];
const turnAfter = (...events: ServerEvent[]): Turn => events.reduce(applyEvent, newTurn(conversation, 'local-1'));
const outcomeAfter = (...events: ServerEvent[]) => outcomeOf(turnAfter(...events));

describe('a turn that events update', () => {
  it('ends with its reply, after the acknowledgement', () => {
    const events: ServerEvent[] = [
      { name: 'message.send.ack', payload: { local_id: 'local-1', message_id: question, status: 'received' } },
      created({ id: question, role: 'user', content: text('Why?'), local_id: 'local-1' }),
      ...reply(11),
    ];
    expect(turnAfter(...events).messageId).toBe(question);
    expect(events.map((_, index) => outcomeAfter(...events.slice(0, index + 1)))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      'delivered',
    ]);
  });

  it.each(['failed', 'incomplete'] as const)('fails with a reply that ends as %s', (status) => {
    expect(outcomeAfter(...reply(11, status))).toBe('failed');
  });

  it('ignores replies that began before it', () => {
    expect(outcomeAfter(updated({ id: id(99), content: text('no') }), done(id(99), 'failed'))).toBeUndefined();
  });

  it('ignores messages of other conversations, users and tools', () => {
    const tool = { type: 'tool_status', tool: 't', description: '', state: 'running' } as const;
    const turn = turnAfter(
      created({ id: id(30), content: loading, conversation_id: id(31) }),
      created({ id: id(32), content: text('mine'), role: 'user' }),
      created({ id: id(33), content: tool }),
    );
    expect(turn.messageId).toBeUndefined();
    expect(outcomeOf(turn)).toBeUndefined();
  });

  it('waits for all replies', () => {
    const events = [created({ id: id(70), content: loading }), ...reply(11)];
    expect(outcomeAfter(...events)).toBeUndefined();
    expect(outcomeAfter(...events, done(id(70), 'delivered'))).toBe('delivered');
  });

  it('continues after a reply that hands over', () => {
    expect(outcomeAfter(...reply(11, 'delegated'))).toBeUndefined();
    expect(outcomeAfter(...reply(11, 'delegated'), ...reply(12))).toBe('delivered');
  });

  it('waits for delegations and the reply after them', () => {
    const events = [
      created({ id: answer, content: loading }),
      created(delegated(41, 'running')),
      created(delegated(42, 'running', other)),
      updated({ id: answer, content: text(''), status: 'silent' }),
      done(answer, 'delivered'),
    ];
    const ended = [...events, updated(delegated(42, 'failed', other)), updated(delegated(41, 'completed'))];
    expect(outcomeAfter(...events)).toBeUndefined();
    expect(outcomeAfter(...ended)).toBeUndefined();
    expect(outcomeAfter(...ended, ...reply(12))).toBe('delivered');
  });

  it('ends with the reply that contains the results of delegations', () => {
    const events = [
      created({ id: answer, content: loading }),
      created(delegated(41, 'running')),
      updated(delegated(41, 'completed')),
      updated({ id: answer, content: text('Together.'), status: 'delivered', rev: 2 }),
      done(answer, 'delivered'),
    ];
    expect(outcomeAfter(...events)).toBe('delivered');
  });

  it('ignores a state of a message that is older than the known one', () => {
    const events = [
      created({ id: answer, content: loading }),
      updated({ id: answer, content: text('Done.'), status: 'delivered', rev: 3 }),
      done(answer, 'delivered'),
      updated({ id: answer, content: loading, rev: 2 }),
    ];
    expect(turnAfter(...events).produced.get(answer)?.content).toEqual(text('Done.'));
  });

  it('ends if the user stopped it while it waited for delegations', () => {
    const turn = turnAfter(...reply(11, 'silent', ''), created(delegated(41, 'running')));
    expect(outcomeOf({ ...turn, stopped: true })).toBeUndefined();
    expect(outcomeOf({ ...applyEvent(turn, updated(delegated(41, 'failed'))), stopped: true })).toBe('delivered');
  });

  it('waits for the reply after delegations that take the place of the first one', () => {
    const events = [
      created({ id: answer, content: loading }),
      updated({ ...delegated(11, 'running'), rev: 2 }),
      created(delegated(42, 'running')),
    ];
    const ended = [...events, updated({ ...delegated(11, 'completed'), rev: 3 }), updated(delegated(42, 'failed'))];
    expect(outcomeAfter(...events)).toBeUndefined();
    expect(outcomeAfter(...ended)).toBeUndefined();
    expect(outcomeAfter(...ended, ...reply(12))).toBe('delivered');
    expect(outcomeOf({ ...turnAfter(...events), stopped: true })).toBeUndefined();
    expect(outcomeOf({ ...turnAfter(...ended), stopped: true })).toBe('delivered');
  });

  it('ends with a card that takes the place of the reply, also if the card is withdrawn', () => {
    const events = [created({ id: id(60), content: loading }), updated({ ...card(null), rev: 2 })];
    expect(outcomeAfter(...events.slice(0, 1))).toBeUndefined();
    expect(outcomeAfter(...events)).toBe('delivered');
    expect(outcomeAfter(...events, updated({ ...card(null, 'failed'), rev: 3 }))).toBe('delivered');
  });

  it('has not ended if the user stops it before anything is shown', () => {
    expect(outcomeOf({ ...turnAfter(), stopped: true })).toBeUndefined();
  });

  it('ends with an open card, because the user decides how it continues', () => {
    const events = [
      created({ id: answer, content: loading }),
      created(card(null)),
      ...reply(11, 'silent', '').slice(1),
    ];
    expect(outcomeAfter(...events)).toBe('delivered');
    expect(outcomeAfter(...events, created(delegated(41, 'running')))).toBe('delivered');
    expect(outcomeAfter(...events, created(delegated(41, 'running')), updated(card('a')))).toBeUndefined();
    expect(outcomeAfter(...events, created(delegated(41, 'running')), updated(card(null, 'failed')))).toBeUndefined();
  });

  it('waits for a workflow and the reply that reports it, unless it is cancelled or workflows are not awaited', () => {
    const events = [created({ id: answer, content: loading }), created(workflow('running')), ...reply(11).slice(1)];
    expect(outcomeAfter(...events)).toBeUndefined();
    expect(outcomeAfter(...events, updated(workflow('completed')))).toBeUndefined();
    expect(outcomeAfter(...events, updated(workflow('completed')), ...reply(12))).toBe('delivered');
    expect(outcomeAfter(...events, updated(workflow('cancelled')))).toBe('delivered');
    expect(outcomeOf(events.reduce(applyEvent, newTurn(conversation, 'local-1', false)))).toBe('delivered');
  });

  it('belongs to the choice of an action, which becomes a user message', () => {
    const turn = [
      created(chosen(70, 'A', '4')),
      created(chosen(71, 'B', '6')),
      created(chosen(72, 'A', '7', 'of another device')),
      created(chosen(10, 'A', '8')),
      created(chosen(73, 'A', '9')),
      ...reply(11),
    ].reduce(applyEvent, choiceOfA);
    expect(turn.messageId).toBe(question);
    expect(outcomeOf(turn)).toBe('delivered');
  });

  it('belongs to no message before it is known which action is chosen', () => {
    const turn = applyEvent(newTurn(conversation, undefined), created(chosen(10, 'A', '8')));
    expect(turn.messageId).toBeUndefined();
  });

  it.each([
    ['reply', answer],
    ['user message', question],
  ])('fails when the %s is deleted', (_what, message_id) => {
    const outcome = outcomeAfter(
      { name: 'message.send.ack', payload: { local_id: 'local-1', message_id: question, status: 'received' } },
      created({ id: answer, content: loading }),
      { name: 'message.deleted', payload: { ...envelope, conversation_id: conversation, message_id } },
      done(answer, 'delivered'),
    );
    expect(outcome).toBe('failed');
  });

  it('ignores the deletion of another message', () => {
    const deleted: ServerEvent = {
      name: 'message.deleted',
      payload: { ...envelope, conversation_id: conversation, message_id: id(98) },
    };
    expect(turnAfter(...reply(11), deleted)).toEqual(turnAfter(...reply(11)));
  });

  it('matches a rejection by local_id', () => {
    const rejection = (local_id: string): ServerEvent => ({
      name: 'message.send.error',
      payload: { local_id, error: 'Too many requests.', code: 'rate_limited', retryable: true, request_id: 'r' },
    });
    expect(turnAfter(rejection('other')).rejection).toBeUndefined();
    expect(turnAfter(rejection('local-1')).rejection).toMatchObject({ code: 'rate_limited' });
  });
});

describe('a turn that the history updates', () => {
  const asked = message({ id: question, role: 'user', content: text('Why?'), local_id: 'local-1', status: 'read' });
  const before = message({ id: id(5), content: text('An older answer.'), status: 'delivered' });
  const start = newTurn(conversation, 'local-1');

  it.each([
    ['delivered', 'delivered'],
    ['silent', 'delivered'],
    ['failed', 'failed'],
    ['incomplete', 'failed'],
  ] as const)('finds an answer that ended as %s during a disconnect', (status, outcome) => {
    const turn = applyHistory(start, [message({ id: answer, content: text('Because.'), status }), asked, before]);
    expect(turn.messageId).toBe(question);
    expect(outcomeOf(turn)).toBe(outcome);
  });

  it('finds the choice of an action', () => {
    const turn = applyHistory(choiceOfA, [
      message({ id: answer, content: text('Because.'), status: 'delivered' }),
      message({ ...chosen(10, 'A', '6'), status: 'read' }),
      before,
    ]);
    expect(turn.messageId).toBe(question);
    expect(outcomeOf(turn)).toBe('delivered');
  });

  it('does not belong to an earlier choice of an action with the same label', () => {
    const earlier = [
      message({ id: answer, content: text('Because.'), status: 'delivered' }),
      message({ ...chosen(10, 'A', '5'), status: 'read' }),
    ];
    expect(applyHistory(choiceOfA, earlier)).toBe(choiceOfA);
  });

  it('stays open while one of several answers is loading', () => {
    const later = message({ id: id(12), content: text('Another answer.'), status: 'delivered' });
    expect(outcomeOf(applyHistory(start, [later, message({ id: answer, content: loading }), asked]))).toBeUndefined();
  });

  it('orders messages by their creation, because tool messages are listed before their reply', () => {
    const first = { ...message({ id: answer, content: text(''), status: 'silent' }), position: 'c' };
    const task = { ...message({ ...delegated(41, 'completed') }), position: 'b' };
    expect(outcomeOf(applyHistory(start, [first, task, asked]))).toBeUndefined();
  });

  it('stays open when the user message is stored without an answer', () => {
    const turn = applyHistory(start, [asked, before]);
    expect(turn).toEqual({ ...start, messageId: question });
    expect(outcomeOf(turn)).toBeUndefined();
  });

  it('fails when the user message failed', () => {
    expect(outcomeOf(applyHistory(start, [{ ...asked, extended_status: 'failed' }]))).toBe('failed');
  });

  it('does not change when the user message was not stored', () => {
    expect(applyHistory(start, [before])).toBe(start);
  });
});
