import { parseJson } from './parse-json.js';

/** What a provider can have generated, and counted, before it notices that the connection is closed. */
export const TOKENS_IN_FLIGHT = 50;

/** More than providers bill for one image with the largest accepted size; Anthropic bills about 1,600. */
const IMAGE_TOKENS = 3_000;

/**
 * Words, single punctuation characters, and runs of digits, spaces and letters with diacritics, Greek or Cyrillic
 * letters.
 */
const RUNS = /[A-Z]?[a-z]+|[A-Z]+|\d+|\s+|[\u00c0-\u024f]+|[\u0370-\u03ff]+|[\u0400-\u052f]+|[^]/gu;
const CONSONANTS = /[bcdfghjklmnpqrstvwxz]{3,}/gi;

/** A short word is one token; unusual consonant sequences are several. */
function ofWord(word: string): number {
  const { length } = word;
  const tokens = length <= 7 ? 1 + Math.floor((length - 1) / 5) : length / 2.2;
  if (length <= 3) return tokens;
  return [...word.matchAll(CONSONANTS)].reduce((sum, [cluster]) => sum + cluster.length - 2, tokens);
}

function ofAscii(run: string, first: number, afterDigit: boolean): number {
  const { length } = run;
  if (/[a-z]$/i.test(run)) {
    // Hexadecimal numbers and id parts.
    if (afterDigit) return Math.ceil(length / 1.5);
    if (/[a-z]$/.test(run)) return ofWord(run);
    return length < 4 ? length : length / 2;
  }
  // Some tokenizers have a token per digit.
  if (first >= 0x30 && first <= 0x39) return length;
  if (first <= 0x20) return run === ' ' ? 0 : Math.ceil(length / 6);
  return 0.9;
}

/** Tokens per character; no script has more than one per UTF-8 byte. */
function ofOther(run: string, first: number): number {
  const { length } = run;
  // Latin letters with diacritics.
  if (first < 0x250) return length;
  if (first < 0x370) return 2;
  // Greek, Cyrillic.
  if (first < 0x400) return 1 + 0.9 * length;
  if (first < 0x530) return 1 + length / 2;
  // Armenian; Hebrew and Arabic; scripts of India, and Thai.
  if (first < 0x590) return 2;
  if (first < 0x700) return 1.3;
  if (first < 0xe80) return 1.8;
  const isEastAsian =
    (first >= 0x3000 && first <= 0x30ff) ||
    (first >= 0x4e00 && first <= 0x9fff) ||
    (first >= 0xac00 && first <= 0xd7af);
  if (isEastAsian) return 2.2;
  return first < 0x1_0000 ? 3 : 4;
}

/**
 * Estimates the tokens in a text. For text in common languages, code, identifiers and encoded data, the estimate is not
 * below the counts of the encodings cl100k and o200k, also if the text arrives in parts of whole tokens. For random
 * characters and some scripts, such as Sinhala, it can be up to a fifth too low. For English it is 1.6 to 1.7 times as
 * much.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let afterDigit = false;
  let afterOther = false;
  for (const [run] of text.matchAll(RUNS)) {
    const first = run.codePointAt(0) ?? 0;
    tokens += first < 0x80 ? ofAscii(run, first, afterDigit) : ofOther(run, first);
    // A space belongs to the next word in alphabets that tokenizers know well.
    if (afterOther && run === ' ') tokens += 1;
    afterDigit = first >= 0x30 && first <= 0x39;
    afterOther = first >= 0x530;
  }
  return text === '' ? 0 : Math.max(1, Math.ceil(tokens));
}

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

/** Tool results contain parts. */
const MAX_DEPTH = 2;

/** The message parts, with null in place of images. Tool arguments are not parts, so images in them stay text. */
function withoutImages(content: unknown, onImage: (image: JsonObject) => void, depth = 0): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) => {
    if (!isObject(part)) return part;
    if (part['type'] === 'image' || part['type'] === 'image_url') {
      onImage(part);
      return null;
    }
    if (part['type'] !== 'tool_result' || depth >= MAX_DEPTH) return part;
    return { ...part, content: withoutImages(part['content'], onImage, depth + 1) };
  });
}

/** Cache size in characters, enough for a few conversations. */
const KEPT_CHARACTERS = 256 * 1024;
const kept = new Map<string, number>();
let keptCharacters = 0;

/** As `estimateTokens`, for a request part: most messages, and the tools, were in the request before it. */
function estimateRepeated(part: string): number {
  const known = kept.get(part);
  if (known !== undefined) return known;
  const tokens = estimateTokens(part);
  if (part.length > KEPT_CHARACTERS) return tokens;
  kept.set(part, tokens);
  keptCharacters += part.length;
  for (const oldest of kept.keys()) {
    if (keptCharacters <= KEPT_CHARACTERS) break;
    kept.delete(oldest);
    keptCharacters -= oldest.length;
  }
  return tokens;
}

/** A chat completions or Messages request without its image data. */
export interface ImagelessRequest {
  /** The request, with null in place of images. */
  body: JsonObject;
  /** The images' estimated tokens, and the characters of their data. */
  images: { tokens: number; characters: number };
}

/** Images have no more levels. */
const MAX_IMAGE_DEPTH = 3;

function charactersOf(value: unknown, depth = 0): number {
  if (typeof value === 'string') return value.length;
  if (!isObject(value) || depth > MAX_IMAGE_DEPTH) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + charactersOf(part, depth + 1), 0);
}

/** Removes the data of images, of which a request can have many megabytes. */
export function withoutImageData(request: JsonObject): ImagelessRequest {
  const { messages } = request;
  const images = { tokens: 0, characters: 0 };
  if (!Array.isArray(messages)) return { body: request, images };
  const onImage = (image: JsonObject): void => {
    images.tokens += IMAGE_TOKENS;
    images.characters += charactersOf(image);
  };
  const texts = (messages as unknown[]).map((message) =>
    isObject(message) ? { ...message, content: withoutImages(message['content'], onImage) } : message,
  );
  return { body: { ...request, messages: texts }, images };
}

/** Estimates a request's prompt tokens. An image counts as `IMAGE_TOKENS`, whatever its size in bytes. */
export function estimateRequestTokens({ body, images }: ImagelessRequest): number {
  const { messages } = body;
  if (!Array.isArray(messages)) return estimateTokens(JSON.stringify(body));
  let tokens = images.tokens + estimateRepeated(JSON.stringify({ ...body, messages: [] }));
  // One more for the comma between two messages.
  for (const message of messages as unknown[]) tokens += 1 + estimateRepeated(JSON.stringify(message));
  return tokens;
}

/** Estimates the prompt tokens for a request's text; see `estimateRequestTokens`. */
export function estimatePromptTokens(text: string): number {
  const request = parseJson(text);
  if (!isObject(request) || !Array.isArray(request['messages'])) return estimateTokens(text);
  return estimateRequestTokens(withoutImageData(request));
}
