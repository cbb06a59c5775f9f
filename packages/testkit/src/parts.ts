import {
  describeWithPart,
  missingGo,
  type MissingPart,
  missingPython,
  missingS3,
  missingValkey,
} from '@uswarm/dev-servers';
import { missingChromium } from './chromium.js';
import { missingJava } from './java/java.js';
import { missingCollector } from './otel-collector.js';
import { missingPrometheus } from './prometheus.js';

/** Parts that some machines cannot run. Postgres and the OIDC issuer are npm packages, which run everywhere. */
type PartName =
  | 'valkey'
  | 'searxng'
  | 'python'
  | 'python-socketio'
  | 'schemathesis'
  | 's3'
  | 'go'
  | 'java'
  | 'prometheus'
  | 'chromium'
  | 'otel-collector';

const checks: Record<PartName, () => MissingPart | undefined> = {
  valkey: () => (process.env['TEST_REDIS_URL'] === undefined ? missingValkey() : undefined),
  searxng: () => missingPython([3, 11]),
  python: () => missingPython([3, 11]),
  'python-socketio': () => missingPython([3, 11]),
  schemathesis: () => missingPython([3, 11]),
  s3: missingS3,
  go: () => missingGo('build the programs that check charts'),
  java: missingJava,
  prometheus: missingPrometheus,
  chromium: missingChromium,
  'otel-collector': missingCollector,
};

/** `describe` for tests that need a part that this machine may lack; see `describeWithPart`. */
export function describeWith(part: PartName, suite: string, body: () => void): void {
  describeWithPart({ name: part, missing: checks[part] }, suite, body);
}
