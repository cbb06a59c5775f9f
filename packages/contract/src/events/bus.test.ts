import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { z } from 'zod';
import { parseEnvelope } from './bus.js';
import { DURABLE_EVENTS, EPHEMERAL_EVENTS, SERVER_EVENTS, type ServerEventName } from './server.js';

/** Valid values of a schema, for all kinds of schema in events. */
function valuesOf(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const def = (schema as z.ZodType).def as z.core.$ZodTypes['_zod']['def'];
  switch (def.type) {
    case 'string':
      return stringsOf(def as z.core.$ZodStringFormatDef);
    case 'number':
      return fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    case 'boolean':
      return fc.boolean();
    case 'literal':
      return fc.constantFrom(...def.values);
    case 'enum':
      return fc.constantFrom(...Object.values(def.entries));
    case 'array':
      return fc.array(valuesOf(def.element), { maxLength: 3 });
    case 'nullable':
      return fc.option(valuesOf(def.innerType), { nil: null });
    case 'optional':
      return fc.option(valuesOf(def.innerType), { nil: undefined });
    case 'union':
      return fc.oneof(...def.options.map(valuesOf));
    case 'object':
      return recordsOf(def.shape);
    default:
      throw new Error(`no values for ${def.type}`);
  }
}

function stringsOf({ format }: z.core.$ZodStringFormatDef): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid({ version: 7 });
  if (format === 'datetime') {
    return fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  return fc.string({ unit: 'binary' });
}

function recordsOf(shape: Readonly<Record<string, z.core.$ZodType>>): fc.Arbitrary<unknown> {
  return fc.record(Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, valuesOf(schema)])));
}

/** The envelope after a round trip over the bus. */
const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const durable = (event: ServerEventName) =>
  fc.record({
    v: fc.constant(1),
    kind: fc.constant('durable'),
    workspace_id: fc.uuid({ version: 7 }),
    seq: fc.integer({ min: 1 }),
    event: fc.constant(event),
    payload: valuesOf(SERVER_EVENTS[event].payload),
  });

const ephemeral = (event: ServerEventName) =>
  fc.record({
    v: fc.constant(1),
    kind: fc.constant('ephemeral'),
    workspace_id: fc.uuid({ version: 7 }),
    after_seq: fc.nat(),
    event: fc.constant(event),
    payload: valuesOf(SERVER_EVENTS[event].payload),
  });

const envelopes: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  ...DURABLE_EVENTS.map(durable),
  ...EPHEMERAL_EVENTS.map(ephemeral),
);

describe('parseEnvelope', () => {
  it.each(
    [...DURABLE_EVENTS.map(durable), ...EPHEMERAL_EVENTS.map(ephemeral)].map(
      (arbitrary, index) => [[...DURABLE_EVENTS, ...EPHEMERAL_EVENTS][index]!, arbitrary] as const,
    ),
  )('returns every envelope of %s unchanged', (_event, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, (envelope) => {
        expect(parseEnvelope(overTheWire(envelope))).toEqual(overTheWire(envelope));
      }),
      { numRuns: 30 },
    );
  });

  it('rejects arbitrary values', () => {
    fc.assert(fc.property(fc.anything(), (junk) => expect(() => parseEnvelope(junk)).toThrow()));
  });

  it('rejects an envelope without a required field', () => {
    const lacking = fc.tuple(envelopes, fc.nat()).map(([envelope, which]) => {
      const names = Object.keys(envelope);
      return without(envelope, names[which % names.length]!);
    });
    fc.assert(fc.property(lacking, (envelope) => expect(() => parseEnvelope(envelope)).toThrow()));
  });

  it('rejects an envelope of another version, kind or event', () => {
    const other = fc.constantFrom(
      { v: 2 },
      { kind: 'other' },
      { event: 'message.gone' },
      { extra: 1 },
      { workspace_id: 'w' },
    );
    fc.assert(
      fc.property(envelopes, other, (envelope, change) => {
        expect(() => parseEnvelope({ ...envelope, ...change })).toThrow();
      }),
    );
  });

  it('rejects an ephemeral event with a sequence', () => {
    fc.assert(
      fc.property(ephemeral('message.chunk'), (envelope) => {
        const { after_seq: seq, ...rest } = envelope;
        expect(() => parseEnvelope({ ...rest, kind: 'durable', seq: seq + 1 })).toThrow();
      }),
    );
  });
});

function without(record: Record<string, unknown>, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
}
