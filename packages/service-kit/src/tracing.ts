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
 * Spans through the OpenTelemetry API. Without an SDK (see `startTracing`), these functions do nothing.
 */
const tracer = trace.getTracer('uswarm');

export interface SpanOptions {
  attributes?: Attributes;
  /** Default: `server` with `parent` or `client`, otherwise `internal`. */
  kind?: 'client' | 'internal' | 'server';
  /** Headers from one of our services, or a stored `traceparent`, whose trace the span continues. */
  parent?: Headers | undefined;
  /**
   * Request headers from a client. The span only links to the client's trace, and starts a new one unless it has a
   * `parent`: a client must not control our trace ids or our sampling.
   */
  client?: Headers | undefined;
  /** Asked at the end. True: the span is not exported. */
  discard?: () => boolean;
}

type Headers = Record<string, string | string[] | undefined>;

const KINDS = { client: SpanKind.CLIENT, internal: SpanKind.INTERNAL, server: SpanKind.SERVER };

/** A link to the client's span. Never sampled, so that no sampler follows the client's decision. */
function linksTo(client: Headers): Link[] {
  const named = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, client));
  return named === undefined ? [] : [{ context: { ...named, traceFlags: TraceFlags.NONE } }];
}

/** A span's parent context, kind and links. */
function originOf({ parent, client, kind }: SpanOptions) {
  if (parent === undefined && client === undefined)
    return { within: context.active(), kind: KINDS[kind ?? 'internal'] };
  const within = parent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, parent);
  return { within, kind: KINDS[kind ?? 'server'], ...(client === undefined ? {} : { links: linksTo(client) }) };
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
      // Only ended spans are exported.
      if (options.discard?.() !== true) span.end();
    }
  });
}

/** Starts a span within the current one. `startedAt`: if it began earlier. */
export function startSpan(name: string, { attributes = {}, kind = 'internal', startedAt }: StartedSpan): Span {
  const times = startedAt === undefined ? {} : { startTime: startedAt };
  return tracer.startSpan(name, { attributes, kind: KINDS[kind], ...times });
}

export interface StartedSpan extends Pick<SpanOptions, 'attributes' | 'kind'> {
  startedAt?: Date | undefined;
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

/** The current span, to continue its trace later or elsewhere; undefined without an SDK. */
export const currentTraceparent = (): string | undefined => traceHeaders()['traceparent'];
