import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseEnvelope } from './bus.js';

const id = fc.uuid({ version: 7 });
const seq = fc.integer({ min: 1 });
const payload = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()).map((value) => overTheWire(value));
const event = fc.stringMatching(/^[a-z.]{1,40}$/);
const header = { v: fc.constant(2), workspace_id: id, epoch: fc.stringMatching(/^[a-z\d]{1,32}$/), at: fc.string() };

/** The value after a round trip over the bus. */
function overTheWire(value: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

const durable = fc.record(
  { ...header, kind: fc.constant('durable'), seq, event, subject_id: id, rev: fc.nat(), payload },
  { requiredKeys: ['v', 'workspace_id', 'epoch', 'at', 'kind', 'seq', 'event', 'subject_id', 'payload'] },
);
const skip = fc.record({ ...header, kind: fc.constant('skip'), seq });
const ephemeral = fc.record({ ...header, kind: fc.constant('ephemeral'), after_seq: fc.nat(), event, payload });
const envelopes: fc.Arbitrary<Record<string, unknown>> = fc.oneof(durable, skip, ephemeral);

describe('parseEnvelope', () => {
  it('returns every envelope unchanged, with any event and any payload', () => {
    fc.assert(
      fc.property(envelopes, (envelope) => {
        expect(parseEnvelope(overTheWire(envelope))).toEqual(overTheWire(envelope));
      }),
    );
  });

  it('accepts envelopes with unknown fields', () => {
    fc.assert(
      fc.property(envelopes, fc.jsonValue(), (envelope, later) => {
        expect(parseEnvelope({ ...envelope, later_field: later })).toEqual(envelope);
      }),
    );
  });

  it('rejects arbitrary values', () => {
    fc.assert(fc.property(fc.anything(), (junk) => expect(() => parseEnvelope(junk)).toThrow()));
  });

  it('rejects an envelope without a required field', () => {
    const lacking = fc.tuple(envelopes, fc.nat()).map(([envelope, which]) => {
      const names = Object.keys(envelope).filter((name) => name !== 'rev');
      return without(envelope, names[which % names.length]!);
    });
    fc.assert(fc.property(lacking, (envelope) => expect(() => parseEnvelope(envelope)).toThrow()));
  });

  it('rejects an envelope of another version, kind, workspace or epoch', () => {
    const other = fc.constantFrom({ v: 3 }, { kind: 'other' }, { workspace_id: 'w' }, { epoch: 'Not an epoch' });
    fc.assert(
      fc.property(envelopes, other, (envelope, change) => {
        expect(() => parseEnvelope({ ...envelope, ...change })).toThrow();
      }),
    );
  });

  it('rejects an ephemeral event with a sequence', () => {
    fc.assert(
      fc.property(ephemeral, (envelope) => {
        const { after_seq: after, ...rest } = envelope;
        expect(() => parseEnvelope({ ...rest, kind: 'durable', seq: after + 1 })).toThrow();
      }),
    );
  });
});

function without(record: Record<string, unknown>, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
}
