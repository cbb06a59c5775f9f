import { styleText } from 'node:util';
import type { ListedMessage } from '@uswarm/contract';
import { CONTROLS_IN_LINES } from '@uswarm/service-kit';
import { contentText, type ServerEvent } from './turn.js';
import type { Output, Renderer } from './renderer.js';

export interface TextRendererOptions {
  out: Output;
  colour: boolean;
  agentName: (agentId: string | undefined) => string;
}

type Style = Parameters<typeof styleText>[0];

/** True on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function wantsColour(stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '';
}

/** Removes control characters except tabs and line breaks: an answer can quote untrusted text. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS_IN_LINES, '');
}

/** Writes a readable transcript. */
export function createTextRenderer({ out, colour, agentName }: TextRendererOptions): Renderer {
  const paint = (style: Style, text: string) => (colour ? styleText(style, text, { validateStream: false }) : text);
  /** The printed part of the answer; undefined before its first character. */
  let printed: { generation: number; text: string } | undefined;
  let inLine = false;
  let waiting = false;

  function line(text: string, style: Style = 'dim'): void {
    out.write(`${inLine ? '\n' : ''}${paint(style, printable(text))}\n`);
    inLine = false;
  }

  function show(agentId: string | undefined, generation: number, whole: string, restart: string): void {
    const text = printable(whole);
    if (printed !== undefined && (printed.generation !== generation || !text.startsWith(printed.text))) {
      line(restart);
      printed = undefined;
    }
    if (text === '' && printed === undefined) return;
    if (printed === undefined) out.write(`${paint('bold', printable(agentName(agentId)))}: `);
    out.write(text.slice(printed?.text.length ?? 0));
    printed = { generation, text };
    inLine = true;
  }

  return {
    note: (text) => line(`· ${text}`),
    workspace: ({ runtime }) => line(`· workspace: ${runtime.status} (${runtime.phase})`),
    history(messages) {
      for (const message of messages.toSorted((a, b) => (a.position < b.position ? -1 : 1))) {
        const { content } = message;
        const text = contentText(content);
        if (content.type === 'tool_status') line(`· ${content.tool} ${content.state}: ${content.description}`);
        else if (text !== undefined) out.write(`${paint('bold', printable(senderOf(message)))}: ${printable(text)}\n`);
      }
    },
    sent() {
      printed = undefined;
      waiting = true;
    },
    event(event) {
      const text = waiting ? progressText(event, agentName) : undefined;
      if (text !== undefined) line(`· ${text}`);
    },
    streamed: ({ agentId, generation, text }) => show(agentId, generation, text, '· the answer restarts'),
    answered({ agentId, text, outcome }) {
      show(agentId, printed?.generation ?? 0, text, '· final text:');
      if (inLine) out.write('\n');
      inLine = false;
      waiting = false;
      if (outcome === 'failed') line('The turn failed.', 'red');
    },
  };
}

function senderOf({ role, agent }: ListedMessage): string {
  if (role === 'user') return 'you';
  return agent?.name ?? role;
}

function progressText({ name, payload }: ServerEvent, agentName: (id: string) => string): string | undefined {
  if (name === 'agent.status') return `${agentName(payload.agent_id)} is ${payload.status}`;
  if (name === 'agent.tool') {
    const query = payload.query === undefined ? '' : `: ${payload.query}`;
    if (payload.status === 'running') return `${agentName(payload.agent_id)} uses ${payload.tool}${query}`;
    return `${payload.tool} ${payload.outcome ?? 'done'}${query}`;
  }
  if (name === 'message.new') return announcementText(payload.message.content);
  return undefined;
}

type Content = Extract<ServerEvent, { name: 'message.new' }>['payload']['message']['content'];

function announcementText(content: Content): string | undefined {
  if (content.type === 'delegation') {
    return `${content.from?.name ?? 'an agent'} asks ${content.to?.name ?? 'another'}: ${content.task_preview}`;
  }
  return content.type === 'system' ? content.text : undefined;
}
