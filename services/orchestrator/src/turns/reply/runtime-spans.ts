import { type Attempt, type Tool, ToolState, type TurnEvent, type Usage } from '@uswarm/runtime-proto';
import { failSpan, type Span, startSpan } from '@uswarm/service-kit';

/** Makes a runtime's spans from its events: it loads no SDK, and is not trusted with one. */
export interface RuntimeSpans {
  /** Call it once per event, within the turn's span. */
  see(event: TurnEvent): void;
  /** Ends the spans that have not ended. */
  end(): void;
}

export interface RuntimeSpansOptions {
  /** The only tools that a span may name. */
  tools: Pick<ReadonlySet<string>, 'has'>;
  /** True if the model gateway traces the model calls. */
  hasGateway: boolean;
  /** Default: a span of OpenTelemetry. */
  start?: typeof startSpan;
}

/** A provider without a server. */
const DEMO = 'demo';
const UNKNOWN_TOOL = 'unknown';
const MAX_NAME_LENGTH = 100;

/** A tool call's attributes, without arguments and result. */
export const executionOf = (tool: string, callId: string) => ({
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': tool,
  'gen_ai.tool.call.id': callId.slice(0, MAX_NAME_LENGTH),
});

export function createRuntimeSpans({ tools, hasGateway, start = startSpan }: RuntimeSpansOptions): RuntimeSpans {
  const toolSpans = new Map<string, Span>();
  const callSpans = new Map<number, Span>();
  /** The next model call cannot have begun before. */
  let idleSince = new Date();

  function seeTool({ callId, tool, state }: Tool): void {
    if (state === ToolState.RUNNING) {
      const name = tools.has(tool) ? tool : UNKNOWN_TOOL;
      if (!toolSpans.has(callId))
        toolSpans.set(callId, start(`execute_tool ${name}`, { attributes: executionOf(name, callId) }));
      return;
    }
    const span = toolSpans.get(callId);
    if (span === undefined) return;
    if (state === ToolState.FAILED) failSpan(span, 'tool_failed');
    span.end();
    toolSpans.delete(callId);
  }

  const isOurs = (provider: string): boolean => provider === DEMO || !hasGateway;

  function startCall({ provider, model }: Pick<Attempt, 'provider' | 'model'>, startedAt?: Date): Span {
    const name = model.slice(0, MAX_NAME_LENGTH);
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider.slice(0, MAX_NAME_LENGTH),
      'gen_ai.request.model': name,
    };
    return start(`chat ${name}`, { attributes, kind: 'client', startedAt });
  }

  function seeUsage(usage: Usage): void {
    if (!isOurs(usage.provider)) return;
    const span = callSpans.get(usage.step) ?? startCall(usage, idleSince);
    span.setAttributes({
      'gen_ai.usage.input_tokens': Number(usage.promptTokens),
      'gen_ai.usage.output_tokens': Number(usage.completionTokens),
      'uswarm.usage.estimated': usage.estimated,
    });
    if (usage.refused) failSpan(span, 'refused');
    span.end();
    callSpans.delete(usage.step);
  }

  return {
    see({ event }) {
      switch (event.case) {
        case 'tool':
          seeTool(event.value);
          break;
        case 'usage':
          seeUsage(event.value);
          break;
        case 'attempt':
          if (isOurs(event.value.provider) && !event.value.metered)
            callSpans.set(event.value.step, startCall(event.value));
          return;
        case 'entry':
          if (event.value.usage !== undefined) seeUsage(event.value.usage);
          if (event.value.tool !== undefined) seeTool(event.value.tool);
          break;
        default:
          return;
      }
      idleSince = new Date();
    },

    end() {
      for (const span of [...toolSpans.values(), ...callSpans.values()]) {
        failSpan(span, 'interrupted');
        span.end();
      }
      toolSpans.clear();
      callSpans.clear();
    },
  };
}
