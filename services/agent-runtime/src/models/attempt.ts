import { parseJson, storable } from '@uswarm/service-kit';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { optionalFields, structuralParts, withoutFields } from './body-fields.js';
import type { SentParts } from './failures.js';
import { leaveOut } from './leave-out.js';
import type { Fetch, ProviderAdapter } from './providers/adapter.js';
import type { StepEvent, StepOptions, StepRequest } from './port.js';
import { createStepAssembler } from './step-assembler.js';
import { createTransport } from './transport.js';
import { announcementOf, createUsageMeter, type UsageMeter } from './usage.js';
import type { Watchdog } from './watchdog.js';

export interface AttemptDeps {
  adapter: ProviderAdapter;
  request: StepRequest;
  watchdog: Watchdog;
  /** Parts that the server refuses. */
  leftOut: ReadonlySet<string>;
  /** Receives what the request consisted of, if it failed. */
  onFailed: (sent: SentParts) => void;
  token: string | undefined;
  announce: StepOptions['announce'];
  /** Number of earlier attempts. */
  retries: number;
  /** Milliseconds for which response text is joined. */
  joinMs: number;
  fetch?: Fetch | undefined;
}

async function* partsOf(stream: ReadableStream<LanguageModelV4StreamPart>): AsyncGenerator<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Ends the request, if the caller stops earlier.
    await reader.cancel().catch(() => undefined);
  }
}

function partsOfRequest({ required = [] }: ProviderAdapter, requestBody: string): SentParts {
  const body = parseJson(requestBody);
  return {
    fields: optionalFields(body).filter((name) => !required.includes(name)),
    structural: structuralParts(body),
  };
}

function measure(meter: UsageMeter, part: LanguageModelV4StreamPart): void {
  if (part.type === 'raw') meter.observe(part.rawValue);
  else if (part.type === 'text-delta' || part.type === 'reasoning-delta' || part.type === 'tool-input-delta') {
    meter.output(part.delta);
  }
}

/**
 * Makes one request to the provider. The usage event comes before the end or the error.
 *
 * @throws the provider's or connection's error, unclassified
 */
export async function* runAttempt(deps: AttemptDeps): AsyncGenerator<StepEvent> {
  const { adapter, request, watchdog, leftOut, token, announce } = deps;
  const name = adapter.modelName(request.model);
  const { prompt, tools } = leaveOut(request, leftOut);
  const callable = [...request.tools, ...(request.listed ?? [])];
  const offered = new Set(tools.length === 0 ? [] : callable.map((tool) => tool.name));
  const transport = createTransport({
    repair: (response) => adapter.repair(response, offered, { touch: watchdog.touch, joinMs: deps.joinMs }),
    edit: leftOut.size === 0 ? undefined : (body) => withoutFields(adapter.reduce?.(body, leftOut) ?? body, leftOut),
    retries: deps.retries,
    announce: announce && ((body) => announce(announcementOf(name, body, request))),
    fetch: deps.fetch,
  });
  const model = adapter.languageModel({ model: name, fetch: transport.fetch, token });
  const meter = createUsageMeter();
  const assembler = createStepAssembler(callable);
  let answeringModel = name;

  const usage = (isLast: boolean): StepEvent => ({
    type: 'usage',
    usage: meter.result({ model: answeringModel, requestBody: transport.requestBody, complete: isLast }),
    isLast,
  });

  try {
    const { stream } = await model.doStream({
      prompt: adapter.prepare(prompt),
      ...(tools.length === 0 ? {} : { tools: [...tools], toolChoice: { type: request.toolChoice } }),
      maxOutputTokens: request.maxOutputTokens,
      abortSignal: watchdog.signal,
      includeRawChunks: true,
    });
    for await (const part of partsOf(stream)) {
      watchdog.touch();
      if (part.type === 'error') throw part.error;
      if (part.type === 'response-metadata' && part.modelId) answeringModel = storable(part.modelId);
      measure(meter, part);
      yield* assembler.add(part);
    }
  } catch (error) {
    if (transport.mayCount) yield usage(false);
    else if (transport.isAnnounced) yield { type: 'refused' };
    deps.onFailed(partsOfRequest(adapter, transport.requestBody));
    throw error;
  }
  const step = assembler.end();
  yield usage(step !== undefined);
  if (step === undefined) {
    throw new TypeError('the response ended without a finish reason');
  }
  yield { type: 'end', step };
}
