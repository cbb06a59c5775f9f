import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BUS_VERSIONS, type BusEnvelope } from '@uswarm/contract';
import { encodeEnvelope } from './codec.js';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** The previous release's parser, from its sources. */
async function previousParser(folder: string): Promise<(value: unknown) => unknown> {
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

describe('a gateway of the previous release', () => {
  let folder: string;
  let parse: (value: unknown) => unknown;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-previous-parser-'));
    parse = await previousParser(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const workspace_id = '01931a5e-7c00-7000-8000-000000000001';
  const header = { v: 2, workspace_id, epoch: 'e0', at: '2026-11-24T12:00:00.000Z' } as const;
  const payload = { message: { id: 'm1', later_field: 1 } };
  const ENVELOPES: [string, BusEnvelope][] = [
    ['an event', { ...header, kind: 'durable', seq: 7, subject_id: 'm1', event: 'message.new', payload }],
    [
      'an event with a revision',
      { ...header, kind: 'durable', seq: 7, rev: 7, subject_id: 'm1', event: 'new', payload },
    ],
    ['an event without content', { ...header, kind: 'skip', seq: 7 }],
    ['an ephemeral event', { ...header, kind: 'ephemeral', after_seq: 0, event: 'message.chunk', payload }],
  ];

  it.each(ENVELOPES)('reads %s in the oldest version that this release publishes', (_case, envelope) => {
    const text = encodeEnvelope(envelope, BUS_VERSIONS[0]);
    expect(parse({ workspace_id, ...(JSON.parse(text) as object) })).toEqual(envelope);
  });
});
