import { safeParseRequest } from '@uswarm/contract';
import { type AgentToolEntry, serverOfTool } from '@uswarm/contract/agent-tools';
import type { Picture } from '@uswarm/file-reader';
import type { Answer as QuestionAnswer, Question } from '@uswarm/mcp-client';
import { z } from 'zod';
import type { Transaction } from '../../platform/database/database.js';
import type { PlacedMessage, Placement } from '../../records/event-log.js';
import { oneLine } from '../../records/one-line.js';
import type { Answer } from '../../records/answers.js';
import type { UntrustedSource } from './untrusted-source.js';
import type { OfferedContent } from '../content/agent-content-schema.js';

export interface ToolCall {
  /** Unique within the turn. */
  id: string;
  turnId: string;
  /** Depth of the calling turn; 0 for a reply to the user. */
  depth: number;
  /** The user message that the turn answers, or that led to it. */
  userMessageId: string;
  /** Messages and events about the call belong to it. */
  answer: Answer;
  workspaceId: string;
  userId: string;
  agentId: string;
  conversationId: string;
  integrationId?: string | undefined;
  /** The model's window in tokens; undefined if unknown. */
  contextWindow?: number | undefined;
  /** Aborted if the turn is stopped or exceeds a limit. Requests that change something are not aborted. */
  signal: AbortSignal;
  /** Asks the user a question of the app that the call goes to, and waits. */
  ask?: AskDuringCall;
}

/** @param from the app's name, for users */
export type AskDuringCall = (from: string, question: Question) => Promise<QuestionAnswer>;

/** Enough to look up a call after its turn has ended. */
export type CallOwner = Pick<ToolCall, 'userId'>;

/** Texts that agents wrote earlier, and that other agents read. */
export type StoredText =
  | { kind: 'memory'; key: string }
  | { kind: 'artifact'; id: string; version: number }
  /** Messages of a conversation. */
  | { kind: 'conversation'; id: string };

export interface ToolOutcome {
  /** For the model. */
  text: string;
  failed: boolean;
  /** Stored texts that `text` shows in part. */
  read?: readonly StoredText[];
  wrote?: readonly StoredText[];
  /** The request was sent, and may or may not have changed something. */
  isUnknown?: boolean;
  /** A message in addition to the reply. The same key in the same turn updates it. */
  message?: { key: string; content: OfferedContent };
  /** The call has stored such a message itself. */
  showsMessage?: boolean;
}

/**
 * How a call changes data. `read`: not at all. `own`: orchestrator data, in the transaction that stores the outcome.
 * `keyed`: another system that recognizes a key, so that the request can be repeated. `once`: another system that does
 * not, so that the request is never repeated.
 */
export type Effect = 'read' | 'own' | 'keyed' | 'once';

export type Commit = (tx: Transaction) => Promise<ToolOutcome>;

export interface Change {
  /** Not from a model or a third party. */
  label: string;
  /** Absent if there is no earlier value. */
  before?: string;
  after: string;
}

/** The user decides on a call by this text. */
export interface CallPreview {
  title: string;
  changes: Change[];
}

/** Tools work on these, if the conversation has them. */
export type Subject = 'artifacts' | 'files' | 'memories' | 'past';

interface ToolBase {
  name: string;
  /** For the model. */
  description: string;
  inputSchema: Record<string, unknown>;
  /**
   * Set if few turns need the tool: the model then sees these few words instead of description and schema, and loads the tool
   * when it needs it.
   */
  hint?: string;
  /** The tool is offered in spite of its hint if the conversation has these. */
  offeredFor?: Subject;
  /** Catalogue entry with which users enable the tool. */
  switchedBy: string;
  /** This entry, if the tool belongs to a tool server. */
  entry?: AgentToolEntry;
  /** The integration that the user must have connected. */
  provider?: string;
  /** Content that calls return, if the user did not write it. Default for integrations: `app`. */
  reads?: UntrustedSource;
  /** True if the definition itself is content from others: its server is not trusted. */
  isForeign?: boolean;
  /** True if calls need an approval in conversations with untrusted content, although they change only our data. */
  asksAfterUntrustedContent?: boolean;
  /** One line for the user. */
  describe(input: unknown): string;
  /** @returns the outcome for invalid arguments; undefined if they are valid */
  check(input: unknown): ToolOutcome | undefined;
  /** Describes in full what the call will do. Changes nothing. The arguments must be valid. */
  preview(input: unknown, call: ToolCall): Promise<CallPreview>;
  /** Pictures that belong to the outcome. They are not stored, but read again when it is delivered again. */
  pictures?(input: unknown, call: ToolCall): Promise<Picture[]>;
  /** Greatest depth for a background turn that may call the tool; 0: only replies to the user. Default: all turns. */
  maxDepth?: number;
}

