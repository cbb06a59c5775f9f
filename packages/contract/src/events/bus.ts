import { z } from 'zod';
import { Id } from '../resources/primitives.js';
import type { DurableEventName, EphemeralEventName, ServerEventPayload } from './server.js';

/** Envelope versions between orchestrator and gateways. Release 0.2 reads only version 1. */
export const BUS_VERSIONS = [1, 2] as const;
export type BusVersion = (typeof BUS_VERSIONS)[number];

/** Headers for calls to the internal API: the version that the gateway reads, and its process id. */
export const BUS_VERSION_HEADER = 'x-bus-version';
export const GATEWAY_ID_HEADER = 'x-gateway-id';

interface Header {
  v: 2;
  workspace_id: string;
  /** The history that the sequence belongs to; empty if unknown, as in version 1. */
  epoch: string;
  /** Event time. */
  at: string;
}

interface DurableHeader extends Header {
  kind: 'durable';
  seq: number;
  subject_id: string;
  /** Revision of the object in the payload. */
  rev?: number;
}

interface EphemeralHeader extends Header {
  kind: 'ephemeral';
  /** Delivered to a socket only after this seq. */
  after_seq: number;
}

/** The event `seq` has no content, because its subject was deleted. */
type SkipEnvelope = Header & { kind: 'skip'; seq: number; event?: never; payload?: never };

/** The payload for clients. Gateways forward it without reading it. */
type OpaquePayload = Record<string, unknown>;

/**
 * Envelopes between orchestrator and gateways, with one channel per workspace. A gateway checks only the header: it
 * forwards events and fields from later releases.
 */
export type BusEnvelope =
  | (DurableHeader & { event: string; payload: OpaquePayload })
  | SkipEnvelope
  | (EphemeralHeader & { event: string; payload: OpaquePayload });

/** The envelopes that this release publishes. */
export type OutgoingEnvelope =
  | {
      [Name in DurableEventName]: DurableHeader & { event: Name; payload: ServerEventPayload<Name> };
    }[DurableEventName]
  | SkipEnvelope
  | {
      [Name in EphemeralEventName]: EphemeralHeader & { event: Name; payload: ServerEventPayload<Name> };
    }[EphemeralEventName];

const seq = z.int().positive();
const afterSeq = z.int().nonnegative();
/** Not an object schema, which would copy the payload. */
const payload = z.custom<OpaquePayload>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const content = { event: z.string().min(1).max(100), payload };

const header = {
  v: z.literal(2),
  workspace_id: Id,
  epoch: z.string().regex(/^[a-z\d]{0,32}$/),
  at: z.string(),
};

const Version2 = z.discriminatedUnion('kind', [
  z.object({
    ...header,
    ...content,
    kind: z.literal('durable'),
    seq,
    subject_id: z.string(),
    rev: z.int().nonnegative().optional(),
  }),
  z.object({ ...header, kind: z.literal('skip'), seq }),
  z.object({ ...header, ...content, kind: z.literal('ephemeral'), after_seq: afterSeq }),
]);

const Version1 = z.discriminatedUnion('kind', [
  z.object({ v: z.literal(1), workspace_id: Id, ...content, kind: z.literal('durable'), seq }),
  z.object({ v: z.literal(1), workspace_id: Id, ...content, kind: z.literal('ephemeral'), after_seq: afterSeq }),
]);

/** The fields of version 1 payloads that identify their subject, with the objects first. */
const SUBJECTS = ['message', 'conversation', 'workspace', 'message_id', 'conversation_id', 'workspace_id'];

function subjectOf(body: OpaquePayload): string {
  const subject = SUBJECTS.map((name) => body[name]).find((value) => value !== undefined);
  return typeof subject === 'object' && subject !== null && 'id' in subject ? String(subject.id) : String(subject);
}

/**
 * Parses a bus message of any version.
 * @param now time for an envelope without one
 * @throws z.ZodError if it is not an envelope
 */
export function parseEnvelope(value: unknown, now: () => Date = () => new Date()): BusEnvelope {
  const isVersion1 = typeof value === 'object' && value !== null && 'v' in value && value.v === 1;
  if (!isVersion1) return Version2.parse(value) as BusEnvelope;
  const envelope = Version1.parse(value);
  const since = { v: 2, epoch: '', at: now().toISOString() } as const;
  return envelope.kind === 'durable'
    ? { ...envelope, ...since, subject_id: subjectOf(envelope.payload) }
    : { ...envelope, ...since };
}
