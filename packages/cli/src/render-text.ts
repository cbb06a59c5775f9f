import type { MessageData, ServerEventPayload, Workspace } from '@uswarm/contract';
import { WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import type { Choices } from './choices.js';
import { artifactLine, cardLines, toolLine, transcriptLines } from './content-lines.js';
import { createProgress } from './progress.js';
import type { Output } from './output.js';
import type { Renderer } from './renderer.js';
import { createReplies } from './replies.js';
import { createScreen } from './screen.js';
import { createPaint, oneLine, printable } from './terminal-text.js';
import { contentText, inCreationOrder, isOpenCard, isReply, type ServerEvent } from './turn.js';

export interface TextRendererOptions {
  out: Output;
  colour: boolean;
  agentName: (agentId: string | undefined) => string;
  /** Terminal size; undefined if the output is not one: then nothing is replaced. */
  size?: () => { columns: number; rows: number };
  choices: Choices;
  /** How the user opens an artifact. */
  openArtifact: (artifactId: string) => string;
}

/** The agents that show something other than a reply between the user messages around a message. */
function agentsShowing(ordered: readonly MessageData[], index: number): ReadonlySet<string | undefined> {
  const start = ordered.findLastIndex(({ role }, at) => at <= index && role === 'user');
  const next = ordered.findIndex(({ role }, at) => at > index && role === 'user');
  const between = ordered.slice(start + 1, next === -1 ? ordered.length : next);
  return new Set(between.flatMap(({ content, agent }) => (isReply(content) ? [] : [agent?.id])));
}

const NO_TERMINAL = () => ({ columns: 80, rows: 24 });

/** Writes a readable transcript. */
export function createTextRenderer(options: TextRendererOptions): Renderer {
  const { out, colour, agentName, size, choices, openArtifact } = options;
  const paint = createPaint(colour);
  const screen = createScreen(out, paint, size ?? NO_TERMINAL);
  let conversation: string | undefined;
  /** True while a turn runs. */
  let waiting = false;
  /** Rendered revisions by message id. */
  const known = new Map<string, number>();
  /** Messages rendered since the user's last one. */
  let ofTurn = new Set<string>();
  /** Last lines by message. */
  const lines = new Map<string, string>();
  /** Local ids that this chat has sent. */
  const own = new Set<string>();
  /** Chosen labels, which come back as user messages. */
  const chosenLabels: string[] = [];
  /** True while earlier messages are rendered. */
  let isListing = false;
  let workspaceLine: string | undefined;
  /** The agents that do something. */
  const active = new Set<string>();
  const progress = createProgress(screen, () => size !== undefined && waiting);

  const nameOf = ({ agent, role }: MessageData): string => oneLine(agent?.name ?? (role === 'user' ? 'you' : role));
  const replies = createReplies({ screen, paint, nameOf, streams: () => waiting });

  /** Prints a message's lines unless they are its last ones. */
  function print(id: string, text: readonly string[], style: 'dim' | 'yellow' | 'red' = 'dim'): void {
    const all = text.join('\n');
    if (lines.get(id) === all) return;
    lines.set(id, all);
    for (const line of text) screen.line(line, style);
  }

  function fromUser({ local_id: localId, content }: MessageData): void {
    progress.forgetEnded();
    const text = contentText(content) ?? '';
    const chosen = localId === null ? chosenLabels.indexOf(text) : -1;
    if (chosen >= 0) chosenLabels.splice(chosen, 1);
    if (chosen >= 0 || (localId !== null && own.has(localId))) return;
    screen.stream(`${paint('bold', 'you')}: ${printable(text)}`);
    screen.endLine();
  }

  function card(message: MessageData, content: MessageData['content'] & { type: 'action_card' }): void {
    const open = choices.update(message);
    const isQuestion = content.form !== undefined && isOpenCard(content, message.extended_status);
    const chosen = content.actions.find(({ id }) => id === content.selected_action_id);
    const before = lines.get(message.id);
    print(message.id, cardLines(content, open, isQuestion), open.length > 0 || isQuestion ? 'yellow' : 'dim');
    // Listed again after missed events, it is the same choice.
    if (chosen !== undefined && content.form === undefined && before !== undefined && before !== lines.get(message.id))
      chosenLabels.push(chosen.label);
  }

  /** Renders a new or changed message. */
  function render(message: MessageData): void {
    const { id, content, role, rev = 0 } = message;
    const isNew = !known.has(id);
    // Events and responses can arrive in any order.
    if (rev < (known.get(id) ?? 0)) return;
    known.set(id, rev);
    ofTurn.add(id);
    if (role === 'user') {
      if (isNew) fromUser(message);
      return print(id, transcriptLines(message));
    }
    if (content.type === 'system') return print(id, [`· ${oneLine(content.text)}`]);
    if (content.type === 'loading' || content.type === 'text') return replies.update(message);
    // A card or a delegation can replace the agent's reply.
    replies.remove(id);
    replies.shown(message.agent?.id);
    switch (content.type) {
      case 'tool_status':
        // Its events show it, which name the query.
        if (content.tool === WEB_SEARCH_TOOL && !isListing) return;
        return print(id, [`· ${toolLine(nameOf(message), content)}`]);
      case 'action_card':
        return card(message, content);
      case 'delegation':
        return progress.delegation(id, content);
      case 'artifact':
        return print(id, [artifactLine(content, openArtifact(content.artifact_id))]);
      case 'workflow':
        return progress.workflow(id, content);
    }
  }

  /**
   * Renders a listed message. `shownBy`: the agents that have shown something other than replies to the same user
   * message.
   */
  function renderListed(message: MessageData, shownBy: ReadonlySet<string | undefined>): void {
    render(message);
    if (shownBy.has(message.agent?.id)) replies.shown(message.agent?.id);
    if (message.extended_status !== 'pending') replies.end(message.id, 'delivered');
  }

  function workspace({ runtime }: Workspace): void {
    const line = `workspace: ${runtime.status} (${runtime.phase})`;
    if (line !== workspaceLine) screen.line(`· ${line}`);
    workspaceLine = line;
  }

  function status({ agent_id: agentId, status: value }: ServerEventPayload<'agent.status'>): void {
    const wasActive = active.delete(agentId);
    const isActive = value !== 'online' && value !== 'pending' && value !== 'offline';
    if (isActive) active.add(agentId);
    // The workspace line shows for all agents whether their runtime is ready.
    else if (!wasActive || value !== 'online') return;
    // Other agents must not interrupt a text.
    if (waiting && !replies.isStreaming && !progress.shows(agentId)) screen.line(`· ${agentName(agentId)} is ${value}`);
  }

  function tool({
    agent_id: agentId,
    tool: name,
    query,
    status: state,
    outcome = 'completed',
  }: ServerEventPayload<'agent.tool'>): void {
    if (!waiting || name !== WEB_SEARCH_TOOL) return;
    const about = query === undefined ? '' : `: ${oneLine(query)}`;
    const what = state === 'running' ? `${agentName(agentId)} uses ${oneLine(name)}` : `${oneLine(name)} ${outcome}`;
    screen.line(`· ${what}${about}`);
  }

  /** Texts that are being streamed at the time of a subscription. */
  function streams({ state = {} }: ServerEventPayload<'workspace.subscribed'>): void {
    for (const [workspaceId, { streams: texts }] of Object.entries(state)) {
      for (const { text, ...stream } of texts)
        replies.chunk({ workspace_id: workspaceId, ...stream, chunk: text, offset: 0 });
    }
  }

  function deleted(id: string): void {
    known.set(id, Infinity);
    choices.remove(id);
    progress.remove(id);
    replies.remove(id);
    if ((lines.get(id) ?? '') !== '') screen.line('· a message was deleted');
    lines.delete(id);
  }

  function event({ name, payload }: ServerEvent): void {
    switch (name) {
      case 'agent.status':
        return status(payload);
      case 'agent.tool':
        return tool(payload);
      case 'workspace.updated':
        if (waiting && !replies.isStreaming) workspace(payload.workspace);
        break;
      case 'message.new':
      case 'message.updated':
        if (payload.message.conversation_id === conversation) render(payload.message);
        break;
      case 'workspace.subscribed':
        return streams(payload);
      case 'message.chunk':
        return replies.chunk(payload);
      case 'message.done':
        return replies.end(payload.message_id, payload.status);
      case 'message.deleted':
        if (payload.conversation_id === conversation) deleted(payload.message_id);
    }
  }

  return {
    note: (text) => screen.line(`· ${text}`),
    workspace,
    history(conversationId, messages) {
      conversation = conversationId;
      isListing = true;
      const ordered = messages.toSorted((a, b) => (a.position < b.position ? -1 : 1));
      for (const [index, message] of ordered.entries()) renderListed(message, agentsShowing(ordered, index));
      isListing = false;
    },
    sent({ local_id: localId }) {
      own.add(localId);
      ofTurn = new Set();
      waiting = true;
    },
    printed: () => ({
      ...replies.printed(ofTurn),
      lines: [...lines].filter(([id]) => ofTurn.has(id)),
      ended: progress.ended().filter((id) => ofTurn.has(id)),
    }),
    resume(localId, printed) {
      own.add(localId);
      for (const [id, text] of printed.lines) lines.set(id, text);
      for (const id of [...printed.finished, ...printed.lines.map(([each]) => each), ...printed.ended]) ofTurn.add(id);
      replies.resume(printed);
      progress.resume(printed.ended);
      waiting = true;
    },
    chosen() {
      waiting = true;
    },
    event,
    messages(messages, firstId) {
      const ordered = inCreationOrder(messages);
      const first = ordered.findIndex(({ id }) => id === firstId);
      for (const [index, message] of ordered.entries()) {
        const isNew = first >= 0 && index >= first;
        if (isNew || known.has(message.id)) renderListed(message, agentsShowing(ordered, index));
      }
    },
    settled() {
      progress.settle();
      waiting = false;
    },
  };
}
