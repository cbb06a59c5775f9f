import type { ModelServerRequest } from './model-script.js';

const CJK = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}`;
const PIECES = new RegExp(
  String.raw` ?\p{Script=Latin}+|[${CJK}]+| ?[\p{L}\p{M}]+?(?![\p{L}\p{M}])| ?\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]+|\s+`,
  'gu',
);
const TOKENS_PER_MESSAGE = 4;
/** Characters per token, about as in the encoding o200k_base. */
const LENGTHS = { word: 6, mixedCase: 2, cjk: 1.4, letters: 4 };
const BYTES_PER_TOKEN = 2;

function tokensOf(piece: string): number {
  const bare = piece.trim();
  const { length } = bare;
  if (length === 0) return 1;
  if (/^\p{Script=Latin}/u.test(bare)) {
    return Math.ceil(length / (/.\p{Lu}/u.test(bare) ? LENGTHS.mixedCase : LENGTHS.word));
  }
  if (/^\p{N}/u.test(bare)) return 1;
  if (new RegExp(`^[${CJK}]`, 'u').test(bare)) return Math.ceil(length / LENGTHS.cjk);
  if (/^[\p{L}\p{M}]/u.test(bare)) return Math.ceil(length / LENGTHS.letters);
  return Math.ceil(Buffer.byteLength(bare) / BYTES_PER_TOKEN);
}

/**
 * Counts a text's tokens, about as many as common tokenizers: a word is one token or a few, as are three digits and two
 * punctuation marks.
 */
export const countTokens = (text: string): number =>
  (text.match(PIECES) ?? []).reduce((sum, piece) => sum + tokensOf(piece), 0);

/** Tokens in messages and tools. */
export function countPromptTokens({ messages, tools = [] }: ModelServerRequest): number {
  const ofMessages = messages.map(({ role: _role, content, tool_calls = [] }) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
    const calls = tool_calls.map((call) => countTokens(`${call.function.name} ${call.function.arguments}`));
    return TOKENS_PER_MESSAGE + countTokens(text) + calls.reduce((sum, count) => sum + count, 0);
  });
  const ofTools = tools.map((tool) => countTokens(JSON.stringify(tool.function)));
  return [...ofMessages, ...ofTools].reduce((sum, count) => sum + count, 0);
}
