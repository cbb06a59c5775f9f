import { z } from 'zod';
import { Id } from '../resources/primitives.js';
import type { DurableEventName } from '../enums.js';
import type { EphemeralEventName, ServerEventPayload } from './server.js';

/** Envelope versions between orchestrator and gateways that this release reads and publishes. */
export const BUS_VERSIONS = [2] as const;
export type BusVersion = (typeof BUS_VERSIONS)[number];

/** Headers for calls to the internal API: the version that the gateway reads, and its process id. */
export const BUS_VERSION_HEADER = 'x-bus-version';
export const GATEWAY_ID_HEADER = 'x-gateway-id';

interface Header {
  v: 2;
  workspace_id: string;
  /** The history that the sequence belongs to. */
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
  epoch: z.string().regex(/^[a-z\d]{1,32}$/),
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

/**
 * Parses a bus message.
 * @throws z.ZodError if it is not an envelope
 */
export const parseEnvelope = (value: unknown): BusEnvelope => Version2.parse(value) as BusEnvelope;
