import {
  type AgentStatus,
  listedStatus,
  type MessageContent,
  type MessageData,
  type MessageStatus,
} from '@uswarm/contract';
import { checkServerEvent } from '@uswarm/contract/checks';
import { createChoices } from '../src/choices.js';
import { createTextRenderer } from '../src/render-text.js';
import type { Renderer } from '../src/renderer.js';
import type { ServerEvent } from '../src/turn.js';
import { agent, conversationId, id, message, textContent, workspaceId } from './script.js';

const question = {
  workspace_id: 'w',
  conversation_id: 'c',
  local_id: 'l',
  content: { type: 'text', text: 'Why?' },
  mentions: [],
  attachments: [],
};
const agentNamed = (last: number, name: string) =>
  ({ id: id(last), name, role: 'sub-agent', slug: name.toLowerCase(), avatar: '', status: 'online' }) as const;
export const manager = { ...agent, status: 'online' } as const;
export const researcher = agentNamed(21, 'Researcher');
export const writer = agentNamed(22, 'Writer');

interface Options {
  colour?: boolean;
  /** Terminal columns. */
  columns?: number;
}

export function transcript(play: (renderer: Renderer) => void, { colour = false, columns }: Options = {}): string {
  let written = '';
  const renderer = createTextRenderer({
    out: { write: (text) => void (written += text) },
    colour,
    agentName: (agentId) => [manager, researcher, writer].find((one) => one.id === agentId)?.name ?? 'agent',
    choices: createChoices(),
    openArtifact: () => '/open 1',
    ...(columns === undefined ? {} : { size: () => ({ columns, rows: 24 }) }),
  });
  renderer.history(conversationId, []);
  play(renderer);
  return written;
}

/** The visible terminal content: applies "move up" and "clear below". */
export function shownOn(output: string): string[] {
  let lines = [''];
  for (const part of output.split(/(\u001b\[\d+F\u001b\[J)/)) {
    const up = /^\u001b\[(\d+)F/.exec(part)?.[1];
    if (up === undefined) {
      const [first = '', ...others] = part.split('\n');
      lines = [...lines.slice(0, -1), `${lines.at(-1)}${first}`, ...others];
    } else lines = [...lines.slice(0, lines.length - 1 - Number(up)), ''];
  }
  return lines.slice(0, -1);
}

/** `status` is the exact one. */
type LiveParts = Omit<Partial<MessageData>, 'status'> & { status?: MessageStatus };

/** A checked event about a message. */
function event(
  name: 'message.new' | 'message.updated',
  { status: exact = 'delivered', ...parts }: LiveParts,
): ServerEvent {
  const live = message({ ...parts, status: listedStatus(exact), extended_status: exact });
  const payload = { workspace_id: workspaceId, seq: 1, message: live };
  checkServerEvent(name, payload);
  return { name, payload } as ServerEvent;
}
export const created = (last: number, content: MessageContent, more: LiveParts = {}): ServerEvent =>
  event('message.new', { id: id(last), content, ...more });
export const updated = (last: number, content: MessageContent, more: LiveParts = {}): ServerEvent =>
  event('message.updated', { id: id(last), content, ...more });
export const loading = created(11, { type: 'loading' }, { status: 'pending' });
export const chunk = (
  text: string,
  chunk_seq: number,
  more: { generation?: number; last?: number } = {},
): ServerEvent => ({
  name: 'message.chunk',
  payload: {
    workspace_id: workspaceId,
    message_id: id(more.last ?? 11),
    conversation_id: conversationId,
    agent_id: agent.id,
    chunk: text,
    chunk_seq,
    generation: more.generation ?? 1,
  },
});
export function ended(
  text: string,
  status: MessageStatus,
  error: MessageData['error'] = null,
  last = 11,
): ServerEvent[] {
  const failed = status === 'failed' || status === 'incomplete';
  return [
    updated(last, textContent(text), { status, error }),
    {
      name: 'message.done',
      payload: {
        workspace_id: workspaceId,
        seq: 2,
        message_id: id(last),
        conversation_id: conversationId,
        agent_id: agent.id,
        status: failed ? 'failed' : 'delivered',
        error,
      },
    },
  ];
}
export const deleted = (message_id: string): ServerEvent => ({
  name: 'message.deleted',
  payload: { workspace_id: workspaceId, seq: 3, conversation_id: conversationId, message_id },
});
export const status = (value: AgentStatus, agent_id: string = agent.id): ServerEvent => ({
  name: 'agent.status',
  payload: { workspace_id: workspaceId, agent_id, status: value },
});
export const tool = (payload: object): ServerEvent => ({
  name: 'agent.tool',
  payload: {
    workspace_id: workspaceId,
    agent_id: agent.id,
    conversation_id: conversationId,
    tool: 'web_search_tool',
    status: 'running',
    ...payload,
  },
});
export const turn = (...events: ServerEvent[]): ((renderer: Renderer) => void) => {
  return (renderer) => {
    renderer.sent(question);
    for (const one of events) renderer.event(one);
  };
};
