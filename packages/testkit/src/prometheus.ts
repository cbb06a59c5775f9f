import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type GoProgram, goProgram, hashOfFolder, missingGoProgram } from './go/go-program.js';
import type { MissingPart } from './missing-part.js';

/** What an expression asks for. */
export interface Expression {
  /** Why it is none. */
  error?: string;
  type: 'vector' | 'scalar' | 'matrix' | 'string' | '';
  selectors: { metric: string; matchers: { label: string; type: string; value: string }[] }[];
  /** Labels that it groups or joins by. */
  labels: string[];
  /** Its functions, each with the metrics below it. */
  calls: { name: string; metrics: string[] }[];
}

/** An alert that fired. */
export interface Firing {
  alert: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** Series, one value a minute in promtool's notation, and the minute of the last look at the alerts. */
export interface AlertScenario {
  series: { series: string; values: string }[];
  minutes: number;
}

export interface RuleCheck {
  expressions?: readonly string[];
  /** Rule groups, as text. */
  rules?: string;
  scenarios?: readonly AlertScenario[];
}

export interface RuleVerdict {
  expressions: Expression[];
  ruleErrors: string[];
  /** What fired in each scenario, at whatever minute. */
  scenarios: Firing[][];
}

const folder = fileURLToPath(new URL('../../../hack/prometheus/', import.meta.url));

/** Built anew when its sources change. */
function program(): GoProgram {
  return { name: 'prometheus', version: hashOfFolder(folder), from: { folder }, purpose: 'the engine of Prometheus' };
}

/** `undefined` when the engine is here or can be built. */
export const missingPrometheus = (): MissingPart | undefined => missingGoProgram(program());

/** What Prometheus' own parser and engine make of rules and queries. Half a minute of two cores the first time. */
export async function askPrometheus(check: RuleCheck): Promise<RuleVerdict> {
  const { expressions = [], rules = '', scenarios = [] } = check;
  const child = spawn(await goProgram(program()), [], { stdio: ['pipe', 'pipe', 'pipe'], timeout: 120_000 });
  child.stdin.on('error', () => undefined).end(JSON.stringify({ expressions, rules, scenarios }));
  const [answer, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (said !== '') throw new Error(`the engine of Prometheus: ${said}`);
  return JSON.parse(answer) as RuleVerdict;
}
