import type { FunctionTool, PromptMessage } from '../models/port.js';
import type { Part, ToolOutput } from '../context/messages.js';

/**
 * Tokens per UTF-16 code unit outside ASCII, by the first code unit after each range. The values are above the counts
 * of common tokenizers, because a rejected prompt costs more than unused context.
 */
const RANGES: readonly (readonly [end: number, tokens: number])[] = [
  [0x0250, 1.1], // Latin letters with diacritics
  [0x0370, 1.2], // phonetic letters, combining marks
  [0x0400, 0.75], // Greek
  [0x0530, 0.47], // Cyrillic
  [0x0590, 0.55], // Armenian
  [0x0600, 0.85], // Hebrew
  [0x0780, 0.72], // Arabic
  [0x0900, 1.5],
  [0x0e00, 0.66], // scripts of India
  [0x0e80, 0.78], // Thai
  [0x10a0, 1.3],
  [0x1100, 0.75], // Georgian
  [0x1200, 1.3],
  [0x13a0, 2.2], // Ethiopic
  [0x2070, 1.3], // includes typographic punctuation
  [0x2500, 1.9], // signs and mathematics
  [0x25a0, 1], // lines and boxes, which occur in runs
  [0x2e80, 1.9], // symbols
  [0xa000, 1.05], // Chinese and Japanese
  [0xac00, 2],
  [0xd800, 1.1], // Hangul
  [0xe000, 1.25], // surrogates: half of an emoji or a rare character
  [0x10000, 1.1],
];

/** Code units per entry of `TOKENS`; all ranges end at a multiple of it. */
const BLOCK = 16;

/** Tokens per code unit, by block. Filled natively: a callback per block would be compiled at each start. */
const TOKENS = new Float64Array(0x10000 / BLOCK);
for (const [end, tokens] of RANGES.toReversed()) TOKENS.fill(tokens, 0, end / BLOCK);

const LETTERS_PER_TOKEN = 3.9;
/** Longer words are rarely in a vocabulary, such as compounds and encoded data. */
const LONG_WORD = 16;
const LETTERS_PER_TOKEN_OF_LONG_WORD = 1.8;
/** For a word without a space before it, as in `camelCase` and Base64. */
const JOINED_WORD = 0.6;

const isLower = (code: number): boolean => code >= 97 && code <= 122;
const isUpper = (code: number): boolean => code >= 65 && code <= 90;
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isBlank = (code: number): boolean => code === 32 || code === 9;
const isControl = (code: number): boolean => code < 32 && code !== 9;
const isPunctuation = (code: number): boolean =>
  code > 32 && code < 128 && !isLower(code) && !isUpper(code) && !isDigit(code);

/** The end of the character run that begins at `start`. */
function runEnd(text: string, start: number, belongs: (code: number) => boolean): number {
  let end = start;
  while (end < text.length && belongs(text.charCodeAt(end))) end += 1;
  return end;
}

function wordTokens(upper: number, lower: number): number {
  const length = upper + lower;
  if (upper > 1) return Math.max(1, upper / 2 + lower / LETTERS_PER_TOKEN);
  const common = Math.min(length, LONG_WORD) / LETTERS_PER_TOKEN;
  return Math.max(1, common + Math.max(0, length - LONG_WORD) / LETTERS_PER_TOKEN_OF_LONG_WORD);
}

/** Tokens of one run, and where it ends. `joined`: it follows a letter or digit. */
function runTokens(text: string, start: number, joined: boolean): { end: number; tokens: number } {
  const code = text.charCodeAt(start);
  if (isUpper(code) || isLower(code)) {
    const upperEnd = runEnd(text, start, isUpper);
    const end = runEnd(text, upperEnd, isLower);
    return { end, tokens: wordTokens(upperEnd - start, end - upperEnd) + (joined ? JOINED_WORD : 0) };
  }
  if (isDigit(code)) {
    const end = runEnd(text, start, isDigit);
    return { end, tokens: Math.ceil((end - start) / 2) };
  }
  if (isBlank(code)) {
    // A single space is part of the next word.
    const end = runEnd(text, start, isBlank);
    return { end, tokens: end - start > 1 ? 1 : 0 };
  }
  if (isControl(code)) return { end: runEnd(text, start, isControl), tokens: 1 };
  if (isPunctuation(code)) {
    const end = runEnd(text, start, isPunctuation);
    return { end, tokens: Math.ceil((end - start) / 2) };
  }
  return { end: start + 1, tokens: TOKENS[Math.floor(code / BLOCK)] ?? 1 };
}

