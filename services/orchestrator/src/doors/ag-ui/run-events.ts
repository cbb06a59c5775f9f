import type { MessageContent, MessageData } from '@uswarm/contract';
import type { AnswerPart } from '../answer-text.js';
import type { ClientMessage, RunInput } from './request.js';

type Content<Type extends MessageContent['type']> = Extract<MessageContent, { type: Type }>;
type Owner = { subagentRunId?: string };
type Send = (event: { type: string; [field: string]: unknown }) => void;

/** Protocol version. */
const VERSION = '1.0';

/**
 * Writes a run's events. The protocol has no resumption, but clients send all their messages with each run. So a run
 * sends what the client lacks, and a text that differs from the client's replaces it.
 */
export function writeRun(send: Send, { threadId, runId, messages, resume = [] }: RunInput) {
  const run = { threadId, runId };
  /** The client's messages after the events that were sent. */
  const client = new Map(messages.map((message) => [message.id, { ...message }]));
  const openTexts = new Set<string>();
  const openTasks = new Set<string>();
  const endedTasks = new Set<string>();
  const openCalls = new Map<string, Owner>();
  const answeredCalls = new Set(messages.map(({ toolCallId }) => toolCallId));
  /** By message. */
  const activities = new Map<string, string>();

  function add(message: ClientMessage): ClientMessage {
    client.set(message.id, message);
    return message;
  }
  const assistant = (id: string): ClientMessage => client.get(id) ?? add({ id, role: 'assistant', content: '' });

  function openText(id: string, agent: MessageData['agent'], owner: Owner): void {
    if (openTexts.has(id)) return;
    openTexts.add(id);
    const fields = { ...(agent === null ? {} : { name: agent.slug }), ...owner };
    Object.assign(assistant(id), fields);
    send({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant', ...fields });
  }

  function writeText({ id, text, isFinal }: AnswerPart, { agent }: MessageData, owner: Owner): void {
    const had = client.get(id)?.content ?? '';
    const sent = typeof had === 'string' ? had : '';
    const continues = text.startsWith(sent);
    // An agent that begins again often writes the same: only the final text tells.
    if (!continues && !isFinal) return;
    if (text !== sent) {
      openText(id, agent, owner);
      assistant(id).content = text;
      if (continues) send({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: text.slice(sent.length) });
      else send({ type: 'MESSAGES_SNAPSHOT', messages: [...client.values()] });
    }
    if (isFinal && openTexts.delete(id)) send({ type: 'TEXT_MESSAGE_END', messageId: id });
  }

  function answerCall(id: string, content: string, owner: Owner): void {
    openCalls.delete(id);
    answeredCalls.add(id);
    const fields = { role: 'tool', toolCallId: id, content, ...owner };
    add({ id: `${id}-result`, ...fields });
    send({ type: 'TOOL_CALL_RESULT', messageId: `${id}-result`, ...fields });
  }

  function writeCall(id: string, { tool, description, state }: Content<'tool_status'>, owner: Owner): void {
    if (answeredCalls.has(id)) return;
    if (!openCalls.has(id)) {
      openCalls.set(id, owner);
      const isHeld = client.get(id)?.toolCalls !== undefined;
      const args = JSON.stringify({ description });
      send({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: tool, ...owner });
      // The client would append them to its own.
      if (!isHeld) send({ type: 'TOOL_CALL_ARGS', toolCallId: id, delta: args });
      send({ type: 'TOOL_CALL_END', toolCallId: id });
      const toolCalls = [{ id, type: 'function', function: { name: tool, arguments: args } }];
      if (!isHeld) Object.assign(assistant(id), { toolCalls, ...owner });
    }
    if (state !== 'running') answerCall(id, state, owner);
  }

  function writeActivity(id: string, { type, ...content }: MessageContent, owner: Owner): void {
    const text = JSON.stringify(content);
    if (activities.get(id) === text) return;
    activities.set(id, text);
    send({ type: 'ACTIVITY_SNAPSHOT', messageId: id, activityType: type, content, ...owner });
  }

  function writeTask(id: string, { to, status, task_preview: description }: Content<'delegation'>, parent = ''): void {
    if (endedTasks.has(id)) return;
    if (!openTasks.has(id)) {
      // An earlier run has shown it.
      if (resume.length > 0 && status !== 'running') return;
      openTasks.add(id);
      const isNested = openTasks.has(parent) || endedTasks.has(parent);
      const fields = { name: to?.slug ?? 'agent', description, ...(isNested ? { parentSubagentRunId: parent } : {}) };
      send({ type: 'SUBAGENT_STARTED', subagentRunId: id, ...fields });
    }
    if (status === 'running') return;
    openTasks.delete(id);
    endedTasks.add(id);
    if (status === 'failed') send({ type: 'SUBAGENT_ERROR', subagentRunId: id, message: 'The task failed.' });
    else send({ type: 'SUBAGENT_FINISHED', subagentRunId: id, outcome: { type: 'success' } });
  }

  /** A run must not end with anything open. */
  function close(isInterrupted: boolean): void {
    for (const messageId of openTexts) send({ type: 'TEXT_MESSAGE_END', messageId });
    for (const subagentRunId of openTasks) {
      if (isInterrupted) send({ type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'suspended' } });
      else send({ type: 'SUBAGENT_ERROR', subagentRunId, message: 'The task ended with the answer.' });
    }
    // Clients would think that they must execute them.
    if (!isInterrupted) for (const [id, owner] of openCalls) answerCall(id, 'failed', owner);
  }
  function finish(outcome: { type: string; interrupts?: object[] }): void {
    close(outcome.type === 'interrupt');
    send({ type: 'RUN_FINISHED', ...run, outcome });
  }

  return {
    start: () => send({ type: 'RUN_STARTED', ...run, protocolVersion: VERSION }),
    part(part: AnswerPart): void {
      const { id, message, taskId } = part;
      const owner = taskId === undefined ? {} : { subagentRunId: taskId };
      // It follows in the log, with its agent.
      if (message === undefined) return;
      const { content } = message;
      if (content.type === 'text' || content.type === 'loading') writeText(part, message, owner);
      else if (content.type === 'tool_status') writeCall(id, content, owner);
      else if (content.type !== 'action_card') {
        if (content.type === 'delegation') writeTask(id, content, taskId);
        writeActivity(id, content, owner);
      }
    },
    end: (cards: readonly MessageData[]): void =>
      finish(cards.length === 0 ? { type: 'success' } : { type: 'interrupt', interrupts: cards.map(interruptOf) }),
    /** The answer was stopped. */
    cancel: () => finish({ type: 'cancelled' }),
    fail: (code: string, message: string) => send({ type: 'RUN_ERROR', code, message }),
  };
}

/** A card, with the schema of its answer. */
function interruptOf({ id, content }: MessageData): object {
  const { type: _, selected_action_id: _open, ...card } = content as Content<'action_card'>;
  const { title, description, actions, form, expires_at: expiresAt } = card;
  const isApproval = ['approve', 'deny'].every((wanted) => actions.some((action) => action.id === wanted));
  const choices = actions.map((action) => ({ const: action.id, title: action.label }));
  const values = form?.map(({ name, label }) => [name, { type: 'array', items: { type: 'string' }, title: label }]);
  const properties = isApproval
    ? { approved: { type: 'boolean' } }
    : {
        action_id: { type: 'string', oneOf: choices },
        ...(values === undefined ? {} : { values: { type: 'object', properties: Object.fromEntries(values) } }),
      };
  return {
    id,
    reason: isApproval ? 'confirmation' : 'input_required',
    message: [title, description].filter(Boolean).join('\n\n'),
    responseSchema: { type: 'object', properties, required: [isApproval ? 'approved' : 'action_id'] },
    ...(expiresAt === undefined ? {} : { expiresAt }),
    metadata: { card },
  };
}
