import { styleText } from 'node:util';
import type { ListedMessage } from '@uswarm/contract';
import { wordsOf, type ServerEvent } from './reply.js';
import type { Output, Renderer } from './renderer.js';

export interface TextRendererOptions {
  out: Output;
  colour: boolean;
  agentName: (agentId: string | undefined) => string;
}

type Style = Parameters<typeof styleText>[0];

/** Whether to colour: on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function wantsColour(stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '';
}

/** A reply can quote anything from the web: only tabs and line breaks of the control characters reach the terminal. */
export function printable(text: string): string {
  return text.replace(/(?![\t\n])\p{Cc}/gu, '');
}

/** A transcript for people. */
export function createTextRenderer({ out, colour, agentName }: TextRendererOptions): Renderer {
  const paint = (style: Style, text: string) => (colour ? styleText(style, text, { validateStream: false }) : text);
  /** The reply as printed so far; undefined before its first character. */
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
        const text = wordsOf(content);
        if (content.type === 'tool_status') line(`· ${content.tool} ${content.state}: ${content.description}`);
        else if (text !== undefined) out.write(`${paint('bold', printable(speakerOf(message)))}: ${printable(text)}\n`);
      }
    },
    sent() {
      printed = undefined;
      waiting = true;
    },
    event(event) {
      const text = waiting ? descriptionOf(event, agentName) : undefined;
      if (text !== undefined) line(`· ${text}`);
    },
    streamed: ({ agentId, generation, text }) => show(agentId, generation, text, '· the reply starts again'),
    answered({ agentId, text, outcome }) {
      show(agentId, printed?.generation ?? 0, text, '· the final text:');
      if (inLine) out.write('\n');
      inLine = false;
      waiting = false;
      if (outcome === 'failed') line('The reply failed.', 'red');
    },
  };
}

function speakerOf({ role, agent }: ListedMessage): string {
  if (role === 'user') return 'you';
  return agent?.name ?? role;
}

/** What an event tells somebody who waits for a reply. */
function descriptionOf({ name, payload }: ServerEvent, agentName: (id: string) => string): string | undefined {
  if (name === 'agent.status') return `${agentName(payload.agent_id)} is ${payload.status}`;
  if (name === 'agent.tool') {
    const query = payload.query === undefined ? '' : `: ${payload.query}`;
    if (payload.status === 'running') return `${agentName(payload.agent_id)} uses ${payload.tool}${query}`;
    return `${payload.tool} ${payload.outcome ?? 'done'}${query}`;
  }
  if (name === 'message.new') return announcementOf(payload.message.content);
  return undefined;
}

type Content = Extract<ServerEvent, { name: 'message.new' }>['payload']['message']['content'];

function announcementOf(content: Content): string | undefined {
  if (content.type === 'delegation') {
    return `${content.from?.name ?? 'an agent'} asks ${content.to?.name ?? 'another'}: ${content.task_preview}`;
  }
  return content.type === 'system' ? content.text : undefined;
}