/** Changes nothing, or only orchestrator data. */
export interface OwnTool extends ToolBase {
  effect: 'read' | 'own';
  /**
   * Prepares a call outside the transaction, for example uploads content. It can run more than once per call.
   *
   * @throws AccountNeeded
   */
  prepare(input: unknown, call: ToolCall): Promise<Commit>;
}

/** The request was sent, and may or may not have changed something. */
export class UncertainOutcome extends Error {
  override name = 'UncertainOutcome';
}

/** A key that identifies the request in the other system, or why it is not sent. */
export type Plan = { key: string } | { outcome: ToolOutcome };

/** The user must connect an account before the call. Nothing was sent. The message names the account. */
export class AccountNeeded extends Error {
  override name = 'AccountNeeded';
}

export interface ExternalTool extends ToolBase {
  effect: 'keyed' | 'once';
  /** Checks a call. Changes nothing. The key is stored before the request is sent. @throws AccountNeeded */
  plan(input: unknown, call: ToolCall): Promise<Plan>;
  /**
   * `keyed` tools send the same request for the same key.
   *
   * @throws UncertainOutcome
   */
  send(input: unknown, key: string, call: ToolCall): Promise<ToolOutcome>;
  /** Finds what the request with this key changed; undefined if it left no trace. Changes nothing. */
  lookUp(input: unknown, key: string, call: CallOwner): Promise<ToolOutcome | undefined>;
}

/** Shows what a turn waits for. @returns the message that shows it, and the sequence of its event */
export type ShowMessage = (
  message: Omit<PlacedMessage, 'turn'> & { key: string },
  tx: Transaction,
) => Promise<Pick<Placement, 'id' | 'seq'>>;

/**
 * Starts a call's task in a transaction, and shows it.
 *
 * @returns the sequence of its event, or why the task is not started
 */
export type StartTask = (tx: Transaction, show: ShowMessage) => Promise<number | ToolOutcome>;

/** The call gets its outcome when a background turn ends. The calling turn waits for it. */
export interface TaskTool extends ToolBase {
  effect: 'own';
  /** Prepares a call with valid arguments, outside the transaction. It can run more than once per call. */
  task(input: unknown, call: ToolCall): Promise<StartTask>;
}

/** Ends the reply: another agent answers instead. */
export interface HandOverTool extends ToolBase {
  effect: 'own';
  /** Checks a call with valid arguments. @returns the id of the agent that answers, or why it cannot */
  recipient(input: unknown, call: ToolCall): Promise<string | ToolOutcome>;
}

/** Server tools, which can change at any time. Their names have two underscores after the server's id. */
export type ServerTools = (userId: string) => Promise<readonly PlatformTool[]>;

export const isServerTool = (name: string): boolean => serverOfTool(name) !== undefined;

export type PlatformTool = OwnTool | ExternalTool | TaskTool | HandOverTool;

interface SpecBase<Input extends z.ZodObject> extends Pick<
  ToolBase,
  | 'name'
  | 'description'
  | 'hint'
  | 'offeredFor'
  | 'switchedBy'
  | 'provider'
  | 'reads'
  | 'maxDepth'
  | 'asksAfterUntrustedContent'
> {
  /** Checks the arguments, and describes them to the model as JSON schema. */
  input: Input;
  describe(input: z.output<Input>): string;
  /** Default: the arguments. */
  changes?(input: z.output<Input>, call: ToolCall): Promise<Change[]>;
}

export interface OwnToolSpec<Input extends z.ZodObject> extends SpecBase<Input> {
  effect: OwnTool['effect'];
  pictures?(input: z.output<Input>, call: ToolCall): Promise<Picture[]>;
  prepare(input: z.output<Input>, call: ToolCall): Promise<Commit> | Commit;
}

export interface ExternalToolSpec<Input extends z.ZodObject> extends SpecBase<Input> {
  effect: ExternalTool['effect'];
  plan(input: z.output<Input>, call: ToolCall): Promise<Plan>;
  send(input: z.output<Input>, key: string, call: ToolCall): Promise<ToolOutcome>;
  lookUp(input: z.output<Input>, key: string, call: CallOwner): Promise<ToolOutcome | undefined>;
}

