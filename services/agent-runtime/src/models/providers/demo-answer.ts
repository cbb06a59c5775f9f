import { ACTION_CARD_TOOL, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { untrustedText } from '../../tools/untrusted-block.js';
import type { Prompt, PromptMessage } from '../port.js';

const LABEL = '[demo]';
const MAX_QUERY = 400;
const CONTEXT_END = '\n</context>\n\n';

const DEMO_NOTICE =
  'This is the demo model: it only repeats the question and uses the search tool for real. ' +
  'For real answers set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL and start again.';

type ToolMessage = Extract<PromptMessage, { role: 'tool' }>;
type ToolResult = Extract<ToolMessage['content'][number], { type: 'tool-result' }>;

/** The next step of the demo model: a tool call or an answer. */
export type DemoMove = { tool: string; input: Record<string, unknown> } | { answer: string };

const CARD = {
  title: 'How should we continue?',
  description: `${LABEL} Choose one of these options.`,
  actions: [
    { label: 'Continue', style: 'primary' },
    { label: 'Start over', style: 'secondary' },
    { label: 'Cancel', style: 'destructive' },
  ],
};

/** The words of the user, which follow the context block of the prompt. */
function questionOf(message: PromptMessage | undefined): string {
  if (message?.role !== 'user') return '';
  const part = message.content.findLast(({ type }) => type === 'text');
  const text = part?.type === 'text' ? part.text : '';
  const end = text.indexOf(CONTEXT_END);
  return end < 0 ? text : text.slice(end + CONTEXT_END.length);
}

const resultsOf = (message: PromptMessage): ToolResult[] =>
  message.role === 'tool' ? message.content.filter((part) => part.type === 'tool-result') : [];

/** The result without the untrusted block. */
function readResult({ output }: ToolResult): { text: string; failed: boolean } {
  if (output.type !== 'text' && output.type !== 'error-text') return { text: '', failed: true };
  return { text: untrustedText(output.value), failed: output.type === 'error-text' };
}

function asksForSearch(text: string): boolean {
  return /search|look up|find|sources|web/i.test(text);
}

function asksForOptions(text: string): boolean {
  return /\b(?:options|choices|action[ _-]card)\b/i.test(text);
}

/** The topic of a request such as "Search the web for … and answer with sources". */
export function topicOf(text: string): string {
  const bare = text
    .trim()
    .replace(/^(?:@[\w-]+[\s,:]+)+/, '')
    .replace(
      /^(?:please\s+)?(?:(?:search|look)(?:\s+(?:on\s+)?(?:the\s+)?(?:web|internet|online))?(?:\s+(?:for|up))?|find(?:\s+sources)?(?:\s+(?:for|on|about))?)\b[\s:]*/i,
      '',
    )
    .replace(/[\s,;]*\b(?:and|then)\s+(?:answer|reply|respond)\b.*\bsources?\b.*$/is, '')
    .trim();
  return (bare || text.trim()).slice(0, MAX_QUERY);
}

interface Source {
  title: string;
  url: string;
}

function isSource(value: unknown): value is Source {
  if (typeof value !== 'object' || value === null) return false;
  return 'title' in value && typeof value.title === 'string' && 'url' in value && typeof value.url === 'string';
}

interface SearchOutcome {
  failed: boolean;
  sources: Source[];
  /** Remarks of the tool. */
  notes: string[];
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const listOf = <T>(value: unknown, isEntry: (entry: unknown) => entry is T): T[] =>
  Array.isArray(value) ? value.filter(isEntry) : [];

const isText = (value: unknown): value is string => typeof value === 'string';

/** Parses the result of the search tool. Other text has no sources. */
export function readSearchOutcome(text: string): SearchOutcome {
  const { status, results, notes } = parseObject(text);
  return { failed: status === 'upstream_failed', sources: listOf(results, isSource), notes: listOf(notes, isText) };
}

function answerFromTool(result: ToolResult): string {
  const { toolName: name } = result;
  const { text, failed } = readResult(result);
  if (name === ACTION_CARD_TOOL) return failed ? `${LABEL} ${text}` : `${LABEL} Please choose.`;
  if (failed) return `${LABEL} The search failed: ${text}`;
  const outcome = readSearchOutcome(text);
  const notes = outcome.notes.join(' ');
  if (outcome.failed) return `${LABEL} The search failed: ${notes || text}`;
  if (outcome.sources.length === 0) return `${LABEL} The search found nothing. Notes: ${notes || text}`;
  const list = outcome.sources.map(({ title, url }, index) => `${index + 1}. ${title} - ${url}`).join('\n');
  return [`${LABEL} The search found these sources:`, list, ...(notes === '' ? [] : [notes]), DEMO_NOTICE].join('\n\n');
}

export interface DemoRequest {
  prompt: Prompt;
  /** Names of the tools. */
  offered: readonly string[];
}

/** Depends only on the request, so equal requests get equal answers. */
export function demoMove({ prompt, offered }: DemoRequest): DemoMove {
  const index = prompt.findLastIndex(({ role }) => role === 'user');
  const question = questionOf(prompt[index]);
  const result = prompt
    .slice(index + 1)
    .flatMap(resultsOf)
    .at(-1);
  if (result !== undefined) return { answer: answerFromTool(result) };
  const wanted = asksForSearch(question);
  if (wanted && offered.includes(WEB_SEARCH_TOOL)) {
    return { tool: WEB_SEARCH_TOOL, input: { query: topicOf(question) } };
  }
  if (asksForOptions(question) && offered.includes(ACTION_CARD_TOOL)) return { tool: ACTION_CARD_TOOL, input: CARD };
  const note = wanted ? `\n\n${WEB_SEARCH_TOOL} is not available to this agent, so nothing was searched.` : '';
  return { answer: `${LABEL} You asked: ${question}${note}\n\n${DEMO_NOTICE}` };
}
