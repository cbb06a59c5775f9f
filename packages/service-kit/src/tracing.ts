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

export type { Span };

/**
 * Spans through the OpenTelemetry API. Without an SDK (loaded with `node --import`), these functions do nothing.
 */
const tracer = trace.getTracer('uswarm');

export interface SpanOptions {
  attributes?: Attributes;
  /** Request headers from one of our services, whose trace the span continues. */
  parent?: Headers;
  /**
   * Request headers from a client. The span starts a new trace, which only links to the client's trace: a client must
   * not control our trace ids or our sampling.
   */
  client?: Headers;
}

type Headers = Record<string, string | string[] | undefined>;

/** A link to the client's span. Never sampled, so that no sampler follows the client's decision. */
function linksTo(client: Headers): Link[] {
  const named = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, client));
  return named === undefined ? [] : [{ context: { ...named, traceFlags: TraceFlags.NONE } }];
}

/** A span's parent context, kind and links. */
function originOf({ parent, client }: SpanOptions) {
  if (client !== undefined) return { within: ROOT_CONTEXT, kind: SpanKind.SERVER, links: linksTo(client) };
  if (parent !== undefined) return { within: propagation.extract(ROOT_CONTEXT, parent), kind: SpanKind.SERVER };
  return { within: context.active(), kind: SpanKind.INTERNAL };
}

/**
 * Runs `run` in a new span, which ends with it. An error sets the span status, and `error.type` to the error's code if
 * it has one.
 */
export function inSpan<T>(name: string, options: SpanOptions, run: (span: Span) => Promise<T>): Promise<T> {
  const { within, ...origin } = originOf(options);
  return tracer.startActiveSpan(name, { attributes: options.attributes ?? {}, ...origin }, within, async (span) => {
    try {
      return await run(span);
    } catch (error) {
      const { code } = (error ?? {}) as { code?: unknown };
      failSpan(span, typeof code === 'string' ? code : 'exception');
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Sets the span status, and `error.type`. */
export function failSpan(span: Span, type: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttribute('error.type', type);
}

/** The current span's trace id; undefined without an SDK. */
export function currentTraceId(): string | undefined {
  return trace.getSpanContext(context.active())?.traceId;
}

/** The headers that propagate the current trace to a called service; none without an SDK. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}