/**
 * Estimates a text's tokens without a tokenizer, in one pass. The estimate is usually 1 to 2 times the true count. Not
 * rounded, so that estimates can be added: text that is joined with line breaks has at most the sum of its parts.
 */
export function estimateText(text: string): number {
  let tokens = 0;
  let joined = false;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    const run = runTokens(text, at, joined);
    tokens += run.tokens;
    joined = isUpper(code) || isLower(code) || isDigit(code);
    at = run.end;
  }
  return tokens;
}

/** Tokens for a role, or for the line breaks that join two texts in one message. */
export const MESSAGE_TOKENS = 6;
/** Names, ids and brackets around a tool, a call or a result. */
const CALL_TOKENS = 24;
/** Providers add instructions if a request has tools. */
const TOOL_INSTRUCTIONS = 350;
/** The largest images that common models accept. */
export const IMAGE_TOKENS = 2_000;

/** Estimates by object: a turn's results and tools are in each prompt, and never change. */
const known = new WeakMap<object, number>();

function once<Value extends object>(value: Value, estimate: (value: Value) => number): number {
  const before = known.get(value);
  if (before !== undefined) return before;
  const tokens = estimate(value);
  known.set(value, tokens);
  return tokens;
}

const estimateJson = (value: unknown): number => estimateText(JSON.stringify(value) ?? '');

/** Images count as a constant, other files by their size. */
function estimateFile(mediaType: string, data: unknown): number {
  return mediaType.startsWith('image') ? IMAGE_TOKENS : estimateJson(data);
}

/** Estimates a tool result, without its id and name. */
export const estimateOutput = (output: ToolOutput): number => once(output, outputTokens);

function outputTokens(output: ToolOutput): number {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return estimateText(output.value);
    case 'execution-denied':
      return estimateText(output.reason ?? '') + MESSAGE_TOKENS;
    case 'json':
    case 'error-json':
      return estimateJson(output.value);
    case 'content':
      return output.value.reduce((sum, part) => {
        if (part.type === 'text') return sum + estimateText(part.text);
        return sum + (part.type === 'file' ? estimateFile(part.mediaType, part.data) : estimateJson(part));
      }, 0);
  }
}

function estimatePart(part: Part): number {
  switch (part.type) {
    case 'text':
      return estimateText(part.text);
    case 'reasoning':
      // Signatures and encrypted reasoning are in the options.
      return estimateText(part.text) + estimateJson(part.providerOptions ?? '');
    case 'file':
    case 'reasoning-file':
      return estimateFile(part.mediaType, part.data);
    case 'tool-call':
      return (
        CALL_TOKENS + estimateText(part.toolName) + estimateJson(part.input) + estimateJson(part.providerOptions ?? '')
      );
    case 'tool-result':
      return CALL_TOKENS + estimateText(part.toolName) + estimateOutput(part.output);
    default:
      return estimateJson(part);
  }
}

/** Estimates a message's tokens, with its role. Not rounded. */
export function estimateMessage({ content, providerOptions }: PromptMessage): number {
  if (typeof content === 'string') return MESSAGE_TOKENS + estimateText(content);
  // Some providers want encrypted reasoning back as a message field.
  const replayed = estimateJson(providerOptions?.['openaiCompatible'] ?? '');
  return content.reduce((sum, part) => sum + estimatePart(part), MESSAGE_TOKENS + replayed);
}

/** Estimates the tokens for a request's tools. Not rounded. */
export const estimateTools = (tools: readonly FunctionTool[]): number => once(tools, toolsTokens);

function toolsTokens(tools: readonly FunctionTool[]): number {
  if (tools.length === 0) return 0;
  return tools.reduce((sum, tool) => {
    const { name, description = '', inputSchema } = tool;
    return sum + CALL_TOKENS + estimateText(name) + estimateText(description) + estimateJson(inputSchema);
  }, TOOL_INSTRUCTIONS);
}

/** Estimates the tokens in a request with `prompt` and `tools`. Not rounded. */
export function estimatePrompt(prompt: readonly PromptMessage[], tools: readonly FunctionTool[]): number {
  return prompt.reduce((sum, message) => sum + estimateMessage(message), estimateTools(tools));
}
