import type { CallToolResult, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';

/**
 * Converted to JSON once. There is a server per request, and each would convert it again, which takes a third of a
 * millisecond per search.
 */
export function convertOnce<Input, Output>(schema: z.ZodType<Output, Input>): StandardSchemaWithJSON<Input, Output> {
  const standard = schema['~standard'];
  const converted = new Map<string, Record<string, unknown>>();
  const convert = (io: 'input' | 'output') => (options: Parameters<typeof standard.jsonSchema.input>[0]) => {
    const key = `${io} ${options.target}`;
    const json = converted.get(key) ?? standard.jsonSchema[io](options);
    converted.set(key, json);
    return json;
  };
  return { '~standard': { ...standard, jsonSchema: { input: convert('input'), output: convert('output') } } };
}

/** Models read why a call failed. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
