import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolResult } from './tool.js';
import { capped, visibleJson, visibleText } from './untrusted-text.js';

/** Bytes of a tool result for a model. */
export const MAX_RESULT_BYTES = 64 * 1024;

function textOf({ content }: CallToolResult): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Converts an MCP result: the structured content if there is any, else the text. */
export function toToolResult(result: CallToolResult): ToolResult {
  const failed = result.isError === true;
  const structured = failed ? undefined : result.structuredContent;
  const text = structured === undefined ? visibleText(textOf(result)) : JSON.stringify(visibleJson(structured));
  const fallback = failed ? 'The tool failed without a message.' : 'The tool returned nothing.';
  return { text: capped(text.trim() === '' ? fallback : text, MAX_RESULT_BYTES), failed };
}
