import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  context,
  type ContextManager,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions as OtelSpanOptions,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { currentTraceId, inSpan, traceHeaders } from './tracing.js';

interface SeenSpan {
  name: string;
  options: OtelSpanOptions;
  parent: string | undefined;
  failed: boolean;
  ended: boolean;
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const idOf = (number: number): string => String(number).padStart(16, '0');

/** A minimal SDK with contexts, recorded spans and W3C headers. */
function registerSdk(spans: SeenSpan[]): void {
  const storage = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active: Context, run: (...args: never[]) => unknown, self: unknown, ...args: never[]) =>
      storage.run(active, () => run.call(self, ...args)),
    bind: (_active: Context, target: unknown) => target,
    enable: () => undefined,
    disable: () => undefined,
  } as unknown as ContextManager);
  propagation.setGlobalPropagator({
    inject(active, carrier, setter) {
      const span = trace.getSpanContext(active);
      if (span !== undefined) setter.set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-01`);
    },
    extract(active, carrier, getter) {
      const [, traceId, spanId] = String(getter.get(carrier, 'traceparent') ?? '').split('-');
      if (traceId === undefined || spanId === undefined) return active;
      return trace.setSpanContext(active, { traceId, spanId, traceFlags: TraceFlags.SAMPLED });
    },
    fields: () => ['traceparent'],
  });
  const startActiveSpan = (
    name: string,
    options: OtelSpanOptions,
    within: Context,
    run: (span: Span) => unknown,
  ): unknown => {
    const parent = trace.getSpanContext(within);
    const seen: SeenSpan = { name, options, parent: parent?.spanId, failed: false, ended: false };
    spans.push(seen);
    const span = trace.wrapSpanContext({
      traceId: parent?.traceId ?? TRACE,
      spanId: idOf(spans.length),
      traceFlags: TraceFlags.SAMPLED,
    });
    span.setStatus = ({ code }) => {
      seen.failed = code === SpanStatusCode.ERROR;
      return span;
    };
    span.end = () => void (seen.ended = true);
    return context.with(trace.setSpan(within, span), () => run(span));
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startActiveSpan }) as never });
}

describe('with an SDK', () => {
  const spans: SeenSpan[] = [];
  beforeEach(() => registerSdk(spans));
  afterEach(() => {
    spans.length = 0;
    trace.disable();
    context.disable();
    propagation.disable();
  });

  it('continues the trace of a request and propagates it to nested calls', async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
    const handedOn = await inSpan(
      'getProfile',
      { parent: headers, attributes: { 'http.route': '/v1/users/profile' } },
      () => inSpan('inner', {}, async () => traceHeaders()),
    );
    expect(spans).toEqual([
      {
        name: 'getProfile',
        options: { kind: SpanKind.SERVER, attributes: { 'http.route': '/v1/users/profile' } },
        parent: PARENT,
        failed: false,
        ended: true,
      },
      {
        name: 'inner',
        options: { kind: SpanKind.INTERNAL, attributes: {} },
        parent: idOf(1),
        failed: false,
        ended: true,
      },
    ]);
    expect(handedOn).toEqual({ traceparent: `00-${TRACE}-${idOf(2)}-01` });
  });

  it('starts a new trace for a client request and links to the trace of the client', async () => {
    const client = { traceparent: `00-${'a'.repeat(32)}-${PARENT}-01` };
    const [handedOn, traceId] = await inSpan('getProfile', { client }, async () => [traceHeaders(), currentTraceId()]);
    expect(spans).toMatchObject([{ name: 'getProfile', options: { kind: SpanKind.SERVER }, parent: undefined }]);
    expect(spans[0]?.options.links).toEqual([
      { context: expect.objectContaining({ traceId: 'a'.repeat(32), spanId: PARENT }) },
    ]);
    expect({ handedOn, traceId }).toEqual({ handedOn: { traceparent: `00-${TRACE}-${idOf(1)}-01` }, traceId: TRACE });
  });

  it('continues the trace of a trusted parent, and only links to the trace that the caller names', async () => {
    const parent = { traceparent: `00-${TRACE}-${PARENT}-01` };
    const client = { traceparent: `00-${'a'.repeat(32)}-${idOf(9)}-01` };
    await inSpan('chat', { parent, client, kind: 'client' }, async () => undefined);
    expect(spans).toMatchObject([{ options: { kind: SpanKind.CLIENT }, parent: PARENT }]);
    expect(spans[0]?.options.links).toEqual([
      { context: expect.objectContaining({ traceId: 'a'.repeat(32), spanId: idOf(9) }) },
    ]);
  });

  it('does not end a span that is discarded', async () => {
    await inSpan('turn', { discard: () => true }, async () => undefined);
    expect(spans).toMatchObject([{ name: 'turn', ended: false }]);
  });

  it('ignores the sampling flag of a client', async () => {
    await inSpan('getProfile', { client: { traceparent: `00-${TRACE}-${PARENT}-01` } }, async () => undefined);
    const flags = spans.flatMap(({ options }) => options.links ?? []).map((link) => link.context.traceFlags);
    // A parent-based sampler finds no parent, and the link is not sampled.
    expect({ parent: spans[0]?.parent, flags }).toEqual({ parent: undefined, flags: [TraceFlags.NONE] });
  });

  it('adds no link if the client sends no trace', async () => {
    await inSpan('getProfile', { client: {} }, async () => undefined);
    expect(spans).toMatchObject([{ options: { links: [] }, parent: undefined }]);
  });

  it('marks and ends a failed span, and rethrows the error', async () => {
    const failing = inSpan('turn', {}, async () => {
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(spans).toMatchObject([{ name: 'turn', failed: true, ended: true }]);
  });
});

describe('without an SDK', () => {
  it('runs the function without propagating a trace', async () => {
    expect(await inSpan('turn', {}, async () => traceHeaders())).toEqual({});
  });
});
