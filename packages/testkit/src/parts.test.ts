import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeWith } from './parts.js';

const missing = { reason: 'There is no Valkey.', install: 'Install it.' };
const real = { env: { ...process.env }, globals: frameworkGlobals() };
let calls: string[] = [];
let folder = '';

function frameworkGlobals(): { describe: unknown; it: unknown } {
  const { describe: suite, it: test } = globalThis as unknown as { describe: unknown; it: unknown };
  return { describe: suite, it: test };
}

/** Replaces the test framework, so that a skip in these tests is not a skip of this run. */
function recordCalls(): void {
  const fake = Object.assign(
    (name: string, body: () => void) => {
      calls.push(`describe ${name}`);
      body();
    },
    { skip: (name: string) => void calls.push(`skip ${name}`) },
  );
  const fakeIt = (name: string, body: () => void): void => {
    calls.push(`it ${name}`);
    try {
      body();
    } catch (error) {
      calls.push(`fails: ${(error as Error).message}`);
    }
  };
  Object.assign(globalThis, { describe: fake, it: fakeIt });
}

beforeEach(() => {
  calls = [];
  folder = mkdtempSync(join(tmpdir(), 'parts-'));
  process.env['USWARM_SKIPS_FILE'] = join(folder, 'skips');
  process.env['USWARM_MISSING_VALKEY'] = JSON.stringify(missing);
  delete process.env['CI'];
  recordCalls();
});

afterEach(() => {
  Object.assign(globalThis, real.globals);
  for (const name of ['USWARM_SKIPS_FILE', 'USWARM_MISSING_VALKEY', 'CI']) {
    const value = real.env[name];
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  rmSync(folder, { recursive: true });
});

describe('describeWith', () => {
  it('skips tests of a missing part and records the reason', () => {
    describeWith('valkey', 'the bus', () => void calls.push('ran'));
    expect(calls).toEqual(['skip the bus']);
    const line = readFileSync(join(folder, 'skips'), 'utf8');
    expect(JSON.parse(line)).toEqual({ part: 'valkey', suite: 'the bus', ...missing });
  });

  it('fails tests of a missing part in CI', () => {
    process.env['CI'] = 'true';
    describeWith('valkey', 'the bus', () => void calls.push('ran'));
    expect(calls).toEqual(['describe the bus', 'it has valkey', 'fails: There is no Valkey. Install it.']);
  });
});
