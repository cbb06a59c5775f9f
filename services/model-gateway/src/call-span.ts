import type { ModelCallUsage } from '@uswarm/contract';
import { failSpan, type Span } from '@uswarm/service-kit';

/** Adds the request parameters, by the OpenTelemetry semantic conventions for generative AI. */
export function describeCall(span: Span, call: { model: string; maxOutputTokens: number; turnId: string }): void {
  span.updateName(`chat ${call.model}`);
  span.setAttributes({
    'gen_ai.request.model': call.model,
    'gen_ai.request.max_tokens': call.maxOutputTokens,
    'uswarm.turn': call.turnId,
  });
}

/** Adds what the provider counted. `error`: empty for a completed call */
export function describeEnd(span: Span, usage: ModelCallUsage, error: string): void {
  span.setAttributes({
    'gen_ai.usage.input_tokens': usage.prompt_tokens,
    'gen_ai.usage.output_tokens': usage.completion_tokens,
    'uswarm.usage.estimated': usage.estimated,
  });
  if (error !== '') failSpan(span, error);
}
