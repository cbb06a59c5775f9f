import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  freePort,
  goProgram,
  type GoProgram,
  hashOfFolder,
  type MissingPart,
  missingGoProgram,
} from '@uswarm/dev-servers';
import { eventually } from './eventually.js';

/** Maximum duration of `startCollector` in ms, whose first call builds the program. */
export const COLLECTOR_START_MS = 25 * 60_000;

/** A span as the collector received it. */
export interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Empty for a root. */
  parentSpanId: string;
  kind: 'internal' | 'server' | 'client' | 'other';
  failed: boolean;
  attributes: Record<string, string | number | boolean>;
  /** Unix time in ms. */
  startedAt: number;
  endedAt: number;
}

export interface RunningCollector {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  /** Everything received so far, in the order in which the spans began. */
  spans(): CollectedSpan[];
  close(): Promise<void>;
}

const folder = fileURLToPath(new URL('../../../hack/otel-collector/', import.meta.url));

/** Rebuilt when its sources change. */
const program = (): GoProgram => ({
  name: 'otel-collector',
  version: hashOfFolder(folder),
  from: { folder },
  purpose: 'the OpenTelemetry Collector',
});

/** @returns `undefined` if the collector is cached or can be built */
export const missingCollector = (): MissingPart | undefined => missingGoProgram(program());

/** Starts an OpenTelemetry Collector on loopback that writes each span to a file. The first call builds it in minutes. */
export async function startCollector(): Promise<RunningCollector> {
  const file = await goProgram(program());
  const directory = mkdtempSync(join(tmpdir(), 'uswarm-collector-'));
  const port = await freePort();
  const [config, output] = [join(directory, 'config.json'), join(directory, 'spans.jsonl')];
  writeFileSync(config, JSON.stringify(configuration(port, output)));
  const child = spawn(file, ['--config', `file:${config}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  await eventually(() => child.exitCode !== null || log.includes('Everything is ready'));
  if (child.exitCode !== null) throw new Error(`the collector has ended: ${log.slice(-1_000)}`);
  return {
    url: `http://127.0.0.1:${port}`,
    spans: () => (existsSync(output) ? spansIn(readFileSync(output, 'utf8')) : []),
    async close() {
      await end(child);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const configuration = (port: number, path: string) => ({
  receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
  exporters: { file: { path, flush_interval: '50ms' } },
  service: {
    pipelines: { traces: { receivers: ['otlp'], exporters: ['file'] } },
    telemetry: { metrics: { level: 'none' } },
  },
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

interface Value {
  stringValue?: string;
  intValue?: string;
  boolValue?: boolean;
  doubleValue?: number;
}
interface Attribute {
  key: string;
  value: Value;
}
interface OtlpSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  status?: { code?: number };
  attributes?: Attribute[];
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}
interface Line {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

const KINDS: Record<number, CollectedSpan['kind']> = { 1: 'internal', 2: 'server', 3: 'client' };
const ERROR = 2;

const valueOf = ({ intValue, stringValue, boolValue, doubleValue }: Value) =>
  intValue === undefined ? (stringValue ?? boolValue ?? doubleValue ?? '') : Number(intValue);

const attributesOf = (attributes: Attribute[] = []): CollectedSpan['attributes'] =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

/** Unix time in ms. */
const msOf = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1_000n) / 1_000;

/** The last line may be incomplete. */
function spansIn(text: string): CollectedSpan[] {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  const received = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line);
  return received
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ resource, scopeSpans }) => {
      const service = String(attributesOf(resource.attributes)['service.name']);
      return scopeSpans.flatMap(({ spans }) => spans.map((span) => collected(service, span)));
    })
    .toSorted((one, other) => one.startedAt - other.startedAt);
}

const collected = (service: string, span: OtlpSpan): CollectedSpan => ({
  service,
  name: span.name,
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId ?? '',
  kind: KINDS[span.kind] ?? 'other',
  failed: span.status?.code === ERROR,
  attributes: attributesOf(span.attributes),
  startedAt: msOf(span.startTimeUnixNano),
  endedAt: msOf(span.endTimeUnixNano),
});
