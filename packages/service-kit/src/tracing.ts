import {
  type Attributes,
  context,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';

/**
 * Spans through the OpenTelemetry API. Without an SDK (loaded by `node --import`) all of it does
 * nothing and costs next to nothing.
 */
const tracer = trace.getTracer('uswarm');

export interface SpanOptions {
  attributes?: Attributes;
  /** Headers of the request of one of our services that the span answers: its trace is continued. */
  parent?: Headers;
  /**
   * Headers of the request of a client that the span answers. The span starts a trace of its own, which only links to
   * the client's: a client must not choose our trace ids, nor what is sampled.
   */
  client?: Headers;
}

type Headers = Record<string, string | string[] | undefined>;

/** The span that a client says it is in; never as sampled, so that no sampler follows the client's decision. */
function linksTo(client: Headers): Link[] {
  const named = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, client));
  return named === undefined ? [] : [{ context: { ...named, traceFlags: TraceFlags.NONE } }];
}

/** Where a span begins, and what it answers. */
function originOf({ parent, client }: SpanOptions) {
  if (client !== undefined) return { within: ROOT_CONTEXT, kind: SpanKind.SERVER, links: linksTo(client) };
  if (parent !== undefined) return { within: propagation.extract(ROOT_CONTEXT, parent), kind: SpanKind.SERVER };
  return { within: context.active(), kind: SpanKind.INTERNAL };
}

/** Runs `run` in a span of its own, which ends with it and is marked where it fails. */
export function inSpan<T>(name: string, options: SpanOptions, run: (span: Span) => Promise<T>): Promise<T> {
  const { within, ...origin } = originOf(options);
  return tracer.startActiveSpan(name, { attributes: options.attributes ?? {}, ...origin }, within, async (span) => {
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

/** The id of the trace of the current span; undefined without an SDK. */
export function currentTraceId(): string | undefined {
  return trace.getSpanContext(context.active())?.traceId;
}

/** The headers that carry the current trace to whoever is called next; none without an SDK. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}
