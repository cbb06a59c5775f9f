import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type AgentActivity,
  ActivitySchema,
  AttemptSchema,
  ChunkSchema,
  EntrySchema,
  MessageSchema,
  RequestSchema,
  type Done,
  ToolSchema,
  type TurnEvent,
  TurnEventSchema,
  UsageSchema,
  WaitingSchema,
} from '@uswarm/runtime-proto';

/** Turn event content, before the log numbers it. */
export type TurnEventBody = Exclude<TurnEvent['event'], { case: undefined }>;

export const activityEvent = (activity: AgentActivity): TurnEventBody => ({
  case: 'activity',
  value: create(ActivitySchema, { activity }),
});

/** Text that starts at `offset`; what the reply has after it is void. */
export const chunkEvent = (text: string, offset: number): TurnEventBody => ({
  case: 'chunk',
  value: create(ChunkSchema, { text, offset }),
});

export const toolEvent = (tool: MessageInitShape<typeof ToolSchema>): TurnEventBody => ({
  case: 'tool',
  value: create(ToolSchema, tool),
});

/** A separate agent message. */
export const messageEvent = (message: MessageInitShape<typeof MessageSchema>): TurnEventBody => ({
  case: 'message',
  value: create(MessageSchema, message),
});

export const usageEvent = (usage: MessageInitShape<typeof UsageSchema>): TurnEventBody => ({
  case: 'usage',
  value: create(UsageSchema, usage),
});

/** A request to a model provider that is about to be sent. */
export const attemptEvent = (attempt: MessageInitShape<typeof AttemptSchema>): TurnEventBody => ({
  case: 'attempt',
  value: create(AttemptSchema, attempt),
});

export const entryEvent = (entry: MessageInitShape<typeof EntrySchema>): TurnEventBody => ({
  case: 'entry',
  value: create(EntrySchema, entry),
});

export const requestEvent = (request: MessageInitShape<typeof RequestSchema>): TurnEventBody => ({
  case: 'request',
  value: create(RequestSchema, request),
});

/** @param retryAfterMs milliseconds until the next model call; 0: the turn waits for tool request outcomes */
export const waitingEvent = (retryAfterMs = 0): TurnEventBody => ({
  case: 'waiting',
  value: create(WaitingSchema, { retryAfterMs }),
});

export const doneEvent = (done: Done): TurnEventBody => ({ case: 'done', value: done });

export const numbered = (number: number, event: TurnEventBody, barrier = false): TurnEvent =>
  create(TurnEventSchema, { number: BigInt(number), event, barrier });

/** Encoded size in bytes. */
export const byteLength = (event: TurnEvent): number => toBinary(TurnEventSchema, event).byteLength;
