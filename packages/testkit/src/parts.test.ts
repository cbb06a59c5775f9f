import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeWith, partAvailable } from './parts.js';

const missing = { reason: 'There is no Valkey.', install: 'Install it.' };
const real = { env: { ...process.env }, globals: frameworkGlobals() };
let calls: string[] = [];
let folder = '';

function frameworkGlobals(): { describe: unknown; it: unknown } {
  const { describe: suite, it: test } = globalThis as unknown as { describe: unknown; it: unknown };
  return { describe: suite, it: test };
}

/** Stands in for the test framework, so that a skip in here is not a skip of this run. */
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

describe('tests of a part that the machine lacks', () => {
  it('are skipped, and the reason is kept for the end of the run', () => {
    describeWith('valkey', 'the bus', () => void calls.push('ran'));
    expect(partAvailable('valkey')).toBe(false);
    expect(calls).toEqual(['skip the bus']);
    const line = readFileSync(join(folder, 'skips'), 'utf8');
    expect(JSON.parse(line)).toEqual({ part: 'valkey', suite: 'the bus', ...missing });
  });

  it('fail where a skip counts as a failure', () => {
    process.env['CI'] = 'true';
    describeWith('valkey', 'the bus', () => void calls.push('ran'));
    expect(calls).toEqual(['describe the bus', 'it has valkey', 'fails: There is no Valkey. Install it.']);
  });
});
