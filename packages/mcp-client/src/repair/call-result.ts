import { fieldsOfType, isObject, type Json } from './json.js';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const text = (words: string): Json => ({ type: 'text', text: words });
const unreadable = (kind = 'content'): Json => text(`[${kind} that cannot be read]`);

/** Some servers break base64 into lines, or send a data URL. */
function base64Of(data: unknown): string | undefined {
  if (typeof data !== 'string') return undefined;
  const plain = data.replace(/^data:[^,]{0,200},/, '').replaceAll(/\s+/g, '');
  return BASE64.test(plain) && plain.length % 4 !== 1 ? plain : undefined;
}

function wordsOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function repairResource(resource: unknown): Json {
  if (!isObject(resource)) return unreadable('resource');
  const uri = typeof resource['uri'] === 'string' ? resource['uri'] : '';
  const base = { uri, ...fieldsOfType(resource, 'string', ['mimeType']) };
  if (typeof resource['text'] === 'string') return { type: 'resource', resource: { ...base, text: resource['text'] } };
  const blob = base64Of(resource['blob']);
  if (blob !== undefined) return { type: 'resource', resource: { ...base, blob } };
  return uri === '' ? unreadable('resource') : { type: 'resource_link', uri, name: uri };
}

/** Keeps what `toToolResult` uses. */
function repairBlock(block: unknown): Json {
  if (typeof block === 'string') return text(block);
  if (!isObject(block)) return unreadable();
  const { type, uri, name } = block;
  const words = wordsOf(block['text']);
  switch (type) {
    case 'text':
      return words === undefined ? unreadable('text') : text(words);
    case 'image':
    case 'audio': {
      const data = base64Of(block['data']);
      if (data === undefined) return unreadable(type);
      return { type, data, mimeType: typeof block['mimeType'] === 'string' ? block['mimeType'] : 'unknown' };
    }
    case 'resource_link':
      if (typeof uri !== 'string') return unreadable('link');
      return {
        type,
        uri,
        name: typeof name === 'string' ? name : uri,
        ...fieldsOfType(block, 'string', ['title', 'description', 'mimeType']),
      };
    case 'resource':
      return repairResource(block['resource']);
    default:
      if (words !== undefined) return text(words);
      return typeof type === 'string' ? text(`[content of type ${type}, which is not supported]`) : unreadable();
  }
}

function blocksOf(content: unknown): readonly unknown[] | undefined {
  if (Array.isArray(content)) return content;
  if (typeof content === 'string' || isObject(content)) return [content];
  return content === null || content === undefined ? [] : undefined;
}

/** Repairs a call's result block by block. One that has nothing to read stays as it is, and the SDK rejects it. */
export function repairCallResult(result: Json): Json {
  const { content, structuredContent: structured, isError, ...others } = result;
  const hasStructured = structured !== undefined && structured !== null;
  const blocks = blocksOf(content) ?? (hasStructured ? [] : undefined);
  if (blocks === undefined) return result;
  // Version 2026-07-28 allows any value, earlier ones only objects.
  const isAllowed = isObject(structured) || 'resultType' in result;
  return {
    ...others,
    content: blocks.map(repairBlock),
    ...(hasStructured ? { structuredContent: isAllowed ? structured : { result: structured } } : {}),
    ...(isError === true || isError === 'true' ? { isError: true } : {}),
  };
}
