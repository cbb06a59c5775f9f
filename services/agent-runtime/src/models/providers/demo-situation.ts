import { untrustedText } from '@uswarm/service-kit';
import type { Prompt, PromptMessage } from '../port.js';

const CONTEXT_END = '\n</context>\n\n';
/** The runtime's messages to the model, which the user did not write. */
const NOTICE = /^(?:\[[^\]\n]+\]|Continue exactly where your text stopped\..*)$/;
/** A message of another agent, as the prompt quotes it. */
const QUOTED = /(?:^|\n\n)[^\n]+ wrote:\n<untrusted id="(\w+)" [^>]*>\n[\s\S]*?\n<\/untrusted id="\1">/g;
/** Place of a quoted message. */
const BREAK = '\u0000';
const MEMORIES = /^Your memories[^\n]*\n(<untrusted id="(\w+)" [^>]*>\n[\s\S]*?\n<\/untrusted id="\2">)/;
/** The task in the message that a sub-agent or a workflow step's agent receives. */
const TASK =
  /^You work on [\s\S]*?\n\nTask:\n([\s\S]*?)(?:\n\n(?:Expected result|Context|Results of earlier steps):\n|$)/;
const COLLEAGUE = /^- ([^\n]*?) \(@([\w-]+)(, manager)?\): /gm;

type ToolMessage = Extract<PromptMessage, { role: 'tool' }>;
type ToolResult = Extract<ToolMessage['content'][number], { type: 'tool-result' }>;

export interface Colleague {
  name: string;
  slug: string;
  isManager: boolean;
}

/** A tool result in this turn, without the untrusted block. */
export interface ReadResult {
  tool: string;
  text: string;
  failed: boolean;
}

/** The demo model's view of a request. */
export interface Situation {
  /** The user's last words, or a sub-agent's task. */
  question: string;
  /** The last paragraph of it, without mentions, politeness and final punctuation: what a scene matches. */
  words: string;
  /** True if the agent works on another agent's task. */
  isTask: boolean;
  /** True if another agent has replied to the question before. */
  followsAgent: boolean;
  /** Tool results in this turn, oldest first. */
  results: readonly ReadResult[];
  /** The text that the model has written in this turn. */
  said: string;
  /** Offered tools by name. */
  offered: readonly string[];
  /** Slug of the agent that the model speaks for. */
  self: string;
  colleagues: readonly Colleague[];
  /** The memories in the prompt, one per line. */
  memories: readonly string[];
}

export interface DemoRequest {
  prompt: Prompt;
  offered: readonly string[];
}

/** The last text in a user message. */
function textOf(message: PromptMessage | undefined): string {
  if (message?.role !== 'user') return '';
  const part = message.content.findLast(({ type }) => type === 'text');
  return part?.type === 'text' ? part.text : '';
}

/** The user's words, which follow the prompt's context block. */
function afterContext(text: string): string {
  const end = text.indexOf(CONTEXT_END);
  return end < 0 ? text : text.slice(end + CONTEXT_END.length);
}

const resultsOf = (message: PromptMessage): ToolResult[] =>
  message.role === 'tool' ? message.content.filter((part) => part.type === 'tool-result') : [];

function readResult({ toolName: tool, output }: ToolResult): ReadResult {
  if (output.type !== 'text' && output.type !== 'error-text') return { tool, text: '', failed: true };
  return { tool, text: untrustedText(output.value), failed: output.type === 'error-text' };
}

const saidIn = (message: PromptMessage): string =>
  message.role === 'assistant' ? message.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';

/** The request itself, such as "show me a card" in "@manager please show me a card!". */
export const wordsOf = (question: string): string =>
  (
    question
      .trim()
      .split(/\n\s*\n/)
      .at(-1) ?? ''
  )
    .trim()
    .replace(/^(?:@[\w-]+[\s,:]+)+/, '')
    .replace(/^(?:please|(?:can|could|would) you(?: please)?)[\s,]+/i, '')
    .replace(/[\s.!?]+$/, '');

function colleaguesIn(system: string): Colleague[] {
  return [...system.matchAll(COLLEAGUE)].map(([, name = '', slug = '', manager]) => ({
    name,
    slug,
    isManager: manager !== undefined,
  }));
}

function memoriesIn(prompt: Prompt): string[] {
  const block = MEMORIES.exec(textOf(prompt.find(({ role }) => role === 'user')))?.[1];
  return block === undefined ? [] : untrustedText(block).split('\n');
}

/** Reads a request. Pure. */
export function readSituation({ prompt, offered }: DemoRequest): Situation {
  const index = prompt.findLastIndex((message) => message.role === 'user' && !NOTICE.test(textOf(message)));
  const written = afterContext(textOf(prompt[index]));
  const parts = written
    .replaceAll(QUOTED, BREAK)
    .split(BREAK)
    .map((part) => part.trim());
  const task = TASK.exec(written)?.[1];
  const question = task ?? parts.findLast((part) => part !== '') ?? '';
  const turn = prompt.slice(index + 1);
  const [first] = prompt;
  const system = first?.role === 'system' ? first.content : '';
  return {
    question,
    words: wordsOf(question),
    isTask: task !== undefined,
    followsAgent: parts.length > 1 && parts.at(-1) === '',
    results: turn.flatMap(resultsOf).map(readResult),
    said: turn.map(saidIn).join(''),
    offered,
    self: /^You are [^\n]*?\(@([\w-]+)\)/.exec(system)?.[1] ?? '',
    colleagues: colleaguesIn(system),
    memories: memoriesIn(prompt),
  };
}
