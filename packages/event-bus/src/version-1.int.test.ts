import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type BusEnvelope,
  DURABLE_EVENTS,
  type DurableEventName,
  EPHEMERAL_EVENTS,
  type EphemeralEventName,
} from '@uswarm/contract';
import { encodeEnvelope } from './codec.js';
import { CONTENTS_OF_02, envelopeOf } from '../test/sample-envelopes.js';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** The parser of release 0.2, from its sources. */
async function parserOf02(folder: string): Promise<(value: unknown) => unknown> {
  const archive = path.join(REPOSITORY, 'e2e/fixtures/previous-release.tar.gz');
  await run('tar', ['-xzf', archive, '-C', folder, 'packages/contract/src']);
  const bundle = path.join(folder, 'parser.mjs');
  await run(
    path.join(REPOSITORY, 'node_modules/.bin/esbuild'),
    [
      path.join(folder, 'packages/contract/src/events/bus.ts'),
      '--bundle',
      '--platform=node',
      '--format=esm',
      '--log-level=error',
      `--outfile=${bundle}`,
    ],
    { env: { ...process.env, NODE_PATH: path.join(REPOSITORY, 'packages/contract/node_modules') } },
  );
  const module = (await import(bundle)) as { parseEnvelope: (value: unknown) => unknown };
  return module.parseEnvelope;
}

describe('envelopes of version 1', () => {
  let folder: string;
  let parse: (value: unknown) => unknown;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-version-1-'));
    parse = await parserOf02(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const encoded = (envelope: BusEnvelope): unknown => {
    const text = encodeEnvelope(envelope, 1);
    return text === undefined ? undefined : JSON.parse(text);
  };
  /** Adds an unknown field to every nested object. */
  const withLaterFields = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withLaterFields);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]) => [key, withLaterFields(inner)]);
    return { ...Object.fromEntries(entries), later_field: 1 };
  };

  const NAMES: readonly (DurableEventName | EphemeralEventName)[] = [...DURABLE_EVENTS, ...EPHEMERAL_EVENTS];
  const KNOWN = NAMES.filter((name) => name !== 'message.deleted');

  it.each(KNOWN)('release 0.2 reads %s, also with fields of later releases', (name) => {
    const envelope = envelopeOf(name);
    const later = { ...envelope, payload: withLaterFields(envelope.payload) } as BusEnvelope;
    const plain = encoded(envelope);
    expect(parse(plain)).toEqual(plain);
    expect(encoded(later)).toEqual(plain);
  });

  it.each(CONTENTS_OF_02.map((content) => [content.type, content] as const))(
    'release 0.2 reads messages with the content %s, also with fields of later releases',
    (_type, content) => {
      const envelope = envelopeOf('message.new', content);
      const later = { ...envelope, payload: withLaterFields(envelope.payload) } as BusEnvelope;
      const plain = encoded(envelope);
      expect(parse(plain)).toEqual(plain);
      expect(plain).toMatchObject({ payload: { message: { content } } });
      expect(encoded(later)).toEqual(plain);
    },
  );

  it('release 0.2 rejects the envelopes that version 1 changes or omits', () => {
    const envelope = envelopeOf('agent.status');
    expect(envelope.payload).toHaveProperty('expires_in_ms');
    expect(() => parse({ ...(encoded(envelope) as object), payload: envelope.payload })).toThrow();
    expect(() => parse({ ...envelopeOf('message.deleted'), v: 1 })).toThrow();
  });

  it('omits skips, events and contents that release 0.2 does not know', () => {
    const { workspace_id, epoch, at } = envelopeOf('message.deleted');
    const unknown = { type: 'later' } as unknown as (typeof CONTENTS_OF_02)[number];
    const last = {
      ...envelopeOf('conversation.new'),
      payload: { conversation: { last_message: { content: unknown } } },
    };
    expect(
      [
        envelopeOf('message.deleted'),
        { v: 2, kind: 'skip', workspace_id, epoch, at, seq: 1 } as const,
        { ...envelopeOf('message.done'), event: 'later.event' },
        envelopeOf('message.new', unknown),
        last,
      ].map(encoded),
    ).toEqual(Array.from({ length: 5 }, () => undefined));
  });
});
