import { appendFileSync } from 'node:fs';
import { missingGo } from './go/go.js';
import { missingJava } from './java/java.js';
import type { MissingPart } from './missing-part.js';
import { missingPrometheus } from './prometheus.js';
import { missingPython } from './python.js';
import { missingS3 } from './servers/s3-program.js';
import { missingValkey } from './servers/valkey-binary.js';

export type { MissingPart } from './missing-part.js';

/** What some machines cannot run; Postgres and the issuer come with the packages and always can. */
export type Part = 'valkey' | 'searxng' | 'schemathesis' | 's3' | 'go' | 'java' | 'prometheus';

const checks: Record<Part, () => MissingPart | undefined> = {
  valkey: () => (process.env['TEST_REDIS_URL'] === undefined ? missingValkey() : undefined),
  searxng: () => missingPython([3, 11]),
  schemathesis: () => missingPython([3, 11]),
  s3: missingS3,
  go: () => missingGo('build the programs that check charts'),
  java: missingJava,
  prometheus: missingPrometheus,
};

const found = new Map<Part, MissingPart | undefined>();

/** `undefined` when the part can run here. Looked up once a process. */
export function missingPart(part: Part): MissingPart | undefined {
  // A test run that already tried to start the part knows more than a look at the machine can tell.
  const tried = process.env[`USWARM_MISSING_${part.toUpperCase()}`];
  if (tried !== undefined && tried !== '') return JSON.parse(tried) as MissingPart;
  if (!found.has(part)) found.set(part, checks[part]());
  return found.get(part);
}

export function partAvailable(part: Part): boolean {
  return missingPart(part) === undefined;
}

interface TestGlobals {
  describe: ((name: string, body: () => void) => void) & {
    skip(name: string, body: () => void): void;
  };
  it(name: string, body: () => void): void;
}

/**
 * `describe` for tests that need `part`. Without it they are skipped and the reason is kept for
 * the end of the run (a JSON line in the file that `USWARM_SKIPS_FILE` names); with `CI=true` they
 * fail instead, because there a skipped test would pass for a tested part.
 */
export function describeWith(part: Part, name: string, body: () => void): void {
  // The globals, not `@jest/globals`: local mode imports this package outside of any test run.
  const { describe, it } = globalThis as unknown as TestGlobals;
  const missing = missingPart(part);
  if (missing === undefined) {
    describe(name, body);
    return;
  }
  if (process.env['CI'] === 'true') {
    describe(name, () => {
      it(`has ${part}`, () => {
        throw new Error(`${missing.reason} ${missing.install}`);
      });
    });
    return;
  }
  const file = process.env['USWARM_SKIPS_FILE'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ part, suite: name, ...missing })}\n`);
  describe.skip(name, body);
}
