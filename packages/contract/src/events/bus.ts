import { z } from 'zod';
import { Id } from '../resources/primitives.js';
import {
  DURABLE_EVENTS,
  EPHEMERAL_EVENTS,
  SERVER_EVENTS,
  type DurableEventName,
  type EphemeralEventName,
  type ServerEventPayload,
} from './server.js';

/** Envelopes between orchestrator and gateways, with one channel per workspace. */
export type BusEnvelope =
  | {
      [Name in DurableEventName]: {
        v: 1;
        kind: 'durable';
        workspace_id: string;
        seq: number;
        event: Name;
        payload: ServerEventPayload<Name>;
      };
    }[DurableEventName]
  | {
      [Name in EphemeralEventName]: {
        v: 1;
        kind: 'ephemeral';
        workspace_id: string;
        /** Delivered to a socket only after this seq. */
        after_seq: number;
        event: Name;
        payload: ServerEventPayload<Name>;
      };
    }[EphemeralEventName];

const header = { v: z.literal(1), workspace_id: Id };

const durable = DURABLE_EVENTS.map((event) =>
  z.strictObject({
    ...header,
    kind: z.literal('durable'),
    seq: z.int().positive(),
    event: z.literal(event),
    payload: SERVER_EVENTS[event].payload,
  }),
);

const ephemeral = EPHEMERAL_EVENTS.map((event) =>
  z.strictObject({
    ...header,
    kind: z.literal('ephemeral'),
    after_seq: z.int().nonnegative(),
    event: z.literal(event),
    payload: SERVER_EVENTS[event].payload,
  }),
);

type Option = (typeof durable)[number] | (typeof ephemeral)[number];

const Envelope = z.discriminatedUnion('event', [...durable, ...ephemeral] as [Option, ...Option[]]);

/** Parses a message of the bus. @throws z.ZodError if it is not an envelope */
export function parseEnvelope(value: unknown): BusEnvelope {
  return Envelope.parse(value) as BusEnvelope;
}
