import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

/**
 * Spans through the OpenTelemetry API. Without an SDK (loaded by `node --import`) all of it does
 * nothing and costs next to nothing.
 */
const tracer = trace.getTracer('uswarm');

export interface SpanOptions {
  attributes?: Attributes;
  /** Headers of the request that the span answers: its trace goes on here. */
  parent?: Record<string, string | string[] | undefined>;
}

/** Runs `run` in a span of its own, which ends with it and is marked where it fails. */
export function inSpan<T>(
  name: string,
  { attributes = {}, parent }: SpanOptions,
  run: (span: Span) => Promise<T>,
): Promise<T> {
  const within = parent === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, parent);
  const kind = parent === undefined ? SpanKind.INTERNAL : SpanKind.SERVER;
  return tracer.startActiveSpan(name, { attributes, kind }, within, async (span) => {
    try {
      return await run(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The headers that carry the current trace to whoever is called next; none without an SDK. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}