/** The arguments in full. */
export const listedChanges = (input: Record<string, unknown>): Change[] =>
  Object.entries(input).map(([label, after]) => ({
    label,
    after: typeof after === 'string' ? after : JSON.stringify(after),
  }));

/** Limits of length cost tokens in every request, and models do not keep them: a call that breaks one is told so. */
const LENGTHS = ['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'minItems', 'maxItems'] as const;

function schemaForModel(input: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override({ jsonSchema }) {
      // The format states the same in fewer tokens.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      for (const length of LENGTHS) delete jsonSchema[length];
    },
  });
  return schema;
}

function toolBase<Input extends z.ZodObject>(spec: SpecBase<Input>): ToolBase {
  const { input, name, description, hint, offeredFor, switchedBy } = spec;
  const { provider, reads, maxDepth, asksAfterUntrustedContent } = spec;
  const base: ToolBase = {
    name,
    description,
    switchedBy,
    ...(hint === undefined ? {} : { hint }),
    ...(offeredFor === undefined ? {} : { offeredFor }),
    ...(provider === undefined ? {} : { provider }),
    ...(reads === undefined ? {} : { reads }),
    ...(maxDepth === undefined ? {} : { maxDepth }),
    ...(asksAfterUntrustedContent === undefined ? {} : { asksAfterUntrustedContent }),
    inputSchema: schemaForModel(input),
    describe(value) {
      const { data } = safeParseRequest(input, value);
      return data === undefined ? `Using ${name}` : oneLine(spec.describe(data));
    },
    check(value) {
      const { error } = safeParseRequest(input, value);
      return error === undefined ? undefined : invalid(name, error);
    },
    async preview(value, call) {
      const data = parsed(input, value);
      return { title: base.describe(value), changes: (await spec.changes?.(data, call)) ?? listedChanges(data) };
    },
  };
  return base;
}

/** Assumes that the arguments were checked before. @throws ZodError */
function parsed<Input extends z.ZodObject>(input: Input, value: unknown): z.output<Input> {
  const { data, error } = safeParseRequest(input, value);
  if (error !== undefined) throw error;
  return data;
}

/** Names the field and the rule, so that the model can correct the arguments. */
function invalid(name: string, { issues }: z.ZodError): ToolOutcome {
  const { path = [], message = '' } = issues[0] ?? {};
  return { text: `${name}: ${path.join('.')}: ${message}`, failed: true };
}

/** Invalid arguments become a failed outcome. */
export function definePlatformTool<Input extends z.ZodObject>(spec: OwnToolSpec<Input>): OwnTool {
  const { input, name, effect, pictures } = spec;
  return {
    ...toolBase(spec),
    effect,
    ...(pictures === undefined
      ? {}
      : { pictures: (value: unknown, call: ToolCall) => pictures(parsed(input, value), call) }),
    async prepare(value, call) {
      const { data, error } = safeParseRequest(input, value);
      return error === undefined ? await spec.prepare(data, call) : () => Promise.resolve(invalid(name, error));
    },
  };
}

/** Calls with invalid arguments are not sent. */
export function defineExternalTool<Input extends z.ZodObject>(spec: ExternalToolSpec<Input>): ExternalTool {
  const { input, name, effect } = spec;
  return {
    ...toolBase(spec),
    effect,
    async plan(value, call) {
      const { data, error } = safeParseRequest(input, value);
      return error === undefined ? await spec.plan(data, call) : { outcome: invalid(name, error) };
    },
    send: (value, key, call) => spec.send(parsed(input, value), key, call),
    lookUp: (value, key, call) => spec.lookUp(parsed(input, value), key, call),
  };
}

export interface TaskToolSpec<Input extends z.ZodObject> extends SpecBase<Input> {
  task(input: z.output<Input>, call: ToolCall): Promise<StartTask>;
}

export const defineTaskTool = <Input extends z.ZodObject>(spec: TaskToolSpec<Input>): TaskTool => ({
  ...toolBase(spec),
  effect: 'own',
  task: (value, call) => spec.task(parsed(spec.input, value), call),
});

export interface HandOverToolSpec<Input extends z.ZodObject> extends SpecBase<Input> {
  recipient(input: z.output<Input>, call: ToolCall): Promise<string | ToolOutcome>;
}

export const defineHandOverTool = <Input extends z.ZodObject>(spec: HandOverToolSpec<Input>): HandOverTool => ({
  ...toolBase(spec),
  effect: 'own',
  recipient: (value, call) => spec.recipient(parsed(spec.input, value), call),
});
