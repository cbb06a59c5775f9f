import type { Readable, Writable } from 'node:stream';
import type { AgentSummary } from '@uswarm/contract';
import type { ChatArguments } from './chat-arguments.js';
import { type Choices, createChoices } from './choices.js';
import { type ArtifactNumbers, createArtifactNumbers } from './commands.js';
import { createPromptedOutput, type PromptedOutput } from './prompted-output.js';
import { createJsonRenderer } from './render-json.js';
import { createTextRenderer } from './render-text.js';
import type { Output } from './output.js';
import type { Renderer } from './renderer.js';
import { oneLine, wantsColour } from './terminal-text.js';

export interface ChatIo {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable;
  env: Record<string, string | undefined>;
}

export const isTerminal = ({ stdin, stdout }: Pick<ChatIo, 'stdin' | 'stdout'>): boolean =>
  stdin.isTTY === true && stdout.isTTY === true;

/** The visible part of a chat, and the numbers with which the user refers to it. */
export interface ChatView {
  renderer: Renderer;
  choices: Choices;
  artifacts: ArtifactNumbers;
  nameAgents(agents: readonly AgentSummary[]): void;
  /** Where the output of commands is printed. */
  messages: Output;
  /** Where the prompt is printed. */
  prompt: Writable;
  prompting: PromptedOutput['prompting'];
}

export function createChatView(
  { json, message }: Pick<ChatArguments, 'json' | 'message'>,
  streams: ChatIo,
  workspaceId: string,
): ChatView {
  const { stdout, stderr, env } = streams;
  const agentNames = new Map<string, string>();
  const choices = createChoices();
  const artifacts = createArtifactNumbers();
  const out = createPromptedOutput(stdout);
  const openArtifact = (id: string): string =>
    message === undefined
      ? `/open ${artifacts.numberOf(id)}`
      : `GET /v1/workspaces/${workspaceId}/artifacts/${oneLine(id)}`;
  // Terminals without a known size report 0.
  const size = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  const canReplace = isTerminal(streams) && env['TERM'] !== 'dumb';
  const text = {
    out,
    colour: wantsColour(stdout, env),
    agentName: (id: string | undefined) => oneLine(agentNames.get(id ?? '') ?? 'agent'),
    choices,
    openArtifact,
    ...(canReplace ? { size } : {}),
  };
  return {
    renderer: json ? createJsonRenderer({ lines: stdout, notes: stderr, choices }) : createTextRenderer(text),
    choices,
    artifacts,
    nameAgents: (agents) => agents.forEach(({ id, name }) => agentNames.set(id, name)),
    messages: json ? stderr : out,
    prompt: json ? stderr : stdout,
    prompting: out.prompting,
  };
}
