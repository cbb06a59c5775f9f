import type { BusEnvelope } from '@uswarm/contract';

/**
 * Envelopes of version 1. Release 0.2 rejects unknown events and unknown fields, so this file lists exactly the events and
 * fields that it knows. It is deleted with the last supported upgrade from release 0.2.
 */

/** The known fields of an object: with `true` any value, otherwise an object, a list or null. */
interface Shape {
  readonly [field: string]: true | Shape | ((value: Fields) => Fields | undefined);
}
type Fields = Record<string, unknown>;

const fields = (...names: string[]): Shape => Object.fromEntries(names.map((name) => [name, true]));

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Thrown for contents that release 0.2 does not know. */
class UnknownContent extends Error {}

function projected(value: unknown, rule: Shape[string]): unknown {
  if (rule === true || !isObject(value)) return value;
  if (Array.isArray(value)) return value.map((item) => projected(item, rule));
  if (typeof rule === 'function') return rule(value);
  const known = Object.entries(rule).filter(([name]) => value[name] !== undefined);
  return Object.fromEntries(known.map(([name, inner]) => [name, projected(value[name], inner)]));
}

const AGENT = fields('id', 'name', 'role', 'slug', 'avatar', 'status');
const ATTACHMENT = fields('id', 'url', 'type', 'name', 'size', 'mime_type', 'duration');
const MENTION = fields('agent_id', 'agent_name', 'offset', 'length');

const CONTENTS: Readonly<Record<string, Shape>> = {
  text: fields('type', 'text'),
  action_card: {
    ...fields('type', 'title', 'description', 'selected_action_id'),
    actions: fields('id', 'label', 'style'),
  },
  tool_status: fields('type', 'tool', 'description', 'state'),
  system: fields('type', 'text'),
  loading: fields('type'),
  delegation: { ...fields('type', 'status', 'task_preview'), from: AGENT, to: AGENT },
  artifact: fields('type', 'artifact_id', 'title', 'version', 'status', 'agent_slug', 'content_preview'),
  workflow: {
    ...fields('type', 'workflow_id', 'workflow_name', 'execution_id', 'status'),
    steps: fields('step_id', 'name', 'status', 'agent_slug', 'started_at', 'finished_at'),
  },
};

function content(value: Fields): Fields {
  const shape = CONTENTS[String(value['type'])];
  if (shape === undefined) throw new UnknownContent();
  return projected(value, shape) as Fields;
}

const MESSAGE: Shape = {
  ...fields('id', 'conversation_id', 'role', 'created_at', 'updated_at', 'local_id', 'status'),
  content,
  agent: AGENT,
  attachments: ATTACHMENT,
  mentions: MENTION,
};

const CONVERSATION: Shape = {
  ...fields('id', 'type', 'title', 'created_at', 'updated_at', 'unread_count'),
  agent: AGENT,
  last_message: MESSAGE,
};

const WORKSPACE: Shape = {
  ...fields('id', 'name', 'created_at', 'updated_at'),
  runtime: {
    ...fields('status', 'phase', 'verified', 'total_agents'),
    last_message_preview: fields('text', 'sender_name', 'timestamp'),
  },
};

const DURABLE = fields('workspace_id', 'seq');
const EPHEMERAL = fields('workspace_id');

const PAYLOADS: Readonly<Record<string, Shape>> = {
  'message.new': { ...DURABLE, message: MESSAGE },
  'message.updated': { ...DURABLE, message: MESSAGE },
  'message.done': { ...DURABLE, ...fields('message_id', 'conversation_id', 'agent_id', 'status') },
  'workspace.updated': { ...DURABLE, workspace: WORKSPACE },
  'conversation.new': { ...DURABLE, conversation: CONVERSATION },
  'conversation.updated': { ...DURABLE, conversation: CONVERSATION },
  'conversation.deleted': { ...DURABLE, ...fields('conversation_id') },
  'message.chunk': {
    ...EPHEMERAL,
    ...fields('message_id', 'conversation_id', 'agent_id', 'chunk', 'chunk_seq', 'generation'),
  },
  'agent.tool': { ...EPHEMERAL, ...fields('agent_id', 'conversation_id', 'tool', 'status', 'query', 'outcome') },
  'agent.status': { ...EPHEMERAL, ...fields('agent_id', 'status', 'conversation_id') },
  'agent.delegation': { ...EPHEMERAL, ...fields('message_id', 'conversation_id', 'status') },
};

/** Returns the envelope in version 1; undefined if release 0.2 cannot read it. */
export function toVersion1(envelope: BusEnvelope): object | undefined {
  if (envelope.kind === 'skip') return undefined;
  const { kind, workspace_id, event } = envelope;
  const shape = PAYLOADS[event];
  if (shape === undefined) return undefined;
  const order = kind === 'durable' ? { seq: envelope.seq } : { after_seq: envelope.after_seq };
  try {
    return { v: 1, kind, workspace_id, ...order, event, payload: projected(envelope.payload, shape) };
  } catch (error) {
    if (error instanceof UnknownContent) return undefined;
    throw error;
  }
}
