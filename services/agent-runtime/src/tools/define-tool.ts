import type { JsonObject } from '@bufbuild/protobuf';
import { z } from 'zod';
import type { ToolDefinition } from '../models/model.js';
import type { ToolResult } from './tool.js';

/** `message` becomes a separate message of the agent: a MessageContent of the REST contract. */
export type BuiltInToolResult = ToolResult & { message?: JsonObject };

/** A tool that runs inside the agent runtime, without network calls. */
export interface BuiltInTool {
  definition: ToolDefinition;
  run(input: Record<string, unknown>): BuiltInToolResult;
}

export interface ToolSpec<Input extends z.ZodObject> {
  /** A name of the tool catalogue. */
  name: string;
  description: string;
  /** Checks the arguments, and describes them to the model as JSON schema. */
  input: Input;
  run(input: z.output<Input>): BuiltInToolResult;
}

/** Invalid arguments become a failed result that names the field and the rule, so that the model can correct them. */
export function defineTool<Input extends z.ZodObject>({ name, description, input, run }: ToolSpec<Input>): BuiltInTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: 'input' });
  return {
    definition: { name, description, inputSchema },
    run(value) {
      const { data, error } = input.safeParse(value);
      if (error === undefined) return run(data);
      const { path = [], message = '' } = error.issues[0] ?? {};
      return { text: `${name}: ${path.join('.')}: ${message}`, failed: true };
    },
  };
}
