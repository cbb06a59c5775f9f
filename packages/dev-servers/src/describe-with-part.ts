import { appendFileSync } from 'node:fs';
import type { MissingPart } from './missing-part.js';

/** A server or toolchain that some machines cannot run. */
export interface Part {
  name: string;
  /** @returns `undefined` if this machine can run the part */
  missing: () => MissingPart | undefined;
  /** True if the tests are skipped in CI too, because other tests there have the same cases. */
  isOptional?: boolean;
}

interface TestGlobals {
  describe: ((name: string, body: () => void) => void) & {
    skip(name: string, body: () => void): void;
  };
  it(name: string, body: () => void): void;
}

const checked = new Map<string, MissingPart | undefined>();

/**
 * `describe` for tests that need `part`. If it is missing, the tests are skipped and the reason is appended as a JSON line
 * to the file named by `USWARM_SKIPS_FILE`. With `CI=true` they fail instead unless the part is optional, because a skip would
 * hide missing coverage.
 */
export function describeWithPart(part: Part, suite: string, body: () => void): void {
  // The globals, because `@jest/globals` fails outside of tests, and local mode imports this package.
  const { describe, it } = globalThis as unknown as TestGlobals;
  const missing = missingFrom(part);
  if (missing === undefined) {
    describe(suite, body);
    return;
  }
  if (process.env['CI'] === 'true' && part.isOptional !== true) {
    describe(suite, () => {
      it(`has ${part.name}`, () => {
        throw new Error(`${missing.reason} ${missing.install}`);
      });
    });
    return;
  }
  const file = process.env['USWARM_SKIPS_FILE'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ part: part.name, suite, ...missing })}\n`);
  describe.skip(suite, body);
}

/** Checks once per process. */
function missingFrom(part: Part): MissingPart | undefined {
  // Set by the global setup of jest when it failed to start the part, which is more reliable than a check.
  const failed = process.env[`USWARM_MISSING_${part.name.toUpperCase()}`];
  if (failed !== undefined && failed !== '') return JSON.parse(failed) as MissingPart;
  if (!checked.has(part.name)) checked.set(part.name, part.missing());
  return checked.get(part.name);
}
