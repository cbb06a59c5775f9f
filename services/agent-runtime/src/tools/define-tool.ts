import type { JsonObject } from '@bufbuild/protobuf';
import type { ToolResult } from '@uswarm/mcp-client';
import { z } from 'zod';
import type { FunctionTool } from '../models/port.js';

/**
 * `message` becomes a separate agent message: a MessageContent of the REST contract. `silent` ends the turn without a
 * reply.
 */
export type BuiltInToolResult = ToolResult & { message?: JsonObject; silent?: true };

/** A tool that runs inside the agent runtime, without network calls. */
export interface BuiltInTool {
  definition: FunctionTool;
  run(input: Record<string, unknown>): BuiltInToolResult;
}

/** A tool that few turns need: its schema is sent only after the model has asked for it. */
export interface ListedTool {
  definition: FunctionTool;
  /** Shown in place of description and schema, in a few words. */
  hint: string;
}

export interface ToolSpec<Input extends z.ZodObject> {
  /** A name in the tool catalogue. */
  name: string;
  description: string;
  /** Checks the arguments, and describes them to the model as JSON schema. */
  input: Input;
  run(input: z.output<Input>): BuiltInToolResult;
}

/** Invalid arguments become a failed result that names the field and the rule, so that the model can correct them. */
export function defineTool<Input extends z.ZodObject>({ name, description, input, run }: ToolSpec<Input>): BuiltInTool {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' });
  const inputSchema = schema as FunctionTool['inputSchema'];
  return {
    definition: { type: 'function', name, description, inputSchema },
    run(value) {
      const { data, error } = input.safeParse(value);
      if (error === undefined) return run(data);
      const { path = [], message = '' } = error.issues[0] ?? {};
      return { text: `${name}: ${path.join('.')}: ${message}`, failed: true };
    },
  };
}
