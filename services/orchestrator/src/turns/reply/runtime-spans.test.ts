import { create } from '@bufbuild/protobuf';
import { type TurnEvent, TurnEventSchema, ToolState } from '@uswarm/runtime-proto';
import type { Span, startSpan } from '@uswarm/service-kit';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { createRuntimeSpans } from './runtime-spans.js';

interface Seen {
  name: string;
  attributes: Record<string, unknown>;
  ended: boolean;
  error: unknown;
}

describe('the spans of a runtime', () => {
  let seen: Seen[];
  beforeEach(() => {
    seen = [];
  });

  const start = ((name: string, { attributes }: { attributes: object }) => {
    const span: Seen = { name, attributes: { ...attributes }, ended: false, error: undefined };
    seen.push(span);
    return {
      setAttributes: (more: object) => void Object.assign(span.attributes, more),
      setAttribute: (_key: string, value: unknown) => void (span.error = value),
      setStatus: () => undefined,
      end: () => void (span.ended = true),
    } as unknown as Span;
  }) as unknown as typeof startSpan;
  const spansOf = (hasGateway = false) =>
    createRuntimeSpans({ tools: new Set(['web_search_tool']), hasGateway, start });
  const event = (value: TurnEvent['event']): TurnEvent => create(TurnEventSchema, { number: 1n, event: value });
  const tool = (state: ToolState, name = 'web_search_tool') =>
    event({ case: 'tool', value: { callId: 'call', tool: name, state, query: 'a secret question' } as never });
  const usage = (provider = 'openai') =>
    event({
      case: 'usage',
      value: { step: 1, provider, model: 'm', promptTokens: 10n, completionTokens: 5n, estimated: false } as never,
    });

  it('last from the start of a tool to its end, which can be part of an entry', () => {
    const spans = spansOf();
    spans.see(tool(ToolState.RUNNING));
    expect(seen).toMatchObject([{ name: 'execute_tool web_search_tool', ended: false }]);
    const { value } = tool(ToolState.FAILED).event;
    spans.see(event({ case: 'entry', value: { number: 1, kind: 2, body: '{}', tool: value, steeredBy: [] } as never }));
    expect(seen).toMatchObject([{ ended: true, error: 'tool_failed' }]);
    expect(JSON.stringify(seen)).not.toContain('secret');
  });

  it('do not name a tool that the agent was not offered', () => {
    spansOf().see(tool(ToolState.RUNNING, 'a text that a compromised runtime wants to store'));
    expect(seen).toMatchObject([{ name: 'execute_tool unknown', attributes: { 'gen_ai.tool.name': 'unknown' } }]);
  });

  it('have the tokens of a model call', () => {
    spansOf().see(usage());
    expect(seen).toMatchObject([
      { name: 'chat m', ended: true, attributes: { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5 } },
    ]);
  });

  it('leave model calls to the gateway, except those of demo', () => {
    const spans = spansOf(true);
    spans.see(usage());
    spans.see(usage('demo'));
    expect(seen.map(({ attributes }) => attributes['gen_ai.provider.name'])).toEqual(['demo']);
  });

  it('end with an error if the runtime is lost', () => {
    const spans = spansOf();
    spans.see(event({ case: 'attempt', value: { step: 1, provider: 'openai', model: 'm', metered: false } as never }));
    spans.see(tool(ToolState.RUNNING));
    spans.end();
    expect(seen).toMatchObject([
      { name: 'chat m', ended: true, error: 'interrupted' },
      { name: 'execute_tool web_search_tool', ended: true, error: 'interrupted' },
    ]);
  });
});
