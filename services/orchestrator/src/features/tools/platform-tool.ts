import { z } from 'zod';
import type { Transaction } from '../../database/database.js';
import { oneLine } from './one-line.js';
import type { OfferedContent } from '../turns/agent-content-schema.js';

/** The call of a tool by an agent. */
export interface ToolCall {
  /** Unique within the turn. */
  id: string;
  turnId: string;
  workspaceId: string;
  /** The owner of the workspace. */
  userId: string;
  agentId: string;
  conversationId: string;
}

export interface ToolOutcome {
  /** For the model. */
  text: string;
  failed: boolean;
  /** A message in addition to the reply. A message of the same turn with the same key is updated. */
  message?: { key: string; content: OfferedContent };
}

/** `read` changes nothing. `own` changes data of the orchestrator, in the transaction that stores the outcome. */
export type PlatformEffect = 'read' | 'own';

/** Completes a call in a transaction. */
export type Commit = (tx: Transaction) => Promise<ToolOutcome>;

/** A value that a call changes. */
export interface Change {
  label: string;
  /** Absent if there is no earlier value. */
  before?: string;
  after: string;
}

/** What a call will do, for the approval of the user. */
export interface CallPreview {
  title: string;
  changes: Change[];
}

/** A tool that the orchestrator executes. */
export interface PlatformTool {
  name: string;
  /** For the model. */
  description: string;
  /** JSON schema of the arguments. */
  inputSchema: Record<string, unknown>;
  effect: PlatformEffect;
  /** The entry of the tool catalogue with which users enable the tool. */
  switchedBy: string;
  /** One line that describes the call to the user. */
  describe(input: unknown): string;
  /** What the call will do, in full. Changes nothing. */
  preview(input: unknown, call: ToolCall): Promise<CallPreview>;
  /** Prepares a call outside the transaction, for example uploads content. It can run more than once per call. */
  prepare(input: unknown, call: ToolCall): Promise<Commit>;
}

export interface PlatformToolSpec<Input extends z.ZodObject> extends Pick<
  PlatformTool,
  'name' | 'description' | 'effect' | 'switchedBy'
> {
  /** Checks the arguments, and describes them to the model as JSON schema. */
  input: Input;
  describe(input: z.output<Input>): string;
  /** What the call changes. Default: the arguments. */
  changes?(input: z.output<Input>, call: ToolCall): Promise<Change[]>;
  prepare(input: z.output<Input>, call: ToolCall): Promise<Commit> | Commit;
}

/** The arguments of a call as changes. */
const listed = (value: unknown): Change[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).map(([label, after]) => ({
        label,
        after: typeof after === 'string' ? after : JSON.stringify(after),
      }));

/** Invalid arguments become a failed outcome that names the field and the rule, so that the model can correct them. */
export function definePlatformTool<Input extends z.ZodObject>(spec: PlatformToolSpec<Input>): PlatformTool {
  const { input, name } = spec;
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, {
    io: 'input',
    // The format states the same in fewer tokens.
    override: ({ jsonSchema }) => void (jsonSchema.format !== undefined && delete jsonSchema.pattern),
  });
  const tool: PlatformTool = {
    ...spec,
    inputSchema,
    describe(value) {
      const { data } = input.safeParse(value);
      return data === undefined ? `Using ${name}` : oneLine(spec.describe(data));
    },
    async preview(value, call) {
      const { data } = input.safeParse(value);
      const changes = data === undefined || spec.changes === undefined ? listed(value) : await spec.changes(data, call);
      return { title: tool.describe(value), changes };
    },
    async prepare(value, call) {
      const { data, error } = input.safeParse(value);
      if (error === undefined) return await spec.prepare(data, call);
      const { path = [], message = '' } = error.issues[0] ?? {};
      return () => Promise.resolve({ text: `${name}: ${path.join('.')}: ${message}`, failed: true });
    },
  };
  return tool;
}
