import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolResult } from './tool.js';
import { capped, visibleJson, visibleText } from './untrusted-text.js';

/** Bytes of a tool result that a model gets to see. */
export const MAX_RESULT_BYTES = 64 * 1024;

function textOf({ content }: CallToolResult): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** What an MCP result says to the model: the structured content where there is one, else the text. */
export function toToolResult(result: CallToolResult): ToolResult {
  const failed = result.isError === true;
  const structured = failed ? undefined : result.structuredContent;
  const text = structured === undefined ? visibleText(textOf(result)) : JSON.stringify(visibleJson(structured));
  const fallback = failed ? 'The tool failed and gave no reason.' : 'The tool returned nothing.';
  return { text: capped(text.trim() === '' ? fallback : text, MAX_RESULT_BYTES), failed };
}
