import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { goProgram, type GoProgram, hashOfFolder, missingGoProgram, type MissingPart } from '@uswarm/dev-servers';

/** A parsed expression. */
export interface Expression {
  /** The parse error. */
  error?: string;
  type: 'vector' | 'scalar' | 'matrix' | 'string' | '';
  selectors: { metric: string; matchers: { label: string; type: string; value: string }[] }[];
  /** Labels for grouping and joins. */
  labels: string[];
  /** The functions with the metrics in their arguments. */
  calls: { name: string; metrics: string[] }[];
}

/** A fired alert. */
export interface Firing {
  alert: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** Series with one value per minute in promtool's notation, and the last evaluation's minute. */
export interface AlertScenario {
  series: { series: string; values: string }[];
  minutes: number;
}

export interface RuleCheck {
  expressions?: readonly string[];
  /** Rule groups as YAML. */
  rules?: string;
  scenarios?: readonly AlertScenario[];
}

export interface RuleVerdict {
  expressions: Expression[];
  ruleErrors: string[];
  /** The alerts that fired in each scenario at any minute. */
  scenarios: Firing[][];
}

const folder = fileURLToPath(new URL('../../../hack/prometheus/', import.meta.url));

/** Rebuilt when its sources change. */
function program(): GoProgram {
  return { name: 'prometheus', version: hashOfFolder(folder), from: { folder }, purpose: 'the engine of Prometheus' };
}

/** @returns `undefined` if the engine is cached or can be built */
export const missingPrometheus = (): MissingPart | undefined => missingGoProgram(program());

/** Evaluates rules and queries with Prometheus' parser and engine. The first call builds them in half a minute. */
export async function askPrometheus(check: RuleCheck): Promise<RuleVerdict> {
  const { expressions = [], rules = '', scenarios = [] } = check;
  const child = spawn(await goProgram(program()), [], { stdio: ['pipe', 'pipe', 'pipe'], timeout: 120_000 });
  child.stdin.on('error', () => undefined).end(JSON.stringify({ expressions, rules, scenarios }));
  const [answer, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (said !== '') throw new Error(`the engine of Prometheus: ${said}`);
  return JSON.parse(answer) as RuleVerdict;
}
