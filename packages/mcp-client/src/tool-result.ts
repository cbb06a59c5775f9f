import type { CallToolResult } from '@modelcontextprotocol/client';
import { capped, visibleJson, visibleText } from '@uswarm/service-kit';

/** A part in a tool result. Image data is base64. */
export type ToolPart =
  | { type: 'text'; text: string }
  | { type: 'image'; mediaType: string; data: string }
  | { type: 'link'; uri: string; name: string };

/** Tool result. Text, names and addresses are untrusted data, whichever tool returned them. */
export interface ToolResult {
  /** The whole result in words; images and links are described. */
  text: string;
  failed: boolean;
  /** The same with its images and links; absent if it has none. */
  parts?: readonly ToolPart[];
}

/** Text bytes in a tool result for a model. */
export const MAX_RESULT_BYTES = 64 * 1024;
const MAX_IMAGES = 4;
/** Bytes after decoding. */
const MAX_IMAGE_BYTES = 1024 * 1024;
/** Image types that models accept. */
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const MAX_LINK_CHARACTERS = 2_000;

type Block = CallToolResult['content'][number];

const oneLine = (text: string): string => visibleText(text.replace(/\s+/g, ' ')).trim().slice(0, MAX_LINK_CHARACTERS);

const text = (value: string): ToolPart => ({ type: 'text', text: visibleText(value) });

function toLink(uri: string, name: string): ToolPart {
  return { type: 'link', uri: oneLine(uri), name: oneLine(name) };
}

function toImage(mediaType: string, data: string): ToolPart {
  if (!IMAGE_TYPE.test(mediaType)) return text(`[content of type ${oneLine(mediaType)}, which is not supported]`);
  if ((data.length / 4) * 3 > MAX_IMAGE_BYTES) return text(`[image larger than ${MAX_IMAGE_BYTES} bytes]`);
  return BASE64.test(data) ? { type: 'image', mediaType, data } : text('[image that cannot be read]');
}

function toPart(block: Block): ToolPart {
  switch (block.type) {
    case 'text':
      return text(block.text);
    case 'image':
      return toImage(block.mimeType, block.data);
    case 'audio':
      return text('[audio, which is not supported]');
    case 'resource_link':
      return toLink(block.uri, block.title ?? block.name);
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return text(resource.text);
      return resource.mimeType?.startsWith('image/') === true
        ? toImage(resource.mimeType, resource.blob)
        : toLink(resource.uri, resource.uri);
    }
  }
}

/** A part in words, for models that accept text only. */
function describe(part: ToolPart): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
      return `[image: ${part.mediaType}, ${Math.ceil((part.data.length / 4) * 3)} bytes]`;
    case 'link':
      return `[link: ${part.name} ${part.uri}]`;
  }
}

const sizeOf = (part: ToolPart): number => (part.type === 'image' ? 0 : Buffer.byteLength(describe(part)));

/** Keeps the parts within the limits of a result; the text that exceeds them is cut. */
function bounded(parts: readonly ToolPart[]): ToolPart[] {
  const kept: ToolPart[] = [];
  let images = 0;
  let bytes = 0;
  for (const part of parts) {
    if (part.type === 'image' && (images += 1) > MAX_IMAGES) {
      if (images === MAX_IMAGES + 1) kept.push(text(`[more than ${MAX_IMAGES} images: the others were left out]`));
      continue;
    }
    bytes += sizeOf(part);
    if (bytes > MAX_RESULT_BYTES) {
      // `capped` refers to the whole result's limit.
      const rest = MAX_RESULT_BYTES - (bytes - sizeOf(part));
      kept.push({ type: 'text', text: capped(describe(part), rest, MAX_RESULT_BYTES) });
      break;
    }
    kept.push(part);
  }
  return kept;
}

/** A failed result with a server message. */
export function failedResult(message: string): ToolResult {
  return { text: capped(visibleText(message), MAX_RESULT_BYTES), failed: true };
}

/** Converts an MCP result: the structured content if there is any, else the text; and images and links. */
export function toToolResult(result: CallToolResult): ToolResult {
  const all = result.content.map(toPart);
  if (result.isError === true) {
    const message = all.map(describe).join('\n');
    return failedResult(message.trim() === '' ? 'The tool failed without a message.' : message);
  }
  const { structuredContent: structured } = result;
  const others = all.filter(({ type }) => type !== 'text');
  const json = structured === undefined ? undefined : JSON.stringify(visibleJson(structured));
  const parts = bounded(json === undefined ? all : [{ type: 'text', text: json }, ...others]);
  const words = parts.map(describe).join('\n');
  if (words.trim() === '') return { text: 'The tool returned nothing.', failed: false };
  return { text: words, failed: false, ...(others.length === 0 ? {} : { parts }) };
}
